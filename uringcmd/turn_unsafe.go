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
	for {
		n := 0
		if r.quick && len(l.Other) == 0 {
			n, err = r.quickTurns(words[used:], wordAt, l)
		}
		if n == 0 && err == nil {
			n, err = r.slowTurn(words[used:], wordAt, l)
		}
		if used += n; n == 0 || err != nil {
			return used, err
		}
	}
}

// quickTurns does turns as long as each needs one call of the kernel, which
// nearly all do, and ends with the first that needs more. The ring's counters
// stand still meanwhile, which nobody sees (canBeQuick), and follow at the end:
// what a turn at a depth of one does is paid by every command.
func (r *Ring) quickTurns(words []uint64, wordAt int, l *Loop) (int, error) {
	if r.tail != atomic.LoadUint32(r.sqHead) {
		return 0, nil // entries from before are still to be submitted
	}
	have := len(l.Free)
	l.Free = slices.Grow(l.Free, r.inFlight)[:have+r.inFlight] // each slot is free or in flight
	var c course
	c.ring, c.loop, c.stop, c.while = r, l, l.Stop, l.While
	c.sqTail, c.cqHead, c.cqTail = r.sqTail, r.cqHead, r.cqTail
	c.sqes, c.array, c.cqes, c.sqeSize, c.cqeSize = r.sqes, r.sqArray, r.cqes, r.sqeSize, r.cqeSize
	c.gen, c.known, c.sqMask = unsafe.Pointer(unsafe.SliceData(r.gen)), uint(len(r.gen)), r.sqMask
	c.cqeMask = uintptr(r.cqMask)*c.cqeSize | (c.cqeSize - 1)
	c.cqe = uintptr(r.head) * c.cqeSize & c.cqeMask
	c.words, c.most, c.wordAt = unsafe.Pointer(unsafe.SliceData(words)), min(len(words), 1<<30), uintptr(wordAt) // so that positions tell how many
	c.slots, c.free, c.all = unsafe.Pointer(unsafe.SliceData(l.Free)), have, len(l.Free)
	c.batch, c.take, c.takeFull, c.ok = l.Batch, l.Take, l.TakeFull, l.OK
	c.tail, c.head, c.linux, c.enterFD, c.polled = r.tail, r.head, r.linux, r.enterFD, r.flags&IOPoll != 0
	c.wait = uint32(min(l.Wait, c.all))
	c.flags = r.enterFlags(c.wait, true)
	if c.stop == nil {
		c.stop, c.while = &neverStops, 0
	}
	if wordAt < 0 {
		c.wordAt = none
	}
	err := c.run()
	return c.used, err
}

// slotStep is how far slots lie apart in Loop.Free.
const slotStep = int(unsafe.Sizeof(int(0)))

// none is the place of a word that commands do not have.
const none = ^uintptr(0)

// course is where quickTurns has come, and what it needs to go on. It lies in
// memory as one piece, because all of it has to be there before the system call
// and is loaded after it anyway.
type course struct {
	ring                   *Ring
	loop                   *Loop
	stop                   *atomic.Uint32
	sqTail, cqHead, cqTail *uint32
	sqes, array, cqes, gen unsafe.Pointer
	known                  uint // slots that gen has
	sqeSize, cqeSize       uintptr
	cqe, cqeMask           uintptr        // place of head's entry
	words                  unsafe.Pointer // most, of which some are used
	most, used             int
	wordAt                 uintptr
	slots                  unsafe.Pointer // all, of which the first are free and the others in flight
	free, all              int
	batch, take, takeFull  int
	turns, sum             int
	tail, head             uint32 // as in Ring
	sqMask, enterFD        uint32
	wait, flags            uint32 // of a turn that leaves no slot free
	while                  uint32
	ok                     int32
	linux, polled          bool
}

