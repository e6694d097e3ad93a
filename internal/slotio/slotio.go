// Package slotio is what a queue of NVMe commands and a queue of block reads
// have in common: a file, a ring with slots, a buffer per slot, and their setting
// up and tearing down in the one order that is safe. Packages passthru and
// blockio put their own submission entries into the slots.
//
// A Queue belongs to the goroutine that opened it.
package slotio

import (
	"errors"
	"fmt"
	"time"

	"github.com/nvmepass/nvmepass/fixedbuf"
	"github.com/nvmepass/nvmepass/internal/sys"
	"github.com/nvmepass/nvmepass/internal/sysfs"
	"github.com/nvmepass/nvmepass/internal/uapi"
	"github.com/nvmepass/nvmepass/internal/unclosed"
	"github.com/nvmepass/nvmepass/iopoll"
	"github.com/nvmepass/nvmepass/uringcmd"
)

// Options has the fields of passthru.QueueConfig, where they are documented.
type Options struct {
	Depth                              int
	BufferSize                         int
	Poll                               bool
	PlainBuffers, PlainFile, PlainRing bool
	Guard                              bool
	HugePages                          fixedbuf.HugePages
	HoldP                              bool
	StallLimit                         time.Duration
	Linear, Rewind                     bool
	HybridPoll                         bool
	SQPoll                             *uringcmd.SQPoll
	Vectored                           bool
	Without                            uringcmd.Flags
}

// Settings has the fields of passthru.Settings, where they are documented.
type Settings struct {
	Polled          bool
	FixedBuffers    fixedbuf.Mode
	FixedReason     string
	HugePages       bool
	Vectored        bool
	RegisteredFile  bool
	RegisteredRing  bool
	Requested       uringcmd.Flags
	Flags           uringcmd.Flags
	BufferSize      int
	BlocksPerBuffer uint32
}

// File is what to open, and the shape of the ring for it.
type File struct {
	Path             string
	Writable, Direct bool
	// Also names further files of the same kind: with n files in all, slot i
	// belongs to file i mod n.
	Also []string
	// Big asks for 128-byte submission and 32-byte completion entries.
	Big bool
	// MetadataSize is the size in bytes of a second buffer per slot, 0 for
	// none.
	MetadataSize int
	// Kernel replaces the running kernel's io_uring in fault tests.
	Kernel sys.RingKernel
}

// Queue is an open file with a ring and buffers.
type Queue struct {
	Ring *uringcmd.Ring
	Bufs *fixedbuf.Buffers
	Meta *fixedbuf.Arena // nil without File.MetadataSize

	path   string
	fds    []int
	waiter iopoll.Waiter
	plain  bool // the file is not registered
	polled bool
	closed bool
	mark   *unclosed.Mark
}

var queues = unclosed.NewKind("Queue")

// Open opens the file and makes ring and buffers. prove performs real reads
// with q.Bufs as they then are, and says how the kernel took them: EINVAL or
// EFAULT makes Open fall back to a lesser kind of registration. The error of
// the last try is returned.
func Open(f File, o Options, prove func(q *Queue) error) (*Queue, error) {
	q := &Queue{path: f.Path, plain: o.PlainFile, polled: o.Poll}
	if err := q.open(f, o, prove); err != nil {
		return nil, errors.Join(err, q.Close())
	}
	if unclosed.On() {
		q.mark = unclosed.Opened(queues, q, f.Path)
	}
	return q, nil
}

func (q *Queue) open(f File, o Options, prove func(q *Queue) error) (err error) {
	for _, path := range append([]string{f.Path}, f.Also...) {
		fd, err := sys.OpenDevice(path, f.Writable, f.Direct)
		if err != nil {
			return sysfs.OpenError(path, err)
		}
		q.fds = append(q.fds, fd)
	}
	if q.Ring, err = uringcmd.New(uringcmd.Config{
		Slots: o.Depth, Big: f.Big, IOPoll: o.Poll, Linear: o.Linear, Rewind: o.Rewind, Without: o.Without,
		HybridPoll: o.HybridPoll, SQPoll: o.SQPoll, NoRegisteredRing: o.PlainRing, HoldP: o.HoldP, StallLimit: o.StallLimit, Kernel: f.Kernel,
	}); err != nil {
		return err
	}
	if !o.PlainFile {
		if err := q.Ring.RegisterFiles(q.fds); err != nil {
			return err
		}
	}
	if err := q.Ring.Enable(); err != nil {
		return err
	}
	q.waiter = iopoll.NewWaiter(q.Ring)
	if f.MetadataSize > 0 {
		if q.Meta, err = fixedbuf.New(fixedbuf.Config{Slots: o.Depth, SlotSize: f.MetadataSize, Guard: o.Guard}); err != nil {
			return err
		}
	}
	arena := fixedbuf.Config{Slots: o.Depth, SlotSize: o.BufferSize, Guard: o.Guard, HugePages: o.HugePages}
	var proved error
	try := func(b *fixedbuf.Buffers) error {
		q.Bufs = b
		proved = prove(q)
		return proved
	}
	if o.PlainBuffers {
		q.Bufs, err = fixedbuf.BindPlain(arena)
	} else {
		q.Bufs, err = fixedbuf.Bind(q.Ring, arena, try)
	}
	if err == nil && q.Bufs.Mode() == fixedbuf.Plain {
		err = try(q.Bufs)
	}
	if err != nil {
		return err
	}
	return proved
}

