package iopoll

import (
	"errors"

	"github.com/nvmepass/nvmepass/uringcmd"
)

// Waiter submits what is published on a ring and collects completions. The
// caller's loop is the same whether the ring polls or waits for interrupts.
type Waiter struct {
	ring   *uringcmd.Ring
	polled bool
}

// NewWaiter waits on ring in the way that it was made for.
func NewWaiter(ring *uringcmd.Ring) Waiter {
	return Waiter{ring: ring, polled: ring.Flags()&uringcmd.IOPoll != 0}
}

// Polled tells whether completions are polled for.
func (w *Waiter) Polled() bool { return w.polled }

// Reap submits everything published and collects at least atLeast completions
// (less if fewer are in flight) and at most len(dst). With atLeast 0 it takes
// what is there; a polled ring polls once for it.
//
// The usual case is one system call: submission and wait go together. A polled
// ring delivers whatever comes first, so that more turns may be needed.
func (w *Waiter) Reap(atLeast int, dst []uringcmd.Completion) (int, error) {
	atLeast = min(atLeast, len(dst))
	if err := w.ring.Submit(atLeast); err != nil {
		return w.rest(dst, err), err
	}
	n := w.ring.Reap(dst)
	if w.polled && atLeast <= 0 && n == 0 && w.ring.InFlight() > 0 { // that only submitted
		if err := w.ring.Submit(0); err != nil {
			return w.rest(dst, err), err
		}
		n = w.ring.Reap(dst)
	}
	for n < atLeast && w.ring.InFlight() > 0 {
		if err := w.ring.Submit(atLeast - n); err != nil {
			return n + w.rest(dst[n:], err), err
		}
		n += w.ring.Reap(dst[n:])
	}
	return n, nil
}

// rest takes what is there although submitting failed, unless the failure says
// that the ring's memory is gone or another thread's.
func (w *Waiter) rest(dst []uringcmd.Completion, err error) int {
	if errors.Is(err, uringcmd.ErrClosed) || errors.Is(err, uringcmd.ErrWrongThread) || errors.Is(err, uringcmd.ErrNotEnabled) {
		return 0
	}
	return w.ring.Reap(dst)
}
