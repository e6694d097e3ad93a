package workload

import (
	"math/bits"

	"github.com/nvmepass/nvmepass/uringcmd"
)

// readTurner is a Queue that does a whole turn of reads in one call.
type readTurner interface {
	ReadTurn(slots []int, slbas []uint64, nlb uint32, wait int, t *uringcmd.Taken) error
}

// reader is the queue as a readTurner if the run is nothing but reads that are
// counted, for which turnReads serves; else nil.
func (r *runner) reader() readTurner {
	if r.detail != nil || r.timed || r.mixed || !r.reads[0] || r.cfg.Count > 0 {
		return nil
	}
	q, _ := r.q.(readTurner)
	return q
}

// turnReads is turn, again and again until the control word changes or the run
// cannot go on: the same calls in the same order, with nothing between them that
// counted reads do not need. At a depth of one, whatever it does is paid by each
// command, so that it keeps to local variables and makes one call.
func (r *runner) turnReads(q readTurner, seen uint32) {
	addr, free, all, batch, nlb := r.addr[0], r.free, len(r.done), r.cfg.Batch, r.cfg.NLB
	uniform := addr.random && addr.skewed == nil
	gen := addr.gen
	t := uringcmd.Taken{OK: r.okRes, Other: make([]uringcmd.Completion, 0, all)}
	issued, ok, inFlight, turns := uint64(0), uint64(0), uint64(0), uint64(0)
	for r.ctl.word.Load() == seen {
		n := min(batch, len(free))
		left := len(free) - n
		slots, slbas := free[left:], r.slbas[:n]
		free = free[:left]
		if uniform {
			for i := range slbas {
				at, _ := bits.Mul64(gen.next(), addr.count)
				slbas[i] = addr.first + at*addr.nlb
			}
		} else {
			addr.fill(slbas)
		}
		wait := 0
		t.Limit = all
		switch {
		case left == 0 && r.fio:
			wait, t.Limit = 1, batch
		case left == 0:
			wait = batch
		case r.fio: // fills the queue before it reaps
			t.Limit = 0
		}
		inFlight += uint64(all - left)
		turns++
		t.Free = free
		if err := q.ReadTurn(slots, slbas, nlb, wait, &t); err != nil {
			// What was published is in flight; the rest of the slots is free.
			published := r.q.InFlight() - (all - left - n)
			issued += uint64(published)
			free = append(free, slots[published:]...)
			r.fatal = err
			break
		}
		issued += uint64(n)
		free = t.Free
		ok += uint64(len(free) - left)
		if len(t.Other) > 0 {
			for _, c := range t.Other {
				r.fail(c)
				free = append(free, c.Slot)
			}
			t.Other = t.Other[:0]
			if r.fatal != nil {
				break
			}
		}
	}
	if uniform {
		addr.gen = gen
	}
	r.free = free
	r.total.Issued += issued
	r.total.OK += ok
	r.inFlightSum += inFlight
	r.inFlightSamples += turns
}
