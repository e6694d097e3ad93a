package uringcmd

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nvmepass/nvmepass/internal/stall"
	"github.com/nvmepass/nvmepass/internal/sys"
	"github.com/nvmepass/nvmepass/internal/uapi"
)

// Stats counts what happened on a ring. Submitted + unsubmitted entries =
// Reaped + in flight.
type Stats struct {
	Enters     uint64 // io_uring_enter calls
	Submitted  uint64 // entries that the kernel took
	Reaped     uint64 // completions handed out
	Stale      uint64 // completions that belonged to no command in flight: a kernel or program error
	Interrupts uint64 // enters that a signal ended
	Busy       uint64 // enters that the kernel refused for want of resources (EAGAIN, EBUSY)
	Overflow   uint32 // completions that did not fit the completion queue
	Dropped    uint32 // submission entries with a bad index
}

// Stats returns the counts so far. The owner may call it at any time before
// Close; after Close it returns the final counts.
func (r *Ring) Stats() Stats {
	if !r.closed {
		r.stats.Overflow = atomic.LoadUint32(r.cqOverflow)
		r.stats.Dropped = atomic.LoadUint32(r.sqDropped)
	}
	return r.stats
}

// Flags are the set-up flags that the kernel accepted.
func (r *Ring) Flags() Flags { return r.flags }

// Requested are the set-up flags that New tried first.
func (r *Ring) Requested() Flags { return r.requested }

// Registered tells whether the ring's own descriptor is registered with its
// owner thread.
func (r *Ring) Registered() bool { return r.ringIndex >= 0 }

// ringIndexes gives each ring of the process an index of its own in the tables
// of registered rings. The tables are per thread, so that equal indexes would
// work, but then a call from a wrong thread would enter that thread's ring.
var ringIndexes struct {
	sync.Mutex
	used [uapi.MaxRingFDs]bool
}

func takeRingIndex() int {
	ringIndexes.Lock()
	defer ringIndexes.Unlock()
	for i, used := range ringIndexes.used {
		if !used {
			ringIndexes.used[i] = true
			return i
		}
	}
	return -1
}

func giveRingIndex(i int) {
	ringIndexes.Lock()
	defer ringIndexes.Unlock()
	ringIndexes.used[i] = false
}

// Enable starts the ring and makes the calling OS thread its owner: the calling
// goroutine stays locked to the thread until Close.
func (r *Ring) Enable() error {
	if r.closed {
		return r.unusable("enable")
	}
	if r.owner != 0 {
		return fmt.Errorf("enable ring: it is enabled already, by thread %d", r.owner)
	}
	runtime.LockOSThread()
	if _, err := r.kernel.Register(r.fd, uapi.RegisterEnableRings, nil, 0); err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("enable ring: %w", err)
	}
	r.owner = sys.ThreadID()
	if !r.cfg.NoRegisteredRing {
		r.registerRing()
	}
	r.quick = r.canBeQuick()
	watch(r)
	return nil
}

// Close waits for every command in flight, then frees the ring. It must be
// called by the owner (by anyone if the ring was never enabled), and calling it
// again does nothing. Registered buffers and files go with the ring.
//
// If commands do not complete within the stall limit, the ring stays mapped
// and open and Close returns a *LeakError. On a kernel such as 6.1, taking
// down a polled ring with commands in flight crashes the kernel.
func (r *Ring) Close() error {
	if r.closed {
		return nil
	}
	if r.owner != 0 && sys.ThreadID() != r.owner {
		return r.wrongThread("close ring", nil)
	}
	drainErr := r.drain()
	r.Stats()
	r.closed = true
	r.mark.Closed()
	r.sqArray = nil // so that nothing is published any more
	r.quick = false
	if r.owner != 0 {
		unwatch(r)
		defer runtime.UnlockOSThread()
	}
	if drainErr != nil {
		return &LeakError{InFlight: r.inFlight, Err: drainErr}
	}
	var errs []error
	if r.ringIndex >= 0 {
		errs = append(errs, r.unregisterRing())
	}
	errs = append(errs, r.kernel.Unmap(r.sqeMem), r.kernel.Unmap(r.sqMem), r.kernel.Close(r.fd))
	r.big, r.small = nil, nil
	r.cqTail, r.head = new(uint32), 0 // Reap and Ready find nothing from now on
	if r.linux {
		lastClosed.Store(time.Now().UnixNano())
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close ring: %w", err)
	}
	return nil
}

// drain reaps until nothing is in flight.
func (r *Ring) drain() error {
	var sink [64]Completion
	var idle stall.Clock
	for r.inFlight > 0 {
		if r.Reap(sink[:]) > 0 {
			idle.Reset()
			continue
		}
		if r.owner == 0 {
			return nil // the kernel never saw what was published
		}
		if err := r.Submit(1); err != nil {
			return err
		}
		if r.Ready() == 0 && idle.Over(r.cfg.StallLimit) {
			return ErrStalled
		}
	}
	return nil
}
