package uringcmd

import (
	"errors"
	"fmt"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/nvmepass/nvmepass/internal/stall"
	"github.com/nvmepass/nvmepass/internal/sys"
	"github.com/nvmepass/nvmepass/internal/uapi"
)

// Submit hands everything published to the kernel and waits until at least
// wait completions can be reaped, all in one system call when nothing gets in
// its way. wait is cut to the number in flight.
//
// On a polled ring a wait ends as soon as any completion is there, because the
// kernel does not poll while the queue holds unread ones: reap, then call
// again. With wait 0 a polled ring submits and does not poll, as t/io_uring
// has it; with nothing to submit it polls once.
//
// If the kernel is short of resources while completions are ready, Submit
// returns without having submitted all: reap, and the next Submit goes on.
func (r *Ring) Submit(wait int) error { return r.submit(wait, true) }

// submit is Submit. Where completions appear only inside a call that asks for
// them, one that waits for none asks only if look says so.
func (r *Ring) submit(wait int, look bool) error {
	if r.owner == 0 || r.closed {
		return r.unusable("submit")
	}
	if r.flags&SQPollThread != 0 {
		return r.submitToThread(uint32(max(0, min(wait, r.inFlight))))
	}
	if r.checkThread && sys.ThreadID() != r.owner {
		return r.wrongThread("submit", nil)
	}
	return r.enter(uint32(max(0, min(wait, r.inFlight))), look)
}

// unsubmitted counts published entries that the kernel has not consumed.
func (r *Ring) unsubmitted() uint32 {
	if r.rewind {
		return r.pending
	}
	return r.tail - atomic.LoadUint32(r.sqHead)
}

// enter is the only caller of io_uring_enter. After each return both queues
// are read again: a short submit, a short wait or an interruption only means
// another turn. The clock is read only when a turn brought nothing.
func (r *Ring) enter(want uint32, look bool) error {
	if !r.rewind {
		*r.sqTail = r.tail // the kernel reads it on this thread, inside enter
	}
	if r.quick {
		if done, err := r.enterOnce(want, look); done || err != nil {
			return err
		}
	}
	look = look && r.alwaysGetEvents
	short := false // the kernel refused: for want of what commands give back that ended, maybe
	iopoll := r.flags&IOPoll != 0
	var idle stall.Clock // of the time without progress
	lastTail := atomic.LoadUint32(r.cqTail)
	for turn := 0; ; turn++ {
		todo := r.unsubmitted()
		tail := atomic.LoadUint32(r.cqTail)
		ready := tail - r.head
		waiting := ready < want && (!iopoll || ready == 0)
		if todo == 0 && !waiting && (turn > 0 || ready > 0 || !look) {
			if turn == 0 && sys.ThreadID() != r.owner { // no call that would notice
				return r.wrongThread("submit", nil)
			}
			return nil
		}
		flags, minComplete := uint32(0), uint32(0)
		if waiting {
			flags, minComplete = uapi.EnterGetEvents, want
		} else if iopoll && todo > 0 {
			// Only submit: polling now would reap before the queue is as
			// full as the caller wants it.
		} else if look || atomic.LoadUint32(r.sqFlags)&uapi.SQCQOverflow != 0 {
			flags = uapi.EnterGetEvents
		}
		// Completions that wait for a call which asks for them do not come from
		// one that is refused: it ends before it gets there.
		looks := short && r.alwaysGetEvents && uint32(r.inFlight) > todo
		if short = false; looks {
			todo, minComplete, flags = 0, 0, flags|uapi.EnterGetEvents
		}
		if r.ringIndex >= 0 {
			flags |= uapi.EnterRegisteredRing
		}
		blocking := waiting && !iopoll && !r.cfg.HoldP
		var n int
		var errno syscall.Errno
		if r.linux { // a direct call: no interface on the hot path
			n, errno = sys.Linux{}.Enter(r.enterFD, todo, minComplete, flags, blocking)
		} else {
			n, errno = r.kernel.Enter(r.enterFD, todo, minComplete, flags, blocking)
		}
		r.stats.Enters++
		switch errno {
		case 0:
			r.stats.Submitted += uint64(n)
			if r.rewind && n > 0 {
				r.rewindTo(uint32(n))
			}
			if uint32(n) == todo && !waiting && !looks {
				return nil
			}
			if n > 0 {
				idle.Reset()
				continue
			}
		case syscall.EINTR:
			r.stats.Interrupts++
		case syscall.EAGAIN, syscall.EBUSY:
			r.stats.Busy++
			short = true
			if atomic.LoadUint32(r.cqTail) != r.head {
				return nil
			}
			if idle.Started() {
				time.Sleep(100 * time.Microsecond)
			}
		default:
			return r.enterError(errno)
		}
		if t := atomic.LoadUint32(r.cqTail); t != lastTail {
			lastTail = t
			idle.Reset()
			continue
		}
		if idle.Over(r.cfg.StallLimit) {
			return r.stalled(want)
		}
	}
}

func (r *Ring) stalled(want uint32) error {
	return fmt.Errorf("wait for %d completions: %w of %v: %d commands in flight, %d not yet taken by the kernel; check the drive and the kernel log",
		want, ErrStalled, r.cfg.StallLimit, r.inFlight, r.unsubmitted())
}

func (r *Ring) enterError(errno syscall.Errno) error {
	switch errno {
	case syscall.EEXIST:
		return r.wrongThread("submit", errno)
	case syscall.EINVAL, syscall.EBADF:
		// The index of a registered ring means nothing on another thread.
		if sys.ThreadID() != r.owner {
			return r.wrongThread("submit", errno)
		}
	}
	return fmt.Errorf("submit: io_uring_enter: %w: %d commands in flight, flags %v", errno, r.inFlight, r.flags)
}

func (r *Ring) wrongThread(op string, errno error) error {
	err := fmt.Errorf("%s: %w: it belongs to thread %d, this is thread %d; keep every call in the goroutine that called Enable", op, ErrWrongThread, r.owner, sys.ThreadID())
	if errno != nil {
		err = errors.Join(err, errno)
	}
	return err
}

func (r *Ring) unusable(op string) error {
	if r.closed {
		return fmt.Errorf("%s: ring: %w", op, ErrClosed)
	}
	return fmt.Errorf("%s: %w: call Enable on the thread that will own it", op, ErrNotEnabled)
}
