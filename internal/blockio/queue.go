package blockio

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"syscall"

	"github.com/nvmepass/nvmepass/fixedbuf"
	"github.com/nvmepass/nvmepass/internal/slotio"
	"github.com/nvmepass/nvmepass/internal/sys"
	"github.com/nvmepass/nvmepass/internal/uapi"
	"github.com/nvmepass/nvmepass/nvme"
	"github.com/nvmepass/nvmepass/passthru"
	"github.com/nvmepass/nvmepass/uringcmd"
)

// Queue is a fixed number of block reads or writes in flight.
type Queue struct {
	path     string
	writable bool
	core     *slotio.Queue

	lba       uint64 // logical block size in bytes
	blocks    uint64
	perBuffer uint32
	built     []uint64 // see passthru.Queue
	offsets   []uint64 // scratch of ReadTurns

	late    bool            // see passthru.Queue
	vectors *fixedbuf.Arena // an iovec for each slot, nil if commands carry none
}

// TransferError is a block command that failed.
type TransferError struct {
	Op     string // "read" or "write"
	Offset uint64 // in bytes
	Length uint32
	Res    int32 // of the completion: a byte count, or negative an errno
}

// Error implements error.
func (e *TransferError) Error() string {
	if e.Res < 0 {
		errno := syscall.Errno(-int64(e.Res))
		return fmt.Sprintf("block %s of %d bytes at offset %d: the kernel failed it: %v (errno %d)", e.Op, e.Length, e.Offset, errno, int(errno))
	}
	return fmt.Sprintf("block %s of %d bytes at offset %d: short transfer of %d bytes", e.Op, e.Length, e.Offset, e.Res)
}

// Unwrap returns the errno, io.ErrUnexpectedEOF for a short transfer.
func (e *TransferError) Unwrap() error {
	if e.Res < 0 {
		return syscall.Errno(-int64(e.Res))
	}
	return io.ErrUnexpectedEOF
}

// NewQueue makes a queue on the block nodes of devs, which must have logical
// blocks of one size: slot i belongs to devs[i % len(devs)]. It takes the same
// settings as passthru.NewSharedQueue. A polled queue is refused where the block
// layer may split its reads; see Unsplit.
func NewQueue(devs []*passthru.Device, cfg passthru.QueueConfig) (*Queue, error) {
	return makeQueue(devs, &cfg, false)
}

// NewSplitQueue is NewQueue for reads that the block layer may split also where
// completions are polled for. It must not be used on a kernel where SplitPolled
// gives an error: commands would never complete there.
func NewSplitQueue(devs []*passthru.Device, cfg passthru.QueueConfig) (*Queue, error) {
	return makeQueue(devs, &cfg, true)
}

func makeQueue(devs []*passthru.Device, cfg *passthru.QueueConfig, split bool) (*Queue, error) {
	q, err := newQueue(devs, cfg, split)
	if err != nil {
		var paths []string
		for _, d := range devs {
			paths = append(paths, cmp.Or(d.BlockPath(), d.Path()))
		}
		return nil, &passthru.OpError{Op: "make block queue on", Path: strings.Join(paths, " and "), Err: err}
	}
	return q, nil
}

func newQueue(devs []*passthru.Device, cfg *passthru.QueueConfig, split bool) (*Queue, error) {
	if len(devs) == 0 || cfg.Depth < len(devs) {
		return nil, fmt.Errorf("depth %d for %d devices: give at least one device, and each a slot", cfg.Depth, len(devs))
	}
	first := devs[0]
	t := target{
		file: slotio.File{Path: first.BlockPath(), Writable: first.Writable(), Direct: true},
		lba:  uint64(first.Layout().LBASize), blocks: first.Limits().Blocks,
	}
	for i, d := range devs {
		if d.BlockPath() == "" {
			return nil, fmt.Errorf("the namespace has no block node (layout %s): use the passthrough paths", d.Layout())
		}
		if d.Layout().LBASize != first.Layout().LBASize || d.Writable() != first.Writable() {
			return nil, fmt.Errorf("%s and %s differ in block size or in being writable: use a queue for each", first.BlockPath(), d.BlockPath())
		}
		if i > 0 {
			t.file.Also = append(t.file.Also, d.BlockPath())
			t.blocks = min(t.blocks, d.Limits().Blocks)
		}
		if !cfg.Poll {
			continue
		}
		if err := d.Poll().Check(); err != nil {
			return nil, err
		}
		if most := Unsplit(d.Limits()); uint64(cfg.BufferSize) > most && !split {
			return nil, fmt.Errorf("buffer size %d: the block layer may split reads of more than %d bytes here, and then does not poll for them: use smaller ones", cfg.BufferSize, most)
		}
	}
	return open(t, cfg)
}

