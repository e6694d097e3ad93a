package uringcmd

import (
	"errors"
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/nvmepass/nvmepass/internal/sys"
	"github.com/nvmepass/nvmepass/internal/uapi"
	"github.com/nvmepass/nvmepass/internal/unclosed"
)

// SQE is a 64-byte submission entry. Members are in host byte order.
type SQE = uapi.SQE

// BigSQE is a 128-byte submission entry, whose command area Cmd holds 80 bytes.
type BigSQE = uapi.SQE128

// Ring is an io_uring with fixed slots; see the package comment for its rules.
type Ring struct {
	kernel    sys.RingKernel
	linux     bool // kernel is the running one
	cfg       Config
	fd        int
	enterFD   uint32 // fd, or the index of the registered ring
	ringIndex int    // index in the owner thread's table, -1 for none
	requested Flags
	flags     Flags
	features  uint32

	// One state per slot: the command's generation, odd while in flight.
	gen      []uint32
	inFlight int // published and not yet reaped

	// Slot entries: ring memory itself, or with NO_SQARRAY templates on the
	// Go heap that Publish copies from.
	small []SQE
	big   []BigSQE

	sqMem, sqeMem     []byte
	sqHead, sqTail    *uint32
	sqFlags           *uint32
	sqDropped         *uint32
	cqHead, cqTail    *uint32
	cqOverflow        *uint32
	sqMask, cqMask    uint32
	sqArray           unsafe.Pointer // nil with NO_SQARRAY
	sqes              unsafe.Pointer
	cqes              unsafe.Pointer
	sqeSize, cqeSize  uintptr
	tail              uint32 // local SQ tail: published entries
	head              uint32 // local CQ head: reaped entries
	pending           uint32 // with SQ_REWIND: entries at places 0..pending-1
	rewind            bool
	alwaysGetEvents   bool // completions appear only inside enter with GETEVENTS
	ownTask           bool // and the kernel touches both queues on the owner's thread alone
	owner             int  // thread id, 0 before Enable
	quick             bool // see canBeQuick
	checkThread       bool // the kernel does not check the thread itself
	closed            bool
	quiet             atomic.Bool // see Quiet
	stats             Stats
	registeredBuffers int
	registeredFiles   int
	mark              *unclosed.Mark
}

// mapMemory maps the queues and places every pointer into them. One mapping
// serves both queues; it must reach to the end of the later one.
func (r *Ring) mapMemory(p *uapi.Params) error {
	if p.Features&uapi.FeatSingleMmap == 0 {
		return fmt.Errorf("set up ring: %w", &UnsupportedError{"one mapping for both queues of a ring", "5.4"})
	}
	r.sqeSize, r.cqeSize = uapi.SQESize, uapi.CQESize
	if r.flags&SQE128 != 0 {
		r.sqeSize = uapi.SQE128Size
	}
	if r.flags&CQE32 != 0 {
		r.cqeSize = uapi.CQE32Size
	}
	ringBytes := uint64(p.CQOff.CQEs) + uint64(p.CQEntries)*uint64(r.cqeSize)
	if r.flags&NoSQArray == 0 {
		ringBytes = max(ringBytes, uint64(p.SQOff.Array)+uint64(p.SQEntries)*4)
	}
	sqeBytes := uint64(p.SQEntries) * uint64(r.sqeSize)

	var err error
	if r.sqMem, err = r.kernel.Map(r.fd, uapi.OffSQRing, int(ringBytes)); err != nil {
		return fmt.Errorf("map %d bytes of ring memory: %w", ringBytes, err)
	}
	if r.sqeMem, err = r.kernel.Map(r.fd, uapi.OffSQEs, int(sqeBytes)); err != nil {
		return errors.Join(fmt.Errorf("map %d bytes of submission entries: %w", sqeBytes, err), r.kernel.Unmap(r.sqMem))
	}
	base := unsafe.Pointer(unsafe.SliceData(r.sqMem))
	word := func(off uint32) *uint32 { return (*uint32)(unsafe.Add(base, uintptr(off))) }
	r.sqHead, r.sqTail, r.sqFlags, r.sqDropped = word(p.SQOff.Head), word(p.SQOff.Tail), word(p.SQOff.Flags), word(p.SQOff.Dropped)
	r.cqHead, r.cqTail, r.cqOverflow = word(p.CQOff.Head), word(p.CQOff.Tail), word(p.CQOff.Overflow)
	r.sqMask, r.cqMask = p.SQEntries-1, p.CQEntries-1
	r.sqes = unsafe.Pointer(unsafe.SliceData(r.sqeMem))
	r.cqes = unsafe.Add(base, uintptr(p.CQOff.CQEs))
	r.tail, r.head = atomic.LoadUint32(r.sqTail), atomic.LoadUint32(r.cqHead)
	r.gen = make([]uint32, r.cfg.Slots)
	r.rewind = r.flags&SQRewind != 0
	r.alwaysGetEvents = r.flags&(IOPoll|DeferTaskrun) != 0
	r.ownTask = r.alwaysGetEvents && r.flags&SQPollThread == 0
	r.checkThread = r.flags&SingleIssuer == 0

	switch {
	case r.flags&NoSQArray == 0:
		r.sqArray = unsafe.Add(base, uintptr(p.SQOff.Array))
		if r.flags&SQE128 != 0 {
			r.big = unsafe.Slice((*BigSQE)(r.sqes), r.cfg.Slots)
		} else {
			r.small = unsafe.Slice((*SQE)(r.sqes), r.cfg.Slots)
		}
	case r.flags&SQE128 != 0:
		r.big = make([]BigSQE, r.cfg.Slots)
	default:
		r.small = make([]SQE, r.cfg.Slots)
	}
	return nil
}

