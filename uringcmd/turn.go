package uringcmd

import (
	"fmt"
	"sync/atomic"
	"syscall"

	"github.com/nvmepass/nvmepass/internal/sys"
	"github.com/nvmepass/nvmepass/internal/uapi"
)

// canBeQuick tells whether enterOnce and the short way of Turn serve this ring:
// it is entered by a registered index, the kernel touches both queues on this
// thread alone, entries stay in their places, and waits need not tell the
// scheduler.
func (r *Ring) canBeQuick() bool {
	return r.ownTask && r.sqArray != nil && r.ringIndex >= 0 && (r.cfg.HoldP || r.flags&IOPoll != 0)
}

// enterFlags are those of a quick call: a polled ring that does not wait only
// submits; see enter.
func (r *Ring) enterFlags(want uint32) uint32 {
	if want == 0 && r.flags&IOPoll != 0 {
		return uapi.EnterRegisteredRing
	}
	return uapi.EnterGetEvents | uapi.EnterRegisteredRing
}

// callStandIn is sys.IOURingEnter in fault tests. Who calls it branches on
// r.linux, because the two would not be inlined together.
func (r *Ring) callStandIn(todo, minComplete, flags uint32) (uintptr, syscall.Errno) {
	n, errno := r.kernel.Enter(r.enterFD, todo, minComplete, flags, false)
	return uintptr(n), errno
}

// enterOnce is the turn of enter that nearly always suffices: everything is
// submitted, and what is waited for is there afterwards. It is kept short
// because at a depth of one it is most of what a command costs beside the
// kernel. If it returns false and no error, enter goes on from whatever state
// that left.
func (r *Ring) enterOnce(want uint32) (bool, error) {
	todo := r.tail - atomic.LoadUint32(r.sqHead)
	if todo == 0 {
		return false, nil // on another thread, only enter would notice
	}
	ready := atomic.LoadUint32(r.cqTail) - r.head
	minComplete := want
	if ready >= want || ready > 0 && r.flags&IOPoll != 0 {
		minComplete = 0
	}
	var n uintptr
	var errno syscall.Errno
	if flags := r.enterFlags(want); r.linux {
		n, errno = sys.IOURingEnter(r.enterFD, todo, minComplete, flags)
	} else {
		n, errno = r.callStandIn(todo, minComplete, flags)
	}
	if err := r.entered(int(n), errno); err != nil || errno != 0 {
		return false, err
	}
	ready = atomic.LoadUint32(r.cqTail) - r.head
	return uint32(n) == todo && (ready >= want || ready > 0 && r.flags&IOPoll != 0), nil
}

// entered counts a call and returns the error of one that must not be repeated.
func (r *Ring) entered(n int, errno syscall.Errno) error {
	r.stats.Enters++
	switch errno {
	case 0:
		r.stats.Submitted += uint64(n)
	case syscall.EINTR:
		r.stats.Interrupts++
	case syscall.EAGAIN, syscall.EBUSY:
		r.stats.Busy++
	default:
		return r.enterError(errno)
	}
	return nil
}

// Taken receives what Turn takes. Give both slices room for all slots, so that
// nothing is allocated.
type Taken struct {
	// OK is the Completion.Res of a command that succeeded.
	OK int32
	// Free gets the slots of those that did appended.
	Free []int
	// Other gets the completions of all others appended; their slots are free
	// as well.
	Other []Completion
	// Limit is the most completions to take.
	Limit int
}

func (t *Taken) add(c Completion) {
	if c.Res == t.OK {
		t.Free = append(t.Free, c.Slot)
	} else {
		t.Other = append(t.Other, c)
	}
}

// turnSlow is Turn in its parts.
func (r *Ring) turnSlow(slots []int, words []uint64, wordAt, wait int, t *Taken) error {
	for i, slot := range slots {
		if words != nil && uint(slot) < uint(len(r.gen)) && !r.Busy(slot) && !r.closed {
			r.setWord(slot, wordAt, words[i])
		}
		if err := r.Publish(slot); err != nil {
			return err
		}
	}
	if err := r.Submit(wait); err != nil {
		return err
	}
	var some [64]Completion
	for left := t.Limit; left > 0; {
		n := r.Reap(some[:min(left, len(some))])
		for _, c := range some[:n] {
			t.add(c)
		}
		if left -= n; n == 0 {
			break
		}
	}
	return nil
}

// badWords says what is wrong with the words of a Turn.
func (r *Ring) badWords(slots []int, words []uint64, wordAt int) error {
	if len(words) < len(slots) {
		return fmt.Errorf("publish %d slots with %d words: give one word per slot, or nil", len(slots), len(words))
	}
	return fmt.Errorf("publish with a word at byte %d of an entry: need 0 to %d", wordAt, 1<<r.sqShift-8)
}
