package uringcmd

import (
	"errors"
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/nvmepass/nvmepass/internal/sys"
	"github.com/nvmepass/nvmepass/internal/uapi"
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
	sqShift, cqShift  uintptr
	tail              uint32 // local SQ tail: published entries
	head              uint32 // local CQ head: reaped entries
	pending           uint32 // with SQ_REWIND: entries at places 0..pending-1
	rewind            bool
	alwaysGetEvents   bool // completions appear only inside enter with GETEVENTS
	owner             int  // thread id, 0 before Enable
	checkThread       bool // the kernel does not check the thread itself
	closed            bool
	quiet             atomic.Bool // see Quiet
	stats             Stats
	registeredBuffers int
	registeredFiles   int
}

// mapMemory maps the queues and places every pointer into them. One mapping
// serves both queues; it must reach to the end of the later one.
func (r *Ring) mapMemory(p *uapi.Params) error {
	if p.Features&uapi.FeatSingleMmap == 0 {
		return fmt.Errorf("set up ring: %w", &UnsupportedError{"one mapping for both queues of a ring", "5.4"})
	}
	sqeSize, cqeSize := uint64(uapi.SQESize), uint64(uapi.CQESize)
	r.sqShift, r.cqShift = 6, 4
	if r.flags&SQE128 != 0 {
		sqeSize, r.sqShift = uapi.SQE128Size, 7
	}
	if r.flags&CQE32 != 0 {
		cqeSize, r.cqShift = uapi.CQE32Size, 5
	}
	ringBytes := uint64(p.CQOff.CQEs) + uint64(p.CQEntries)*cqeSize
	if r.flags&NoSQArray == 0 {
		ringBytes = max(ringBytes, uint64(p.SQOff.Array)+uint64(p.SQEntries)*4)
	}
	sqeBytes := uint64(p.SQEntries) * sqeSize

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

// place makes the slot's entry the next one of the submission queue.
func (r *Ring) place(slot uint32, userData uint64) {
	if r.sqArray != nil {
		if r.big != nil {
			r.big[slot].UserData = userData
		} else {
			r.small[slot].UserData = userData
		}
		*(*uint32)(unsafe.Add(r.sqArray, uintptr(r.tail&r.sqMask)*4)) = slot
		r.tail++
		return
	}
	at := r.tail & r.sqMask
	if r.rewind {
		at = r.pending
		r.pending++
	} else {
		r.tail++
	}
	dst := unsafe.Add(r.sqes, uintptr(at)<<r.sqShift)
	if r.big != nil {
		r.big[slot].UserData = userData
		*(*BigSQE)(dst) = r.big[slot]
	} else {
		r.small[slot].UserData = userData
		*(*SQE)(dst) = r.small[slot]
	}
}

// rewindTo moves what enter left unsubmitted to the start of the queue.
func (r *Ring) rewindTo(submitted uint32) {
	size := uint32(1) << r.sqShift
	copy(r.sqeMem, r.sqeMem[submitted*size:r.pending*size])
	r.pending -= submitted
}

// cqeAt reads the completion entry at a position of the completion queue.
func (r *Ring) cqeAt(pos uint32) (userData uint64, res int32, result uint64) {
	p := unsafe.Add(r.cqes, uintptr(pos&r.cqMask)<<r.cqShift)
	c := (*uapi.CQE)(p)
	if r.cqShift == 5 {
		result = (*uapi.CQE32)(p).Big[0]
	}
	return c.UserData, c.Res, result
}