// target is the file of a queue and its geometry.
type target struct {
	file   slotio.File
	lba    uint64 // logical block size in bytes
	blocks uint64
}

// maxTransfer is the longest read or write in bytes that the kernel does not
// cut short: MAX_RW_COUNT of include/linux/fs.h, with its largest page size.
const maxTransfer = 1<<31 - 1<<16

func open(t target, cfg *passthru.QueueConfig) (*Queue, error) {
	lba := t.lba
	if cfg.BufferSize == 0 {
		cfg.BufferSize = int(lba)
	}
	if cfg.Depth < 1 || cfg.Depth > passthru.MaxDepth {
		return nil, fmt.Errorf("depth %d: need 1 to %d", cfg.Depth, passthru.MaxDepth)
	}
	if cfg.BufferSize < 0 || uint64(cfg.BufferSize)%lba != 0 {
		return nil, fmt.Errorf("buffer size %d is not a multiple of the logical block size %d, as O_DIRECT needs", cfg.BufferSize, lba)
	}
	blocks := uint64(cfg.BufferSize) / lba
	if most := min(MaxBlocks(t.lba), t.blocks); blocks < 1 || blocks > most {
		return nil, fmt.Errorf("buffer size %d: need 1 to %d blocks of %d bytes (the namespace has %d)", cfg.BufferSize, most, lba, t.blocks)
	}
	q := &Queue{
		path: t.file.Path, writable: t.file.Writable, lba: lba, blocks: t.blocks, perBuffer: uint32(blocks),
		built: make([]uint64, cfg.Depth), late: cfg.Linear,
	}
	var err error
	if cfg.Vectored {
		if q.vectors, err = fixedbuf.New(fixedbuf.Config{Slots: cfg.Depth, SlotSize: iovecSize}); err != nil {
			return nil, fmt.Errorf("memory for iovecs: %w", err)
		}
	}
	if q.core, err = slotio.Open(t.file, slotio.Options(*cfg), q.prove); err != nil {
		return nil, errors.Join(err, q.closeVectors(nil))
	}
	return q, nil
}

// MaxBlocks is the most logical blocks of lba bytes in one command of a Queue:
// as many as a passthrough command can name, within what the kernel transfers
// at once.
func MaxBlocks(lba uint64) uint64 { return min(nvme.MaxNLB, maxTransfer/lba) }

// prove reads a whole buffer, as passthru.Queue does. Media errors do not
// matter here, so that only what blames the request is returned.
func (q *Queue) prove(core *slotio.Queue) error {
	q.core = core
	clear(q.built)
	if err := q.Read(0, 0, q.perBuffer); err != nil {
		return err
	}
	c, err := core.One()
	if err != nil {
		return fmt.Errorf("read at the start of the namespace to prove the buffers: %w", err)
	}
	err = q.Err(c)
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.EFAULT) || errors.Is(err, syscall.EOPNOTSUPP) {
		return err
	}
	clear(core.Bufs.Slot(0))
	return nil
}

// Unsplit is the longest read in bytes that the block layer sends in one piece,
// however the buffer's pages lie. It clears REQ_POLLED of a bio that it splits
// (block/blk-merge.c), so that the read would not be polled; and on 6.1.176 a
// polled ring waits for ever for such a read, into fixed and plain buffers alike.
func Unsplit(lim passthru.Limits) uint64 {
	most := uint64(math.MaxUint64)
	if lim.MaxHWSectors > 0 {
		most = lim.MaxHWSectors
	}
	if lim.MaxSegments > 0 {
		most = min(most, uint64(lim.MaxSegments)*uint64(sys.PageSize()))
	}
	return most
}

// Settings are what the queue really uses.
func (q *Queue) Settings() passthru.Settings {
	s := passthru.Settings(q.core.Settings())
	s.BlocksPerBuffer, s.Vectored = q.perBuffer, q.vectors != nil
	return s
}

// Depth is the number of slots.
func (q *Queue) Depth() int { return len(q.built) }

// Buffer is a slot's data buffer; see passthru.Queue.Buffer.
func (q *Queue) Buffer(slot int) []byte { return q.core.Data(slot) }

// Read publishes a read of nlb logical blocks from slba.
func (q *Queue) Read(slot int, slba uint64, nlb uint32) error {
	return q.publish(readOp, slot, slba, nlb)
}

