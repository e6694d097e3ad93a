package workload

import "github.com/nvmepass/nvmepass/uringcmd"

// readTurner is a Queue that goes round the loop of reads by itself.
type readTurner interface {
	ReadTurns(slbas []uint64, nlb uint32, l *uringcmd.Loop) (used int, err error)
}

// aheadMost is how many addresses turnReads draws at least: enough turns for
// what is done between the calls to cost them nothing.
const aheadMost = 1024

// reader is the queue as a readTurner if the run is nothing but reads that are
// counted, for which turnReads serves; else nil.
func (r *runner) reader() readTurner {
	if r.detail != nil || r.timed || r.mixed || !r.reads[0] || r.cfg.Count > 0 {
		return nil
	}
	q, ok := r.q.(readTurner)
	if !ok {
		return nil
	}
	all := len(r.done)
	r.loopOf = uringcmd.Loop{
		Batch: r.cfg.Batch, Wait: r.cfg.Batch, Take: all, TakeFull: all, OK: r.okRes,
		Stop: &r.ctl.word, Other: make([]uringcmd.Completion, 0, all),
	}
	if r.fio { // fills the queue before it reaps
		r.loopOf.Wait, r.loopOf.Take, r.loopOf.TakeFull = 1, 0, r.cfg.Batch
	}
	r.drawn = make([]uint64, max(aheadMost, 2*r.cfg.Batch))
	return q
}

// turnReads is turn, again and again until the control word changes or the run
// cannot go on: the same calls in the same order, with nothing between them that
// counted reads do not need.
func (r *runner) turnReads(q readTurner, seen uint32) {
	l := &r.loopOf
	l.While, l.Free = seen, r.free
	turns, sum, ok := l.Turns, l.InFlight, l.Succeeded
	for r.fatal == nil && r.ctl.word.Load() == seen {
		if len(r.ahead) < l.Batch {
			kept := copy(r.drawn, r.ahead)
			r.addr[0].fill(r.drawn[kept:])
			r.ahead = r.drawn
		}
		used, err := q.ReadTurns(r.ahead, r.cfg.NLB, l)
		r.ahead = r.ahead[used:]
		r.total.Issued += uint64(used)
		r.fatal = err
		for _, c := range l.Other {
			r.fail(c)
			l.Free = append(l.Free, c.Slot)
		}
		l.Other = l.Other[:0]
	}
	r.free = l.Free
	r.total.OK += l.Succeeded - ok
	r.inFlightSum += l.InFlight - sum
	r.inFlightSamples += l.Turns - turns
}
