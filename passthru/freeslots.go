package passthru

import "sync/atomic"

// freeSlots are an engine's slots that nobody holds. One of them is kept beside
// the channel, where a goroutine that takes and returns slots alone needs no lock.
// It may be used from any goroutine.
type freeSlots struct {
	spare   atomic.Int32 // the slot beside the channel, plus 1; 0 for none
	waiting atomic.Int32 // those between await and its end; while there are any, spare stays empty
	rest    chan int
}

func newFreeSlots(depth int) freeSlots { return freeSlots{rest: make(chan int, depth)} }

// put gives a slot back. It does not block.
func (f *freeSlots) put(slot int) {
	if f.waiting.Load() == 0 && f.spare.CompareAndSwap(0, int32(slot)+1) {
		if f.waiting.Load() == 0 {
			return
		}
		if slot = f.takeSpare(); slot < 0 { // who came meanwhile has found it, or would miss it
			return
		}
	}
	f.rest <- slot
}

func (f *freeSlots) takeSpare() int {
	if f.spare.Load() == 0 {
		return -1
	}
	return int(f.spare.Swap(0)) - 1
}

// tryTake takes a slot, or returns -1.
func (f *freeSlots) tryTake() int {
	if slot := f.takeSpare(); slot >= 0 {
		return slot
	}
	select {
	case slot := <-f.rest:
		return slot
	default:
		return -1
	}
}

// await announces that the caller will receive from rest. If it returns a slot,
// there was one already. The caller then calls done.
func (f *freeSlots) await() int {
	f.waiting.Add(1)
	return f.takeSpare()
}

func (f *freeSlots) done() { f.waiting.Add(-1) }

// count is how many are free, of a moment.
func (f *freeSlots) count() int { return len(f.rest) + int(min(1, f.spare.Load())) }