// Write publishes a write from the slot's buffer.
func (q *Queue) Write(slot int, slba uint64, nlb uint32) error {
	if !q.writable {
		return &passthru.OpError{Op: "write to", Path: q.path, Err: fmt.Errorf("%w: set Config.Writable", passthru.ErrReadOnly)}
	}
	return q.publish(writeOp, slot, slba, nlb)
}

// ReadBatch publishes a read of nlb blocks for each slot, from the SLBA at the
// same place.
func (q *Queue) ReadBatch(slots []int, slbas []uint64, nlb uint32) error {
	if err := slotio.CheckBatch(slots, slbas); err != nil {
		return err
	}
	if q.readyToRead(slots, slbas, nlb) {
		n, err := q.core.Ring.PublishBatch(slots)
		q.address(slots[:n], slbas)
		return err
	}
	for i, slot := range slots {
		if err := q.publish(readOp, slot, slbas[i], nlb); err != nil {
			return err
		}
	}
	return nil
}

// ReadTurns goes round the loop of ReadBatch, Submit and Take; see
// passthru.Queue.ReadTurns.
func (q *Queue) ReadTurns(slbas []uint64, nlb uint32, l *uringcmd.Loop) (int, error) {
	if !q.allReads(slbas, nlb, l.Free) {
		return q.core.Ring.TurnBy(len(slbas), l, func(slots []int) error { return q.ReadBatch(slots, slbas[:len(slots)], nlb) })
	}
	if len(slbas) > len(q.offsets) {
		q.offsets = make([]uint64, len(slbas))
	}
	for i, slba := range slbas {
		q.offsets[i] = slba * q.lba
	}
	return q.core.Ring.Turns(q.offsets[:len(slbas)], offsetAt, l)
}

// allReads is that of passthru.Queue.
func (q *Queue) allReads(slbas []uint64, nlb uint32, free []int) bool {
	most := uint64(0)
	for _, slba := range slbas {
		most = max(most, slba)
	}
	if q.late || most > q.blocks-uint64(nlb) {
		return false
	}
	kind := uint64(readOp)<<32 | uint64(nlb)
	for _, slot := range free {
		if uint(slot) >= uint(len(q.built)) || q.core.Ring.Busy(slot) || q.built[slot] != kind && q.fill(readOp, slot, 0, nlb) != nil {
			return false
		}
	}
	return !slices.ContainsFunc(q.built, func(k uint64) bool { return k != kind })
}

// offsetAt is where an entry holds the offset (off of struct io_uring_sqe).
const offsetAt = 8

// readyToRead and address are those of passthru.Queue.
func (q *Queue) readyToRead(slots []int, slbas []uint64, nlb uint32) bool {
	if len(slots) != len(slbas) || len(slots) > len(q.offsets) || q.late {
		return false
	}
	built, kind, last := q.built, uint64(readOp)<<32|uint64(nlb), q.blocks-uint64(nlb)
	for i, slot := range slots {
		if uint(slot) >= uint(len(built)) || built[slot] != kind || slbas[i] > last {
			return false
		}
	}
	return true
}

func (q *Queue) address(slots []int, slbas []uint64) {
	ring, lba := q.core.Ring, q.lba
	for i, slot := range slots {
		ring.Entry(slot).Off = slbas[i] * lba
	}
}

// WriteBatch is ReadBatch for writes.
func (q *Queue) WriteBatch(slots []int, slbas []uint64, nlb uint32) error {
	if err := slotio.CheckBatch(slots, slbas); err != nil {
		return err
	}
	for i, slot := range slots {
		if err := q.Write(slot, slbas[i], nlb); err != nil {
			return err
		}
	}
	return nil
}

const (
	readOp  = 1
	writeOp = 2
)

func (q *Queue) publish(op uint32, slot int, slba uint64, nlb uint32) error {
	if kind := uint64(op)<<32 | uint64(nlb); uint(slot) < uint(len(q.built)) && q.built[slot] == kind && slba <= q.blocks-uint64(nlb) && !q.core.Ring.Busy(slot) {
		q.core.Ring.Entry(slot).Off = slba * q.lba
		return q.core.Ring.Publish(slot)
	}
	if err := q.fill(op, slot, slba, nlb); err != nil {
		return err
	}
	return q.core.Ring.Publish(slot)
}