// run goes round until a turn needs more than its one call, or there is none.
func (c *course) run() error {
	for c.stop.Load() == c.while {
		n := min(c.free, c.batch)
		if n == 0 || n > c.most-c.used {
			break
		}
		c.free -= n
		top := unsafe.Add(c.slots, c.free*slotStep)
		gen, word, tail := c.gen, unsafe.Add(c.words, c.used*8), c.tail
		for i := range n {
			slot := *(*uint)(unsafe.Add(top, i*slotStep))
			if slot >= c.known {
				return c.busy(i, n)
			}
			at := (*uint32)(unsafe.Add(gen, slot*4))
			g := *at
			if g&1 != 0 {
				return c.busy(i, n)
			}
			g++
			*at = g
			entry := unsafe.Add(c.sqes, uintptr(slot)*c.sqeSize)
			if c.wordAt != none {
				*(*uint64)(unsafe.Add(entry, c.wordAt)) = *(*uint64)(unsafe.Add(word, i*8))
			}
			*(*uint64)(unsafe.Add(entry, userDataAt)) = uint64(g)<<32 | uint64(slot) // last: it is not the caller's
			*(*uint32)(unsafe.Add(c.array, uintptr(tail&c.sqMask)*4)) = uint32(slot)
			tail++
		}
		c.used += n
		c.tail = tail
		*c.sqTail = tail // the kernel reads it on this thread, inside enter
		c.turns++
		c.sum += c.all - c.free
		var minComplete, flags uint32 = 0, uapi.EnterRegisteredRing
		if c.free == 0 {
			flags = c.flags
			if there := atomic.LoadUint32(c.cqTail) - c.head; there == 0 || there < c.wait && !c.polled {
				minComplete = c.wait
			}
		}
		var done uintptr
		var errno syscall.Errno
		if c.linux {
			done, errno = sys.IOURingEnter(c.enterFD, uint32(n), minComplete, flags)
		} else {
			done, errno = c.ring.callStandIn(uint32(n), minComplete, flags)
		}
		ready, limit := atomic.LoadUint32(c.cqTail)-c.head, c.take
		if c.free == 0 {
			limit = c.takeFull
		}
		if errno != 0 || int(done) != n || ready < minComplete && (!c.polled || ready == 0) {
			return c.refused(n, limit, done, errno)
		}
		limit = min(int(ready), limit, c.all-c.free)
		room, e, good := unsafe.Add(c.slots, c.free*slotStep), c.cqe, 0
		for gen = c.gen; good < limit; good++ {
			cqe := (*uapi.CQE)(unsafe.Add(c.cqes, e))
			data := cqe.UserData
			slot, g := uint32(data), uint32(data>>32)
			if uint(slot) >= c.known || g&1 == 0 || cqe.Res != c.ok {
				break
			}
			at := (*uint32)(unsafe.Add(gen, uintptr(slot)*4))
			if *at != g {
				break
			}
			*at = g + 1
			*(*uint)(unsafe.Add(room, good*slotStep)) = uint(slot)
			e = (e + c.cqeSize) & c.cqeMask
		}
		c.cqe = e
		c.free += good
		c.head += uint32(good)
		*c.cqHead = c.head
		if good != limit {
			return c.rest(limit - good)
		}
	}
	c.settle()
	return nil
}

// busy ends a turn at the i-th of its n slots, which is none that can be
// published.
func (c *course) busy(i, n int) error {
	top := unsafe.Slice((*int)(unsafe.Add(c.slots, c.free*slotStep)), n)
	bad := top[i]
	c.free += copy(top, top[i:])
	c.used += i
	c.tail += uint32(i)
	c.settle()
	c.ring.stats.Submitted -= uint64(i)
	return c.ring.cannotPublish(bad)
}

// refused goes on in parts with a turn whose call did not do all of it.
func (c *course) refused(n, limit int, done uintptr, errno syscall.Errno) error {
	c.settle()
	c.ring.stats.Submitted -= uint64(n) // entered counts what was sent
	c.ring.stats.Enters--
	if err := c.ring.entered(int(done), errno); err != nil {
		return err
	}
	wait := 0
	if c.free == 0 {
		wait = int(c.wait)
	}
	return c.ring.submitAndTake(wait, limit, c.free == 0, c.loop)
}

// rest takes what else a turn has to take.
func (c *course) rest(limit int) error {
	c.settle()
	c.ring.take(limit, c.loop)
	return nil
}

// settle brings the ring and the loop to where turns have come without them.
func (c *course) settle() {
	r, l := c.ring, c.loop
	taken := c.head - r.head
	r.tail, r.head, r.inFlight = c.tail, c.head, r.inFlight+c.used-int(taken)
	r.stats.Enters += uint64(c.turns)
	r.stats.Submitted += uint64(c.used)
	r.stats.Reaped += uint64(taken)
	l.Free = l.Free[:c.free]
	l.Turns += uint64(c.turns)
	l.InFlight += uint64(c.sum)
	l.Succeeded += uint64(taken)
}
