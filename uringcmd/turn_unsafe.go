package uringcmd

import (
	"slices"
	"sync/atomic"
	"syscall"
	"unsafe"

	"github.com/nvmepass/nvmepass/internal/sys"
	"github.com/nvmepass/nvmepass/internal/uapi"
)

// Turns goes round the loop of a program that keeps a queue busy with commands
// of one kind, which the entries of all slots in l.Free hold already: a turn
// publishes up to l.Batch of them, submits, waits and takes completions as l
// has it, in one system call. It returns how many words it used, each of which
// is a command that was published, when
//   - fewer words are left than the next turn has commands,
//   - l.Stop says so,
//   - a turn took completions that are not l.OK, which are in l.Other, or
//   - something is wrong; what was published then stays in flight.
//
// It may also return for no such reason: call it again.
//
// A word is stored at byte wordAt of its slot's entry, from 0 to 8 less than the
// entry's size, in host byte order: what differs from one command to the next.
// Bytes 32 to 39 are user_data, which is the ring's: a word that reaches there
// loses that part. With a negative wordAt nothing is stored, and only the number
// of words counts.
func (r *Ring) Turns(words []uint64, wordAt int, l *Loop) (used int, err error) {
	if err := r.checkTurns(wordAt, l); err != nil {
		return 0, err
	}
	if r.quick && len(l.Other) == 0 {
		if used, err = r.quickTurns(words, wordAt, l); err != nil || used > 0 {
			return used, err
		}
	}
	return r.slowTurn(words, wordAt, l)
}

// quickTurns does turns as long as each needs one call of the kernel, which
// nearly all do, and ends with the first that needs more. The ring's counters
// stand still meanwhile, which nobody sees (canBeQuick), and follow at the end:
// what a turn at a depth of one does is paid by every command.
func (r *Ring) quickTurns(words []uint64, wordAt int, l *Loop) (used int, err error) {
	if r.tail != atomic.LoadUint32(r.sqHead) {
		return 0, nil // entries from before are still to be submitted
	}
	stop, while := l.Stop, l.While
	if stop == nil {
		stop, while = &neverStops, 0
	}
	slots, have := slices.Grow(l.Free, r.inFlight), len(l.Free) // each slot is free or in flight
	slots = slots[:cap(slots)]
	var taken, unsent int
	var turns, sum uint64
	var done uintptr
	var errno syscall.Errno
	refused, wait, limit := false, 0, 0 // of the last turn; then limit is what it has left to take
	there, polled := atomic.LoadUint32(r.cqTail), r.flags&IOPoll != 0
	at := unsafe.Pointer(unsafe.SliceData(words))
	for stop.Load() == while {
		left := max(0, have-l.Batch)
		n := have - left
		if n == 0 || n > len(words)-used {
			break
		}
		tail := r.tail + uint32(used)
		if placed := r.placeTop(tail, slots[left:have], unsafe.Add(at, used*8), wordAt); placed < n {
			err = r.cannotPublish(slots[left+placed])
			used, unsent = used+placed, placed
			have = left + copy(slots[left:], slots[left+placed:have])
			break
		}
		have, used = left, used+n
		*r.sqTail = tail + uint32(n) // the kernel reads it on this thread, inside enter
		inFlight := r.inFlight + used - taken
		turns++
		sum += uint64(inFlight)
		wait, limit = 0, l.Take
		if left == 0 {
			wait, limit = min(l.Wait, inFlight), l.TakeFull
		}
		head, minComplete := r.head+uint32(taken), uint32(wait)
		if ready := int(there - head); ready >= wait || polled && ready > 0 {
			minComplete = 0
		}
		if flags := r.enterFlags(uint32(wait)); r.linux {
			done, errno = sys.IOURingEnter(r.enterFD, uint32(n), minComplete, flags)
		} else {
			done, errno = r.callStandIn(uint32(n), minComplete, flags)
		}
		there = atomic.LoadUint32(r.cqTail)
		ready := int(there - head)
		if refused = errno != 0 || int(done) != n || ready < wait && (!polled || ready == 0); refused {
			unsent = n // entered counts what was sent
			break
		}
		limit = min(ready, limit, len(slots)-left)
		good := r.takeGood(slots[left:left+limit], l.OK, head)
		have, taken = left+good, taken+good
		*r.cqHead = head + uint32(good)
		if limit -= good; limit != 0 {
			break
		}
	}
	r.tail, r.head, r.inFlight, l.Free = r.tail+uint32(used), r.head+uint32(taken), r.inFlight+used-taken, slots[:have]
	l.Turns, l.InFlight, l.Succeeded = l.Turns+turns, l.InFlight+sum, l.Succeeded+uint64(taken)
	r.stats.Submitted, r.stats.Reaped = r.stats.Submitted+uint64(used-unsent), r.stats.Reaped+uint64(taken)
	if refused {
		r.stats.Enters += turns - 1
		if err = r.entered(int(done), errno); err == nil {
			err = r.submitAndTake(wait, limit, l)
		}
		return used, err
	}
	r.stats.Enters += turns
	r.take(limit, l)
	return used, err
}

