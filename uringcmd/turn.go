package uringcmd

import (
	"errors"
	"fmt"
	"sync/atomic"
	"syscall"

	"github.com/nvmepass/nvmepass/internal/sys"
	"github.com/nvmepass/nvmepass/internal/uapi"
)

// canBeQuick tells whether enterOnce and the short way of Turns serve this ring:
// it is entered by a registered index, the kernel touches both queues on this
// thread alone, entries stay in their places, and waits need not tell the
// scheduler.
func (r *Ring) canBeQuick() bool {
	return r.ownTask && r.sqArray != nil && r.ringIndex >= 0 && (r.cfg.HoldP || r.flags&IOPoll != 0)
}

// enterFlags are those of a quick call, which looks for completions or not. A
// polled ring that does not wait only submits; see enter.
func (r *Ring) enterFlags(want uint32, look bool) uint32 {
	if want == 0 && (!look || r.flags&IOPoll != 0) {
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
func (r *Ring) enterOnce(want uint32, look bool) (bool, error) {
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
	if flags := r.enterFlags(want, look); r.linux {
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

// Loop is what Turns does, and what came of it. It belongs to the ring's owner.
type Loop struct {
	// Batch is the most commands of a turn, at least 1.
	Batch int
	// A turn that leaves no slot free waits for Wait completions (cut to the
	// number in flight) and then takes at most TakeFull of them; with 0 it leaves
	// them to Ring.Reap, without which there is no further turn. Any other turn
	// only submits, as t/io_uring has it, and takes at most Take of those that
	// are there: a ring with IOPoll or DeferTaskrun shows only those of commands
	// that ended while they were submitted.
	Wait, TakeFull, Take int
	// OK is the Completion.Res of a command that succeeded.
	OK int32
	// Stop, unless it is nil, ends Turns before the turn at which it holds
	// something else than While.
	Stop  *atomic.Uint32
	While uint32

	// Free are the slots to use, the last one first. The slots of commands that
	// succeeded are appended: give it room for all, so that nothing is allocated.
	Free []int
	// Other gets the completions of all others appended. Their slots are free,
	// and the caller's to put into Free.
	Other []Completion

	// Turns counts turns, InFlight sums up the commands in flight when they
	// entered the kernel, and Succeeded counts the commands that did.
	Turns, InFlight, Succeeded uint64
}

// neverStops is the Stop of a Loop without one.
var neverStops atomic.Uint32

// next is how many commands the next turn has, and whether there is one: Turns
// ends if not.
func (l *Loop) next(words int) (int, bool) {
	n := min(l.Batch, len(l.Free))
	return n, n <= words && len(l.Other) == 0 && (l.Stop == nil || l.Stop.Load() == l.While)
}

// checkTurns says what is wrong with the arguments of Turns.
func (r *Ring) checkTurns(wordAt int, l *Loop) error {
	switch {
	case l.Batch < 1 || l.Wait < 0 || l.TakeFull < 0 || l.Take < 0:
		return fmt.Errorf("turns of batch %d, wait %d, take %d and %d: need a batch of at least 1 and nothing negative", l.Batch, l.Wait, l.Take, l.TakeFull)
	case wordAt > int(r.sqeSize)-8:
		return fmt.Errorf("turns with a word at byte %d of an entry: need 0 to %d, or less than 0 for none", wordAt, r.sqeSize-8)
	}
	return nil
}

// TurnBy is one turn of Turns whose commands publish makes and publishes, in the
// order of the slots that it gets: for commands that differ by more than a word.
// If it fails, what it published stays in flight and is sent by the next turn.
// As in Turns, there is none if words is less than the commands of the turn, and
// used is how many were published.
func (r *Ring) TurnBy(words int, l *Loop, publish func(slots []int) error) (used int, err error) {
	if err := r.checkTurns(-1, l); err != nil {
		return 0, err
	}
	n, ok := l.next(words)
	if !ok {
		return 0, nil
	}
	if n == 0 && r.inFlight == 0 {
		return 0, errors.New("turn: no slot is free and no command is in flight: put slots into Loop.Free")
	}
	left, before := len(l.Free)-n, r.inFlight
	if n > 0 {
		err = publish(l.Free[left:])
	}
	used = r.inFlight - before
	l.Free = append(l.Free[:left], l.Free[left+used:]...)
	if err != nil {
		return used, err
	}
	wait, limit := 0, l.Take
	if left == 0 {
		wait, limit = l.Wait, l.TakeFull
	}
	l.Turns++
	l.InFlight += uint64(r.inFlight)
	return used, r.submitAndTake(wait, limit, left == 0, l)
}

// slowTurn is one turn of Turns in its parts, for any ring in any state.
func (r *Ring) slowTurn(words []uint64, wordAt int, l *Loop) (int, error) {
	return r.TurnBy(len(words), l, func(slots []int) error {
		for i, slot := range slots {
			if wordAt >= 0 && uint(slot) < uint(len(r.gen)) && !r.Busy(slot) && !r.closed {
				r.setWord(slot, wordAt, words[i])
			}
			if err := r.Publish(slot); err != nil {
				return err
			}
		}
		return nil
	})
}

func (r *Ring) submitAndTake(wait, limit int, full bool, l *Loop) error {
	if err := r.submit(wait, full); err != nil {
		return err
	}
	r.take(limit, l)
	return nil
}

// take takes up to limit completions of any kind.
func (r *Ring) take(limit int, l *Loop) {
	var some [64]Completion
	for limit > 0 {
		n := r.Reap(some[:min(limit, len(some))])
		for _, c := range some[:n] {
			l.add(c)
		}
		if limit -= n; n == 0 {
			break
		}
	}
}

func (l *Loop) add(c Completion) {
	if c.Res == l.OK {
		l.Free = append(l.Free, c.Slot)
		l.Succeeded++
	} else {
		l.Other = append(l.Other, c)
	}
}
