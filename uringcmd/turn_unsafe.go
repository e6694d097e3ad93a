package uringcmd

import (
	"sync/atomic"
	"syscall"
	"unsafe"

	"github.com/nvmepass/nvmepass/internal/sys"
	"github.com/nvmepass/nvmepass/internal/uapi"
)

// Turn is PublishBatch, Submit and Reap in one, for loops that do nothing else:
// it publishes slots, submits them, waits until at least wait completions are
// there (cut to the number in flight), and takes them into t. If a slot cannot
// be published, those before it are, and nothing is submitted.
//
// If words is not nil, it has a word for each slot, which is stored at byte
// wordAt of the slot's entry, from 0 to 8 less than the entry's size: what
// differs from one command to the next, in host byte order. Bytes 32 to 39 are
// user_data, which is the ring's: a word that reaches there loses that part.
func (r *Ring) Turn(slots []int, words []uint64, wordAt, wait int, t *Taken) error {
	if words != nil && (len(words) < len(slots) || uint(wordAt) > 1<<(r.sqShift&63)-8) {
		return r.badWords(slots, words, wordAt)
	}
	if !r.quick || wait < 0 {
		return r.turnSlow(slots, words, wordAt, wait, t)
	}
	var n int
	if words != nil {
		n = placeWords(r.gen, r.sqes, r.sqShift, r.sqArray, r.sqMask, r.tail, slots, unsafe.SliceData(words), uintptr(wordAt))
	} else {
		n = place(r.gen, r.sqes, r.sqShift, r.sqArray, r.sqMask, r.tail, slots)
	}
	tail, inFlight := r.tail+uint32(n), r.inFlight+n
	r.tail, r.inFlight = tail, inFlight
	if n < len(slots) {
		return r.cannotPublish(slots[n])
	}
	*r.sqTail = tail // the kernel reads it on this thread, inside enter
	head, want := r.head, uint32(min(wait, inFlight))
	minComplete := want
	if ready := atomic.LoadUint32(r.cqTail) - head; ready >= want || ready > 0 && r.flags&IOPoll != 0 {
		minComplete = 0
	}
	todo := tail - atomic.LoadUint32(r.sqHead)
	if todo == 0 {
		return r.turnSlow(nil, nil, 0, wait, t)
	}
	var done uintptr
	var errno syscall.Errno
	if flags := r.enterFlags(want); r.linux {
		done, errno = sys.IOURingEnter(r.enterFD, todo, minComplete, flags)
	} else {
		done, errno = r.callStandIn(todo, minComplete, flags)
	}
	end := atomic.LoadUint32(r.cqTail)
	if ready := end - head; errno != 0 || uint32(done) != todo || ready < want && (ready == 0 || r.flags&IOPoll == 0) {
		if err := r.entered(int(done), errno); err != nil {
			return err
		}
		return r.turnSlow(nil, nil, 0, wait, t)
	}
	r.stats.Enters++
	r.stats.Submitted += uint64(todo)
	if limit := uint32(max(0, t.Limit)); end-head > limit {
		end = head + limit
	}
	before := len(t.Free) + len(t.Other)
	if at := r.takeGood(t, head, end); at != end {
		r.takeRest(t, at, end)
	}
	taken := len(t.Free) + len(t.Other) - before
	*r.cqHead = end
	r.head, r.inFlight = end, inFlight-taken
	r.stats.Reaped += uint64(taken)
	return nil
}

// place publishes slots up to the first that is busy or not there, and returns
// how many. The index array gets them from tail on.
func place(gen []uint32, sqes unsafe.Pointer, shift uintptr, array unsafe.Pointer, mask, tail uint32, slots []int) int {
	for i, slot := range slots {
		if uint(slot) >= uint(len(gen)) || gen[slot]&1 != 0 {
			return i
		}
		g := gen[slot] + 1
		gen[slot] = g
		*(*uint64)(unsafe.Add(sqes, uintptr(slot)<<(shift&63)+userDataAt)) = uint64(g)<<32 | uint64(slot)
		*(*uint32)(unsafe.Add(array, uintptr((tail+uint32(i))&mask)*4)) = uint32(slot)
	}
	return len(slots)
}

// placeWords is place with a word for each slot.
func placeWords(gen []uint32, sqes unsafe.Pointer, shift uintptr, array unsafe.Pointer, mask, tail uint32, slots []int, words *uint64, wordAt uintptr) int {
	for i, slot := range slots {
		if uint(slot) >= uint(len(gen)) || gen[slot]&1 != 0 {
			return i
		}
		g := gen[slot] + 1
		gen[slot] = g
		entry := unsafe.Add(sqes, uintptr(slot)<<(shift&63))
		*(*uint64)(unsafe.Add(entry, wordAt)) = *(*uint64)(unsafe.Add(unsafe.Pointer(words), i*8))
		*(*uint64)(unsafe.Add(entry, userDataAt)) = uint64(g)<<32 | uint64(slot) // last: it is not the caller's
		*(*uint32)(unsafe.Add(array, uintptr((tail+uint32(i))&mask)*4)) = uint32(slot)
	}
	return len(slots)
}

// takeGood frees the slots of completions that succeeded, from head on, and
// returns the position of the first that did not or belongs to no command in
// flight, end if there is none.
func (r *Ring) takeGood(t *Taken, head, end uint32) uint32 {
	gen, cqes, shift, mask, ok, free := r.gen, r.cqes, r.cqShift&63, r.cqMask, t.OK, t.Free
	for ; head != end; head++ {
		c := (*uapi.CQE)(unsafe.Add(cqes, uintptr(head&mask)<<shift))
		slot, g := uint32(c.UserData), uint32(c.UserData>>32)
		if uint(slot) >= uint(len(gen)) || gen[slot] != g || g&1 == 0 || c.Res != ok {
			break
		}
		gen[slot] = g + 1
		free = append(free, int(slot))
	}
	t.Free = free
	return head
}

// takeRest takes completions of any kind.
func (r *Ring) takeRest(t *Taken, head, end uint32) {
	for ; head != end; head++ {
		var one [1]Completion
		if n, _ := r.takeInto(one[:], head, head+1); n == 1 {
			t.add(one[0])
		}
	}
}
