package uringcmd

import (
	"sync/atomic"
	"syscall"

	"github.com/nvmepass/nvmepass/internal/stall"
	"github.com/nvmepass/nvmepass/internal/sys"
	"github.com/nvmepass/nvmepass/internal/uapi"
)

// spins bounds how often a wait looks at the completion queue before it sleeps
// in the kernel: some tens of microseconds. Where a submission thread runs, a
// wait of the usual length then takes no system call at all.
const spins = 20000

// submitToThread is Submit on a ring whose submissions a kernel thread takes:
// the tail alone hands them over, and a call is made only to wake the thread or
// to sleep until completions are there.
func (r *Ring) submitToThread(want uint32) error {
	if sys.ThreadID() != r.owner {
		return r.wrongThread("submit", nil)
	}
	r.stats.Submitted += uint64(r.tail - atomic.LoadUint32(r.sqTail))
	// The store is a full barrier, so that the flag below is not older.
	atomic.StoreUint32(r.sqTail, r.tail)
	var idle stall.Clock
	last := atomic.LoadUint32(r.cqTail)
	for {
		flags := uint32(0)
		if f := atomic.LoadUint32(r.sqFlags); f != 0 {
			if f&uapi.SQNeedWakeup != 0 {
				flags |= uapi.EnterSQWakeup
			}
			if f&uapi.SQCQOverflow != 0 {
				flags |= uapi.EnterGetEvents
			}
		}
		if flags == 0 {
			if r.spinUntil(want) {
				return nil
			}
			flags = uapi.EnterGetEvents
		}
		waiting := uint32(r.Ready()) < want
		minComplete := uint32(0)
		if waiting {
			flags, minComplete = flags|uapi.EnterGetEvents, want
		}
		if r.ringIndex >= 0 {
			flags |= uapi.EnterRegisteredRing
		}
		_, errno := r.kernel.Enter(r.enterFD, r.unsubmitted(), minComplete, flags, waiting && !r.cfg.HoldP)
		r.stats.Enters++
		switch errno {
		case 0:
		case syscall.EINTR:
			r.stats.Interrupts++
		case syscall.EAGAIN, syscall.EBUSY:
			r.stats.Busy++
			if r.Ready() > 0 {
				return nil
			}
		default:
			return r.enterError(errno)
		}
		if uint32(r.Ready()) >= want {
			return nil
		}
		if t := atomic.LoadUint32(r.cqTail); t != last {
			last = t
			idle.Reset()
			continue
		}
		if idle.Over(r.cfg.StallLimit) {
			return r.stalled(want)
		}
	}
}

// spinUntil looks for completions for a while.
func (r *Ring) spinUntil(want uint32) bool {
	for range spins {
		if atomic.LoadUint32(r.cqTail)-r.head >= want {
			return true
		}
	}
	return want == 0
}
