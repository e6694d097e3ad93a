// Package ringtest is a stand-in for the kernel's side of an io_uring, for
// faults that a real kernel does not produce on demand: interrupted and short
// enters, refused flags, completions that are late, wrong or missing.
//
// It implements sys.RingKernel on ordinary memory. By default it consumes every
// entry and completes it at once with what Answer says.
package ringtest

import (
	"sync/atomic"
	"syscall"
	"unsafe"

	"github.com/nvmepass/nvmepass/internal/sys"
	"github.com/nvmepass/nvmepass/internal/uapi"
)

// Entry is one consumed submission entry, whole: 64 or 128 bytes.
type Entry struct {
	Image []byte
}

// SQE views the first 64 bytes.
func (e Entry) SQE() *uapi.SQE { return (*uapi.SQE)(unsafe.Pointer(&e.Image[0])) }

// Command views the NVMe command of a 128-byte entry.
func (e Entry) Command() *uapi.NVMePassthruCmd {
	return (*uapi.NVMePassthruCmd)(unsafe.Pointer(&e.Image[commandAt]))
}

// Data is the memory that the NVMe command of a 128-byte entry names, outside
// the Go heap; nil if it moves none.
func (e Entry) Data() []byte {
	c := e.Command()
	if c.DataLen == 0 {
		return nil
	}
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&c.Addr)), c.DataLen)
}

// commandAt is where an entry holds the command.
const commandAt = 48

// Kernel is the stand-in. Set its fields before the ring is made; it serves one
// ring and is not safe for use by several goroutines at once.
type Kernel struct {
	// RefuseFlags makes Setup fail with EINVAL while any of them is asked for.
	RefuseFlags uint32
	// SetupErr makes Setup fail.
	SetupErr error
	// StartAt is where all positions start, to test the wrap of 32 bits.
	StartAt uint32
	// RegisterErr, by opcode, makes Register fail.
	RegisterErr map[uint32]error
	// Answer gives the completion of an entry; post false keeps it in Held.
	// nil answers 0.
	Answer func(e Entry) (res int32, result uint64, post bool)
	// OnEnter runs instead of the default behaviour when not nil; it may
	// call Default.
	OnEnter func(toSubmit, minComplete, flags uint32) (int, syscall.Errno)
	// NeedGetEvents keeps completions back until an enter carries
	// IORING_ENTER_GETEVENTS, as a polled or deferring ring does.
	NeedGetEvents bool

	// Forgetful keeps Consumed and Enters empty, for long runs; the image of
	// an entry is then the queue's memory itself, valid until it is used again.
	Forgetful bool

	// Consumed holds every entry taken so far, in order.
	Consumed []Entry
	// Held are entries that Answer did not post.
	Held []Entry
	// Enters records every call.
	Enters []Enter
	// Registered counts Register calls by opcode.
	Registered map[uint32]int
	// Closed and Unmapped count what tear-down did.
	Closed, Unmapped int

	params    uapi.Params
	ring, sqe []byte
	tail      uint32 // CQ tail
	place     uint32 // with SQ_REWIND: of the next entry in this enter
	backlog   []posted
}

// Enter is one recorded io_uring_enter.
type Enter struct {
	ToSubmit, MinComplete, Flags uint32
}

type posted struct {
	userData uint64
	res      int32
	result   uint64
}

var _ sys.RingKernel = (*Kernel)(nil)

const (
	offSQHead, offSQTail, offSQFlags, offSQDropped = 0, 4, 8, 12
	offCQHead, offCQTail, offCQOverflow            = 16, 20, 24
	offCQEs                                        = 64
)

// Setup implements sys.RingKernel.
func (k *Kernel) Setup(entries uint32, p *uapi.Params) (int, error) {
	if k.SetupErr != nil {
		return -1, k.SetupErr
	}
	if p.Flags&k.RefuseFlags != 0 {
		return -1, syscall.EINVAL
	}
	p.SQEntries = entries
	p.Features = uapi.FeatSingleMmap | uapi.FeatNoDrop | uapi.FeatExtArg
	cqe := uint32(uapi.CQESize)
	if p.Flags&uapi.SetupCQE32 != 0 {
		cqe = uapi.CQE32Size
	}
	p.SQOff = uapi.SQRingOffsets{Head: offSQHead, Tail: offSQTail, Flags: offSQFlags, Dropped: offSQDropped}
	p.CQOff = uapi.CQRingOffsets{Head: offCQHead, Tail: offCQTail, Overflow: offCQOverflow, CQEs: offCQEs}
	if p.Flags&uapi.SetupNoSQArray == 0 {
		p.SQOff.Array = offCQEs + p.CQEntries*cqe
	}
	k.params = *p
	return 1000, nil
}

// Map implements sys.RingKernel. Memory comes filled with 0xAA, except for the
// counters, so that a byte that nobody wrote shows.
func (k *Kernel) Map(_ int, offset int64, length int) ([]byte, error) {
	b, err := sys.MapAnonymous(length, false)
	if err != nil {
		return nil, err
	}
	if offset == uapi.OffSQEs {
		k.sqe = b
		for i := range b {
			b[i] = 0xAA
		}
	} else {
		k.ring = b
		for i := offCQEs; i < len(b); i++ {
			b[i] = 0xAA
		}
		for _, off := range []int{offSQHead, offSQTail, offCQHead, offCQTail} {
			atomic.StoreUint32(k.word(off), k.StartAt)
		}
		k.tail = k.StartAt
	}
	return b, nil
}

