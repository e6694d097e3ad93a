package workload

import (
	"errors"
	"syscall"

	"github.com/nvmepass/nvmepass/passthru"
	"github.com/nvmepass/nvmepass/uringcmd"
)

// turn is one batch: fill, submit, wait, reap.
func (r *runner) turn() {
	batch := r.cfg.Batch
	wait, limit := 0, len(r.done)
	n := min(batch, len(r.free))
	if uint64(n) > r.left {
		n = int(r.left)
	}
	var starts []int64
	if r.timed {
		r.now = r.since()
		if r.pace != nil {
			starts = r.dueBuf[:r.pace.due(r.now, r.dueBuf[:n])]
			n = len(starts)
		}
	}
	if n > 0 {
		slots := r.free[len(r.free)-n:]
		r.free = r.free[:len(r.free)-n]
		if r.mixed {
			r.publishMixed(slots, starts)
		} else {
			r.publish(slots, 0, starts)
		}
		if r.fatal != nil {
			return
		}
	}
	full := len(r.free) == 0
	if r.fio {
		limit = batch
		if full {
			wait = 1
		}
	} else if full {
		wait = batch
	}
	if r.pace != nil && n == 0 && r.q.InFlight() == 0 {
		r.pace.pause(r.now)
		return
	}
	r.inFlightSum += uint64(r.q.InFlight())
	r.inFlightSamples++
	if err := r.q.Submit(wait); err != nil {
		r.fatal = err
		return
	}
	if r.fio && !full && r.pace == nil {
		return // fio fills the queue before it reaps
	}
	r.take(limit)
}

// publishMixed publishes reads to some slots and writes to the others.
func (r *runner) publishMixed(slots []int, starts []int64) {
	reads := r.drawReads(len(slots))
	if r.publish(slots[:reads], 0, starts); r.fatal != nil {
		r.free = append(r.free, slots[reads:]...)
		return
	}
	if starts != nil {
		starts = starts[reads:]
	}
	r.publish(slots[reads:], 1, starts)
}

// drawReads is how many of n mixed commands read.
func (r *runner) drawReads(n int) (reads int) {
	for range n {
		if r.gen.unit() <= r.cfg.ReadShare {
			reads++
		}
	}
	return reads
}

// publish publishes commands of one direction of the pattern. Slots that are
// refused go back, and the run ends.
func (r *runner) publish(slots []int, direction int, starts []int64) {
	slbas := r.slbas[:len(slots)]
	r.addr[direction].fill(slbas)
	before := r.q.InFlight()
	var err error
	if r.reads[direction] {
		err = r.q.ReadBatch(slots, slbas, r.cfg.NLB)
	} else {
		err = r.change(slots, slbas)
	}
	published := r.q.InFlight() - before
	r.total.Issued += uint64(published)
	r.left -= uint64(published)
	if r.detail != nil {
		r.detail.issued(slots[:published], direction, starts, r.now)
	}
	if err != nil {
		r.free = append(r.free, slots[published:]...)
		r.fatal = err
	}
}

// change publishes commands that do not read.
func (r *runner) change(slots []int, slbas []uint64) error {
	if r.cfg.Build == nil {
		return r.write.WriteBatch(slots, slbas, r.cfg.NLB)
	}
	for i, slot := range slots {
		if err := r.cfg.Build(slot, slbas[i]); err != nil {
			return err
		}
	}
	return nil
}

func (r *runner) take(limit int) int {
	n := r.q.Take(r.done[:limit])
	if r.detail != nil {
		r.takeDetailed(r.done[:n])
		return n
	}
	for i := range r.done[:n] {
		c := &r.done[i]
		if c.Res == r.okRes {
			r.total.OK++
		} else {
			r.fail(*c)
		}
		r.free = append(r.free, c.Slot)
	}
	return n
}

// takeDetailed is the rest of take where more than totals is counted.
func (r *runner) takeDetailed(done []uringcmd.Completion) {
	d := r.detail
	now := int64(0)
	if d.start != nil && len(done) > 0 {
		now = r.since()
	}
	for i := range done {
		c := &done[i]
		if c.Res == r.okRes {
			r.total.OK++
			d.took(c.Slot, now)
		} else {
			before := r.total
			r.fail(*c)
			if r.total.OK != before.OK {
				d.took(c.Slot, now)
			}
			cell := &d.cells[d.cellOf[c.Slot]]
			cell.Failed += r.total.Failed - before.Failed
			cell.Cancelled += r.total.Cancelled - before.Cancelled
		}
		r.free = append(r.free, c.Slot)
	}
}

func (r *runner) fail(c uringcmd.Completion) {
	err := r.q.Err(c)
	if err == nil {
		r.total.OK++
		return
	}
	if errors.Is(err, passthru.ErrCancelled) {
		r.total.Cancelled++
	} else {
		r.total.Failed++
	}
	r.errors[errorText(err)]++
	if errors.Is(err, syscall.ENODEV) || errors.Is(err, syscall.ENXIO) {
		r.fatal = err
	}
}