// fill writes the slot's entry whole, after all checks.
func (q *Queue) fill(op uint32, slot int, slba uint64, nlb uint32) error {
	name := map[uint32]string{readOp: "block read", writeOp: "block write"}[op]
	if err := q.core.CheckSlot(slot); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	switch {
	case nlb == 0 || nlb > q.perBuffer:
		return fmt.Errorf("%s: %d blocks: the slot's buffer of %d bytes holds 1 to %d", name, nlb, q.core.Bufs.SlotSize(), q.perBuffer)
	case slba >= q.blocks || uint64(nlb) > q.blocks-slba:
		return fmt.Errorf("%s: %d blocks from %#x are beyond the namespace's %d blocks", name, nlb, slba, q.blocks)
	}
	length := nlb * uint32(q.lba)
	e := uringcmd.SQE{Off: slba * q.lba, Addr: q.core.Bufs.Addr(slot), Len: length}
	e.FD, e.Flags = q.core.Target(slot)
	index, fixed := q.core.Bufs.Fixed(slot, int(length))
	e.BufIndex = index
	if q.vectors != nil {
		vec := q.vectors.Slot(slot)
		binary.NativeEndian.PutUint64(vec, e.Addr)
		binary.NativeEndian.PutUint64(vec[8:], uint64(length))
		e.Addr, e.Len = q.vectors.Addr(slot), 1
	}
	e.Opcode = opcodeOf(op == writeOp, fixed, q.vectors != nil)
	*q.core.Ring.Entry(slot) = e
	q.built[slot] = uint64(op)<<32 | uint64(nlb)
	return nil
}

// iovecSize is sizeof(struct iovec).
const iovecSize = 16

func opcodeOf(write, fixed, vectored bool) uint8 {
	reads := map[[2]bool]uint8{{false, false}: uapi.OpRead, {true, false}: uapi.OpReadFixed, {false, true}: uapi.OpReadV, {true, true}: uapi.OpReadVFixed}
	writes := map[[2]bool]uint8{{false, false}: uapi.OpWrite, {true, false}: uapi.OpWriteFixed, {false, true}: uapi.OpWriteV, {true, true}: uapi.OpWriteVFixed}
	if write {
		return writes[[2]bool{fixed, vectored}]
	}
	return reads[[2]bool{fixed, vectored}]
}

// Submit sends everything published and waits; see uringcmd.Ring.Submit.
func (q *Queue) Submit(wait int) error { return q.core.Ring.Submit(wait) }

// Take takes up to len(dst) completions that are there already.
func (q *Queue) Take(dst []uringcmd.Completion) int { return q.core.Take(dst) }

// Ready counts the completions that Take would find.
func (q *Queue) Ready() int { return q.core.Ready() }

// Reap sends everything published and collects at least atLeast completions.
func (q *Queue) Reap(atLeast int, dst []uringcmd.Completion) (int, error) {
	return q.core.Reap(atLeast, dst)
}

// InFlight counts published commands that were not reaped yet.
func (q *Queue) InFlight() int { return q.core.Ring.InFlight() }

// Stats counts what happened on the queue's ring.
func (q *Queue) Stats() uringcmd.Stats { return q.core.Ring.Stats() }

// Err is nil if the whole length was transferred, else *TransferError. Call it
// before the slot is used again.
func (q *Queue) Err(c uringcmd.Completion) error {
	if err := q.core.CheckOpen(c.Slot); err != nil {
		return fmt.Errorf("completion with res %d: %w", c.Res, err)
	}
	e := q.core.Ring.Entry(c.Slot)
	length := uint32(q.built[c.Slot]) * uint32(q.lba)
	if c.Res >= 0 && uint32(c.Res) == length {
		return nil
	}
	op := "read"
	if q.built[c.Slot]>>32 == writeOp {
		op = "write"
	}
	return &TransferError{Op: op, Offset: e.Off, Length: length, Res: c.Res}
}

// OKResult is the Completion.Res of a transfer of a whole buffer; shorter
// commands go through Err.
func (q *Queue) OKResult() int32 { return int32(q.core.Bufs.SlotSize()) }

// CheckGuards reports a byte outside the buffers that was written to.
func (q *Queue) CheckGuards() error { return q.core.CheckGuards() }

// Close waits for all commands in flight and frees the queue; see
// passthru.Queue.Close.
func (q *Queue) Close() error {
	err := q.core.Close()
	if !q.core.Closed() {
		return err // it is another thread's, and still in use
	}
	clear(q.built)
	return q.closeVectors(err)
}

// closeVectors frees the iovecs after the ring, unless that left commands with
// the kernel.
func (q *Queue) closeVectors(err error) error {
	if q.vectors == nil {
		return err
	}
	if leak := (*uringcmd.LeakError)(nil); errors.As(err, &leak) {
		q.vectors.Leak()
	}
	return errors.Join(err, q.vectors.Close())
}