// Unmap implements sys.RingKernel.
func (k *Kernel) Unmap(b []byte) error {
	k.Unmapped++
	return sys.Unmap(b)
}

// Register implements sys.RingKernel.
func (k *Kernel) Register(_ int, opcode uint32, _ unsafe.Pointer, n uint32) (int, error) {
	if k.Registered == nil {
		k.Registered = map[uint32]int{}
	}
	k.Registered[opcode]++
	if err := k.RegisterErr[opcode]; err != nil {
		return 0, err
	}
	if opcode == uapi.RegisterRingFDs {
		return int(n), nil
	}
	return 0, nil
}

// Close implements sys.RingKernel.
func (k *Kernel) Close(int) error {
	k.Closed++
	return nil
}

// Enter implements sys.RingKernel.
func (k *Kernel) Enter(_, toSubmit, minComplete, flags uint32, _ bool) (int, syscall.Errno) {
	k.place = 0
	if !k.Forgetful {
		k.Enters = append(k.Enters, Enter{toSubmit, minComplete, flags})
	}
	if k.OnEnter != nil {
		return k.OnEnter(toSubmit, minComplete, flags)
	}
	return k.Default(toSubmit, flags), 0
}

// Default consumes up to n entries, answers them and delivers completions.
func (k *Kernel) Default(n, flags uint32) int {
	done := 0
	for range n {
		e, ok := k.Consume()
		if !ok {
			break
		}
		done++
		var res int32
		var result uint64
		post := true
		if k.Answer != nil {
			res, result, post = k.Answer(e)
		}
		if !post {
			k.Held = append(k.Held, e)
			continue
		}
		k.backlog = append(k.backlog, posted{e.SQE().UserData, res, result})
	}
	if !k.NeedGetEvents || flags&uapi.EnterGetEvents != 0 {
		k.Deliver()
	}
	return done
}

// Consume takes the next entry as the kernel does: through the index array
// unless the ring has none. With SQ_REWIND each enter begins at place 0 and
// nobody looks at head and tail: there, take no more than enter was told of.
func (k *Kernel) Consume() (Entry, bool) {
	rewind := k.params.Flags&uapi.SetupSQRewind != 0
	head := atomic.LoadUint32(k.word(offSQHead))
	if !rewind && head == atomic.LoadUint32(k.word(offSQTail)) || k.place == k.params.SQEntries {
		return Entry{}, false
	}
	at := head & (k.params.SQEntries - 1)
	if rewind {
		at = k.place
		k.place++
	}
	if k.params.Flags&uapi.SetupNoSQArray == 0 {
		at = *k.word(int(k.params.SQOff.Array + 4*at))
	}
	size := uint32(uapi.SQESize)
	if k.params.Flags&uapi.SetupSQE128 != 0 {
		size = uapi.SQE128Size
	}
	e := Entry{Image: k.sqe[at*size : (at+1)*size : (at+1)*size]}
	if !k.Forgetful {
		e.Image = append([]byte(nil), e.Image...)
		k.Consumed = append(k.Consumed, e)
	}
	if !rewind {
		atomic.StoreUint32(k.word(offSQHead), head+1)
	}
	return e, true
}

// Waiting counts the entries behind the submission queue's head, which tells
// nothing with SQ_REWIND.
func (k *Kernel) Waiting() uint32 {
	return atomic.LoadUint32(k.word(offSQTail)) - atomic.LoadUint32(k.word(offSQHead))
}

// Unread counts completion entries that the ring has not taken, and Room those
// that can be posted beside them.
func (k *Kernel) Unread() uint32 { return k.tail - atomic.LoadUint32(k.word(offCQHead)) }

// Room is documented at Unread.
func (k *Kernel) Room() uint32 { return k.params.CQEntries - k.Unread() }

// Raise sets or clears a flag of the submission queue, such as CQ_OVERFLOW.
func (k *Kernel) Raise(flag uint32, on bool) {
	f := k.word(offSQFlags)
	if on {
		atomic.OrUint32(f, flag)
	} else {
		atomic.AndUint32(f, ^flag)
	}
}

// SetupFlags are the set-up flags that the ring got.
func (k *Kernel) SetupFlags() uint32 { return k.params.Flags }

// Deliver posts what is held back for want of GETEVENTS.
func (k *Kernel) Deliver() {
	for _, p := range k.backlog {
		k.Post(p.userData, p.res, p.result)
	}
	k.backlog = nil
}

// Release posts a completion for a held entry.
func (k *Kernel) Release(i int, res int32) {
	e := k.Held[i]
	k.Held = append(k.Held[:i], k.Held[i+1:]...)
	k.Post(e.SQE().UserData, res, 0)
}

// Post writes a completion entry.
func (k *Kernel) Post(userData uint64, res int32, result uint64) {
	size := uint32(uapi.CQESize)
	if k.params.Flags&uapi.SetupCQE32 != 0 {
		size = uapi.CQE32Size
	}
	at := offCQEs + (k.tail&(k.params.CQEntries-1))*size
	c := (*uapi.CQE)(unsafe.Pointer(&k.ring[at]))
	c.UserData, c.Res, c.Flags = userData, res, 0
	if size == uapi.CQE32Size {
		(*uapi.CQE32)(unsafe.Pointer(&k.ring[at])).Big = [2]uint64{result, 0}
	}
	k.tail++
	atomic.StoreUint32(k.word(offCQTail), k.tail)
}

func (k *Kernel) word(off int) *uint32 { return (*uint32)(unsafe.Pointer(&k.ring[off])) }
