package uringcmd

import (
	"fmt"
	"sync/atomic"
)

// Completion is one finished command. The slot is free again, and its entry
// and buffer hold what the command left there until the slot is published anew.
type Completion struct {
	// Slot of the command.
	Slot int
	// Res is the completion entry's res as the kernel wrote it: its meaning
	// is the opcode's.
	Res int32
	// Result is the first 64-bit word of a 32-byte entry, 0 in a plain ring.
	// For NVMe it is the command's result.
	Result uint64
}

// Slots is the number of slots.
func (r *Ring) Slots() int { return len(r.gen) }

// InFlight counts the commands that are published and not yet reaped.
func (r *Ring) InFlight() int { return r.inFlight }

// Busy tells whether the slot's command is in flight.
func (r *Ring) Busy(slot int) bool { return r.gen[slot]&1 != 0 }

// Entry is the submission entry of a slot in a plain ring. The owner fills it
// while the slot is free; UserData belongs to the ring.
func (r *Ring) Entry(slot int) *SQE { return &r.small[slot] }

// BigEntry is the submission entry of a slot in a ring made with Config.Big.
func (r *Ring) BigEntry(slot int) *BigSQE { return &r.big[slot] }

// Publish makes the slot's command part of the next Submit. From here on it is
// in flight, and only its Completion ends that: also if Submit fails.
func (r *Ring) Publish(slot int) error {
	one := [1]int{slot}
	_, err := r.PublishBatch(one[:])
	return err
}

// PublishBatch publishes several slots in their order. It ends at the first that
// cannot be published and returns how many were.
func (r *Ring) PublishBatch(slots []int) (published int, err error) {
	if n := r.placeAll(slots); n < len(slots) {
		return n, r.cannotPublish(slots[n])
	}
	return len(slots), nil
}

// cannotPublish says what is wrong with a slot.
func (r *Ring) cannotPublish(slot int) error {
	switch {
	case r.closed:
		return fmt.Errorf("publish slot %d: ring: %w", slot, ErrClosed)
	case uint(slot) >= uint(len(r.gen)):
		return fmt.Errorf("publish slot %d: the ring has slots 0 to %d", slot, len(r.gen)-1)
	}
	return fmt.Errorf("publish slot %d: %w: reap its completion first", slot, ErrSlotBusy)
}

// Reap takes up to len(dst) completions that are there already, without a
// system call, and returns how many. A completion that belongs to no command
// in flight is dropped and counted in Stats.Stale.
func (r *Ring) Reap(dst []Completion) int {
	n, head := r.takeInto(dst, r.head, atomic.LoadUint32(r.cqTail))
	if head != r.head {
		r.head = head
		if r.ownTask {
			*r.cqHead = head // the kernel posts completions on this thread alone
		} else {
			atomic.StoreUint32(r.cqHead, head)
		}
		r.inFlight -= n
		r.stats.Reaped += uint64(n)
	}
	return n
}

// Ready counts the completions that Reap would find.
func (r *Ring) Ready() int { return int(atomic.LoadUint32(r.cqTail) - r.head) }