// userDataAt is where a submission entry of either size holds its user_data.
const userDataAt = unsafe.Offsetof(SQE{}.UserData)

// placeAll makes the slots' entries the next ones of the submission queue, in
// order, up to the first slot that is busy or not there, and returns how many.
func (r *Ring) placeAll(slots []int) int {
	if r.sqArray == nil {
		return r.copyAll(slots)
	}
	gen, sqes, size, array, mask, tail := r.gen, r.sqes, r.sqeSize, r.sqArray, r.sqMask, r.tail
	n := len(slots)
	for i, slot := range slots {
		if uint(slot) >= uint(len(gen)) || gen[slot]&1 != 0 {
			n = i
			break
		}
		g := gen[slot] + 1
		gen[slot] = g
		*(*uint64)(unsafe.Add(sqes, uintptr(slot)*size+userDataAt)) = uint64(g)<<32 | uint64(slot)
		*(*uint32)(unsafe.Add(array, uintptr((tail+uint32(i))&mask)*4)) = uint32(slot)
	}
	r.tail += uint32(n)
	r.inFlight += n
	return n
}

// copyAll is placeAll of a ring without index array: the entries are copied.
func (r *Ring) copyAll(slots []int) int {
	for i, slot := range slots {
		if uint(slot) >= uint(len(r.gen)) || r.gen[slot]&1 != 0 || r.closed {
			return i
		}
		r.gen[slot]++
		r.inFlight++
		at := r.tail & r.sqMask
		if r.rewind {
			at = r.pending
			r.pending++
		} else {
			r.tail++
		}
		userData := uint64(r.gen[slot])<<32 | uint64(uint32(slot))
		dst := unsafe.Add(r.sqes, uintptr(at)*r.sqeSize)
		if r.big != nil {
			r.big[slot].UserData = userData
			*(*BigSQE)(dst) = r.big[slot]
		} else {
			r.small[slot].UserData = userData
			*(*SQE)(dst) = r.small[slot]
		}
	}
	return len(slots)
}

// rewindTo moves what enter left unsubmitted to the start of the queue.
func (r *Ring) rewindTo(submitted uint32) {
	size := uint32(r.sqeSize)
	copy(r.sqeMem, r.sqeMem[submitted*size:r.pending*size])
	r.pending -= submitted
}

// takeInto turns the completion entries from head to tail, or as many as dst
// has room for, into completions, and frees their slots. Entries that belong to
// no command in flight are counted and left out. It returns the number of
// completions and the new head.
func (r *Ring) takeInto(dst []Completion, head, tail uint32) (int, uint32) {
	gen, cqes, size, mask := r.gen, r.cqes, r.cqeSize, r.cqMask
	n := 0
	for ; head != tail && n < len(dst); head++ {
		p := unsafe.Add(cqes, uintptr(head&mask)*size)
		c := (*uapi.CQE)(p)
		slot, g := uint32(c.UserData), uint32(c.UserData>>32)
		if uint(slot) >= uint(len(gen)) || gen[slot] != g || g&1 == 0 {
			r.stats.Stale++
			continue
		}
		gen[slot] = g + 1
		d := &dst[n]
		d.Slot, d.Res, d.Result = int(slot), c.Res, 0
		if size == uapi.CQE32Size {
			d.Result = (*uapi.CQE32)(p).Big[0]
		}
		n++
	}
	return n, head
}

// setWord stores a word into a slot's entry.
func (r *Ring) setWord(slot, at int, word uint64) {
	base := r.sqes
	if r.sqArray == nil { // the entries are templates
		if r.big != nil {
			base = unsafe.Pointer(unsafe.SliceData(r.big))
		} else {
			base = unsafe.Pointer(unsafe.SliceData(r.small))
		}
	}
	*(*uint64)(unsafe.Add(base, uintptr(slot)*r.sqeSize+uintptr(at))) = word
}