// Closed tells whether Close was called.
func (q *Queue) Closed() bool { return q.closed }

// Data is a slot's data buffer, nil after Close or if there is no such slot.
func (q *Queue) Data(slot int) []byte {
	if q.closed || uint(slot) >= uint(q.Bufs.Slots()) {
		return nil
	}
	return q.Bufs.Slot(slot)
}

// Metadata is a slot's metadata buffer, nil if there is none; see Data.
func (q *Queue) Metadata(slot int) []byte {
	if q.closed || q.Meta == nil || uint(slot) >= uint(q.Meta.Slots()) {
		return nil
	}
	return q.Meta.Slot(slot)
}

// Target is a slot's file as an entry names it: descriptor or index, and the
// flag that tells which.
func (q *Queue) Target(slot int) (fd int32, flags uint8) {
	i := slot % len(q.fds)
	if q.plain {
		return int32(q.fds[i]), 0
	}
	return int32(i), uapi.SQEFixedFile
}

// CheckOpen returns nil if the queue is open and has the slot.
func (q *Queue) CheckOpen(slot int) error {
	switch {
	case q.closed:
		return fmt.Errorf("queue on %s: %w", q.path, uringcmd.ErrClosed)
	case uint(slot) >= uint(q.Ring.Slots()):
		return fmt.Errorf("slot %d: the queue has slots 0 to %d", slot, q.Ring.Slots()-1)
	}
	return nil
}

// CheckSlot returns nil if a command can be built in the slot.
func (q *Queue) CheckSlot(slot int) error {
	if err := q.CheckOpen(slot); err != nil {
		return err
	}
	if q.Ring.Busy(slot) {
		return fmt.Errorf("slot %d: %w: reap its completion first", slot, uringcmd.ErrSlotBusy)
	}
	return nil
}

// CheckBatch returns nil if each slot of a batch has its address.
func CheckBatch(slots []int, slbas []uint64) error {
	if len(slots) != len(slbas) {
		return fmt.Errorf("batch of %d slots and %d addresses: give one address per slot", len(slots), len(slbas))
	}
	return nil
}

// Take takes up to len(dst) completions that are there already; none after
// Close, when the ring's memory is gone.
func (q *Queue) Take(dst []uringcmd.Completion) int {
	if q.closed {
		return 0
	}
	return q.Ring.Reap(dst)
}

// Ready counts the completions that Take would find.
func (q *Queue) Ready() int {
	if q.closed {
		return 0
	}
	return q.Ring.Ready()
}

// Settings are what the queue really uses; BlocksPerBuffer is the caller's to
// fill.
func (q *Queue) Settings() Settings {
	return Settings{
		Polled: q.polled, FixedBuffers: q.Bufs.Mode(), FixedReason: q.Bufs.Reason(), HugePages: q.Bufs.Huge(),
		RegisteredFile: !q.plain, RegisteredRing: q.Ring.Registered(),
		Requested: q.Ring.Requested(), Flags: q.Ring.Flags(), BufferSize: q.Bufs.SlotSize(),
	}
}

// Reap submits everything published and collects completions; see
// iopoll.Waiter.
func (q *Queue) Reap(atLeast int, dst []uringcmd.Completion) (int, error) {
	return q.waiter.Reap(atLeast, dst)
}

// One submits the one published command and waits for it.
func (q *Queue) One() (uringcmd.Completion, error) {
	var done [1]uringcmd.Completion
	n, err := q.waiter.Reap(1, done[:])
	if err == nil && n != 1 {
		err = errors.New("the command did not complete")
	}
	return done[0], err
}

// CheckGuards reports a byte outside the buffers that was written to.
func (q *Queue) CheckGuards() error {
	if q.closed {
		return fmt.Errorf("check guards: queue on %s: %w", q.path, uringcmd.ErrClosed)
	}
	if q.Meta != nil {
		if err := q.Meta.CheckGuards(); err != nil {
			return fmt.Errorf("metadata: %w", err)
		}
	}
	return q.Bufs.CheckGuards()
}

// KeepMemory leaves the buffers mapped for good: Close no longer frees them.
func (q *Queue) KeepMemory() {
	if q.Bufs != nil {
		q.Bufs.Leak()
	}
	if q.Meta != nil {
		q.Meta.Leak()
	}
}

// Close waits for all commands in flight, closes the ring, and only then frees
// the buffers and closes the file. If commands do not come back, the buffers
// stay mapped and the error is a *uringcmd.LeakError. Calling it again does
// nothing.
func (q *Queue) Close() error {
	if q.closed {
		return nil
	}
	var errs []error
	if q.Ring != nil {
		err := q.Ring.Close()
		if errors.Is(err, uringcmd.ErrWrongThread) {
			return err
		}
		errs = append(errs, err)
		if leak := (*uringcmd.LeakError)(nil); errors.As(err, &leak) {
			q.KeepMemory()
		}
	}
	q.closed = true
	q.mark.Closed()
	if q.Bufs != nil {
		errs = append(errs, q.Bufs.Close())
	}
	if q.Meta != nil {
		errs = append(errs, q.Meta.Close())
	}
	for _, fd := range q.fds {
		errs = append(errs, sys.Close(fd))
	}
	return errors.Join(errs...)
}