// placeTop publishes slots, each with its word, up to the first that is busy or
// not there, and returns how many. The index array gets them from tail on.
func (r *Ring) placeTop(tail uint32, slots []int, words unsafe.Pointer, wordAt int) int {
	if wordAt < 0 {
		return place(r.gen, r.sqes, r.sqeSize, r.sqArray, r.sqMask, tail, slots)
	}
	gen, sqes, size, array, mask := r.gen, r.sqes, r.sqeSize, r.sqArray, r.sqMask
	for i, slot := range slots {
		if uint(slot) >= uint(len(gen)) || gen[slot]&1 != 0 {
			return i
		}
		g := gen[slot] + 1
		gen[slot] = g
		entry := unsafe.Add(sqes, uintptr(slot)*size)
		*(*uint64)(unsafe.Add(entry, wordAt)) = *(*uint64)(unsafe.Add(words, i*8))
		*(*uint64)(unsafe.Add(entry, userDataAt)) = uint64(g)<<32 | uint64(slot) // last: it is not the caller's
		*(*uint32)(unsafe.Add(array, uintptr((tail+uint32(i))&mask)*4)) = uint32(slot)
	}
	return len(slots)
}

// place publishes slots up to the first that is busy or not there, and returns
// how many. The index array gets them from tail on.
func place(gen []uint32, sqes unsafe.Pointer, size uintptr, array unsafe.Pointer, mask, tail uint32, slots []int) int {
	for i, slot := range slots {
		if uint(slot) >= uint(len(gen)) || gen[slot]&1 != 0 {
			return i
		}
		g := gen[slot] + 1
		gen[slot] = g
		*(*uint64)(unsafe.Add(sqes, uintptr(slot)*size+userDataAt)) = uint64(g)<<32 | uint64(slot)
		*(*uint32)(unsafe.Add(array, uintptr((tail+uint32(i))&mask)*4)) = uint32(slot)
	}
	return len(slots)
}

// takeGood puts the slots of completions that are ok, from head on, into room
// until it is full, and returns how many. It ends before the first that is not,
// or belongs to no command in flight.
func (r *Ring) takeGood(room []int, ok int32, head uint32) int {
	gen, cqes, size, mask := r.gen, r.cqes, r.cqeSize, r.cqMask
	for i := range room {
		c := (*uapi.CQE)(unsafe.Add(cqes, uintptr((head+uint32(i))&mask)*size))
		slot, g := uint32(c.UserData), uint32(c.UserData>>32)
		if uint(slot) >= uint(len(gen)) || gen[slot] != g || g&1 == 0 || c.Res != ok {
			return i
		}
		gen[slot] = g + 1
		room[i] = int(slot)
	}
	return len(room)
}
