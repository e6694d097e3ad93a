package passthru

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/nvmepass/nvmepass/fixedbuf"
	"github.com/nvmepass/nvmepass/internal/slotio"
	"github.com/nvmepass/nvmepass/internal/sys"
	"github.com/nvmepass/nvmepass/internal/uapi"
	"github.com/nvmepass/nvmepass/nvme"
	"github.com/nvmepass/nvmepass/uringcmd"
)

// Completion is one finished command; Queue.Err tells how it ended.
type Completion = uringcmd.Completion

// MaxDepth is the largest QueueConfig.Depth.
const MaxDepth = uringcmd.MaxSlots

// QueueConfig says what queue to make. The zero value of each field but Depth
// is a good default.
type QueueConfig struct {
	// Depth is the number of slots, 1 to MaxDepth: so many commands can be in
	// flight.
	Depth int
	// BufferSize is the size of each slot's data buffer in bytes, a multiple
	// of the layout's unit. 0 is one logical block.
	BufferSize int
	// Poll polls for completions. NewQueue fails with iopoll.ErrNoPollQueues
	// if the drive has no queue for that. Before Linux 6.6, a polled queue
	// refuses commands without data, and only one may poll a drive at a time:
	// such kernels can crash otherwise.
	Poll bool
	// PlainBuffers, PlainFile and PlainRing do without registered buffers,
	// file and ring descriptor.
	PlainBuffers, PlainFile, PlainRing bool
	// Guard surrounds every buffer with canaries; see Queue.CheckGuards.
	Guard bool
	// HugePages chooses the page size of the buffers.
	HugePages fixedbuf.HugePages
	// HoldP, StallLimit, Linear, Rewind, HybridPoll and SQPoll are
	// uringcmd.Config's.
	HoldP          bool
	StallLimit     time.Duration
	Linear, Rewind bool
	HybridPoll     bool
	SQPoll         *uringcmd.SQPoll
	// Vectored sends every Read and Write as a vectored command of one part.
	// With fixed buffers that needs Linux 6.16; before, buffers are plain.
	Vectored bool
	// Without is uringcmd.Config's.
	Without uringcmd.Flags
}

// Settings are what a queue really uses.
type Settings struct {
	Polled       bool
	FixedBuffers fixedbuf.Mode
	// FixedReason says why FixedBuffers is less than was asked for.
	FixedReason     string
	HugePages       bool
	Vectored        bool
	RegisteredFile  bool
	RegisteredRing  bool
	Requested       uringcmd.Flags // set-up flags asked for
	Flags           uringcmd.Flags // and those that the kernel accepted
	BufferSize      int
	BlocksPerBuffer uint32
}

// Queue is a fixed number of commands in flight on one namespace or on several
// of the same kind, for one owner. Between Submit and Reap nothing is allocated.
type Queue struct {
	dev   *Device   // stands for all of devs in what they have in common
	devs  []*Device // slot i belongs to devs[i % len(devs)]
	core  *slotio.Queue
	admin bool // of a controller's node: dev is nil

	host      nvme.Layout // as host memory sees a block
	options   nvme.IOOptions
	blocks    uint64 // in the smallest namespace
	perBuffer uint32 // blocks in one buffer
	vectored  bool   // reads and writes carry an iovec
	plain     string // why buffers are plain that were not asked to be
	onlyData  bool   // see pollsAnything
	fragile   bool   // counted in ExitCrashesKernel's
	// alike counts the slots that hold one kind, the only one if all do.
	alike struct {
		kind  uint64
		slots int
	}
	// late: an entry must be whole before it is published, because the ring
	// copies it then, because metadata buffers are written to first, or because
	// a tag follows the SLBA.
	late bool
	// built is what each slot's entry holds: see kindOf. A command of the same
	// kind then only needs its SLBA. 0 means to build it whole.
	built []uint64

	vectors *fixedbuf.Arena // iovecs of vectored commands, nil before the first
}

// slbaOffset is where an entry's command area holds the SLBA: CDW10 and CDW11,
// each a 32-bit word in host byte order, the low one first.
const slbaOffset = 40

// kindOf is all that tells one command of a queue from another beside slot and
// SLBA; any block count, valid or not, gives a value of its own. Never 0.
func kindOf(op nvme.Opcode, nlb uint32) uint64 { return uint64(op)<<32 | uint64(nlb) }

// NewQueue makes a queue that the calling goroutine owns: it stays locked to
// its OS thread until Close. A few reads at the start of the namespace prove
// which kind of fixed buffers this kernel can use.
func (d *Device) NewQueue(cfg QueueConfig) (*Queue, error) {
	q, err := d.newQueue(&cfg, []*Device{d})
	if err != nil {
		return nil, &OpError{Op: "make queue on", Path: d.Path(), Err: err}
	}
	return q, nil
}

// NewSharedQueue makes one queue, with one ring, for several namespaces, so that
// one thread drives them all: slot i belongs to devs[i % len(devs)], and an SLBA
// is one of that namespace. They must have the same layout and command set and
// must all be writable or all not; the limits of the strictest hold. Otherwise
// it is Device.NewQueue.
func NewSharedQueue(devs []*Device, cfg QueueConfig) (*Queue, error) {
	var paths []string
	for _, d := range devs {
		paths = append(paths, d.Path())
	}
	q, err := shared(devs, &cfg)
	if err != nil {
		return nil, &OpError{Op: "make queue on", Path: strings.Join(paths, " and "), Err: err}
	}
	return q, nil
}

func shared(devs []*Device, cfg *QueueConfig) (*Queue, error) {
	if len(devs) == 0 {
		return nil, errors.New("no devices: give at least one")
	}
	first, least := devs[0], devs[0]
	for _, d := range devs[1:] {
		switch {
		case d.layout != first.layout || d.set != first.set:
			return nil, fmt.Errorf("layout %s (%s) of %s differs from %s (%s) of %s: use a queue for each", d.layout, d.set, d.Path(), first.layout, first.set, first.Path())
		case d.writable != first.writable:
			return nil, errors.New("only some of the devices are open for writing: set Config.Writable for all or none")
		}
		if d.limits.MaxTransfer < least.limits.MaxTransfer {
			least = d
		}
	}
	if cfg.Depth < len(devs) {
		return nil, fmt.Errorf("depth %d: each of the %d devices needs a slot", cfg.Depth, len(devs))
	}
	return least.newQueue(cfg, devs)
}

// newQueue makes a queue on devs with the limits of d, one of them.
func (d *Device) newQueue(cfg *QueueConfig, devs []*Device) (*Queue, error) {
	blockCount := d.limits.Blocks
	for _, x := range devs {
		if x.closed() {
			return nil, os.ErrClosed
		}
		blockCount = min(blockCount, x.limits.Blocks)
	}
	host := d.layout.UnderPRACT()
	if cfg.Depth < 1 || cfg.Depth > MaxDepth {
		return nil, fmt.Errorf("depth %d: need 1 to %d", cfg.Depth, MaxDepth)
	}
	if cfg.BufferSize == 0 {
		cfg.BufferSize = int(host.Unit())
	}
	if cfg.BufferSize < 0 {
		return nil, fmt.Errorf("buffer size %d is negative", cfg.BufferSize)
	}
	blocks, err := host.Blocks(uint64(cfg.BufferSize))
	if err != nil {
		return nil, fmt.Errorf("buffer size %d: %w", cfg.BufferSize, err)
	}
	if most := blocksPerCommand(host, d.limits.MaxTransfer); blocks > uint64(most) {
		return nil, fmt.Errorf("buffer size %d is above the %d bytes (%d blocks) that one command can move (MDTS %s, kernel max_hw_sectors %s): use smaller commands",
			cfg.BufferSize, host.DataLen(most), most, limitText(d.limits.MDTS), limitText(d.limits.MaxHWSectors))
	}
	if blockCount < blocks {
		return nil, fmt.Errorf("buffer size %d: the namespace has %d blocks of %d bytes", cfg.BufferSize, blockCount, host.Unit())
	}
	if cfg.Poll {
		for _, x := range devs {
			if err := x.poll.Check(); err != nil {
				return nil, err
			}
		}
	}
	q := &Queue{
		dev: d, devs: devs, host: host, blocks: blockCount, perBuffer: uint32(blocks), built: make([]uint64, cfg.Depth), vectored: cfg.Vectored,
		late: cfg.Linear || host.MetadataLen(1) > 0 || d.layout.PI != nvme.PINone, onlyData: cfg.Poll && !pollsAnything(running()),
		options: nvme.IOOptions{
			PRACT:  d.layout.PI != nvme.PINone && host.PI == nvme.PINone,
			Limits: nvme.Limits{MaxTransfer: d.limits.MaxTransfer},
		},
	}
	var also []string
	for _, x := range devs[1:] {
		also = append(also, x.Path())
	}
	file := slotio.File{Path: devs[0].Path(), Also: also, Writable: d.writable, Big: true, MetadataSize: int(host.MetadataLen(q.perBuffer)), Kernel: d.kernel}
	if cfg.Vectored && !cfg.PlainBuffers && !fixedVectors(running()) {
		cfg.PlainBuffers, q.plain = true, noFixedVectors
	}
	if q.onlyData {
		q.fragile = true
		fragile.Add(1)
	}
	if q.core, err = slotio.Open(file, slotio.Options(*cfg), q.prove); err != nil {
		q.harmless(err)
		if errors.Is(err, syscall.EINVAL) && uint64(cfg.BufferSize) > d.limits.sureBytes() {
			err = fmt.Errorf("%w; %d bytes need up to %d segments and the driver takes %d: use buffers of at most %d bytes, or huge pages",
				err, cfg.BufferSize, cfg.BufferSize/sys.PageSize(), d.limits.MaxSegments, d.limits.sureBytes())
		}
		if q.vectors != nil {
			err = errors.Join(err, q.vectors.Close())
		}
		return nil, denyOpen(err)
	}
	return q, nil
}

// harmless takes a closed queue out of those that ExitCrashesKernel tells of,
// unless commands never came back.
func (q *Queue) harmless(closed error) {
	if q.fragile && !errors.As(closed, new(*uringcmd.LeakError)) {
		q.fragile = false
		fragile.Add(-1)
	}
}

// of is the namespace of a slot.
func (q *Queue) of(slot int) *Device { return q.devs[slot%len(q.devs)] }

// optionsFor are the options of a slot's reads and writes.
func (q *Queue) optionsFor(d *Device) nvme.IOOptions {
	o := q.options
	o.Limits.NSID, o.Limits.Blocks = d.nsid, d.limits.Blocks
	return o
}

func limitText(bytes uint64) string {
	if bytes == 0 {
		return "none"
	}
	return fmt.Sprint(bytes)
}

// prove reads one block and a whole buffer into the first slot of each
// namespace and the last one of all. Only
// the kernel's refusal counts: what the drive says of the blocks does not
// matter here.
func (q *Queue) prove(core *slotio.Queue) error {
	q.core = core
	q.forgetBuilt()
	last := core.Bufs.Slots() - 1
	for _, slot := range q.proofSlots(last) {
		for _, nlb := range []uint32{1, q.perBuffer} {
			if err := q.Read(slot, 0, nlb); err != nil {
				return err
			}
			c, err := core.One()
			if err != nil {
				return fmt.Errorf("read at the start of the namespace to prove the buffers: %w", err)
			}
			var refused *KernelError
			if err := q.Err(c); errors.As(err, &refused) {
				return err
			}
		}
	}
	for _, slot := range q.proofSlots(last) {
		clear(core.Bufs.Slot(slot))
	}
	return nil
}

func (q *Queue) proofSlots(last int) []int {
	slots := []int{}
	for i := range q.devs {
		slots = append(slots, i)
	}
	if last >= len(q.devs) {
		slots = append(slots, last)
	}
	return slots
}

// Settings are what the queue really uses.
func (q *Queue) Settings() Settings {
	s := Settings(q.core.Settings())
	s.BlocksPerBuffer, s.Vectored = q.perBuffer, q.vectored
	s.FixedReason = cmp.Or(s.FixedReason, q.plain)
	return s
}

// Depth is the number of slots, numbered from 0.
func (q *Queue) Depth() int { return len(q.built) }

// Buffer is a slot's data buffer. It is the caller's while the slot is free. It
// is nil after Close, and for a slot that the queue does not have.
func (q *Queue) Buffer(slot int) []byte { return q.core.Data(slot) }

// Metadata is a slot's metadata buffer where the layout keeps it apart from
// the data, else nil; see Buffer.
func (q *Queue) Metadata(slot int) []byte { return q.core.Metadata(slot) }

// Layout is how blocks lie in Buffer: the namespace's layout, less protection
// information that the controller inserts and strips (PRACT).
func (q *Queue) Layout() nvme.Layout { return q.host }

// Read publishes a read of nlb blocks (1 to Settings.BlocksPerBuffer) from slba
// into the slot's buffer. It is sent by the next Submit or Reap.
func (q *Queue) Read(slot int, slba uint64, nlb uint32) error {
	return q.publish(nvme.OpRead, slot, slba, nlb)
}

// Write publishes a write from the slot's buffer; see Read.
func (q *Queue) Write(slot int, slba uint64, nlb uint32) error {
	if !q.dev.writable {
		return &OpError{Op: "write to", Path: q.dev.Path(), Err: fmt.Errorf("%w: set Config.Writable", ErrReadOnly)}
	}
	return q.publish(nvme.OpWrite, slot, slba, nlb)
}

// ReadBatch publishes a read of nlb blocks for each slot, from the SLBA at the
// same place. It ends at the first that is refused; those before are published.
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
		if err := q.publish(nvme.OpRead, slot, slbas[i], nlb); err != nil {
			return err
		}
	}
	return nil
}

// ReadTurns goes round the loop of a program that only reads: a turn publishes
// a read of nlb blocks for as many of slbas as l.Batch says, submits, waits and
// takes completions. It is the shortest way there is; see uringcmd.Ring.Turns
// for when it returns, and with how many of slbas used. If a read is refused,
// those before it are sent by the next call.
func (q *Queue) ReadTurns(slbas []uint64, nlb uint32, l *uringcmd.Loop) (used int, err error) {
	if littleEndian && q.allReads(slbas, nlb, l.Free) {
		return q.core.Ring.Turns(slbas, commandAt+slbaOffset, l)
	}
	return q.core.Ring.TurnBy(len(slbas), l, func(slots []int) error { return q.ReadBatch(slots, slbas[:len(slots)], nlb) })
}

// allReads tells whether every slot's entry holds such a read, so that only the
// SLBA is missing, which is one of the namespace. It sees to it for free slots;
// those in flight can come back during the turns.
func (q *Queue) allReads(slbas []uint64, nlb uint32, free []int) bool {
	if q.late || highest(slbas) > q.blocks-uint64(nlb) {
		return false
	}
	kind := kindOf(nvme.OpRead, nlb)
	if q.alike.kind == kind && q.alike.slots == len(q.built) {
		return true
	}
	for _, slot := range free {
		if uint(slot) >= uint(len(q.built)) || q.core.Ring.Busy(slot) || q.fill(nvme.OpRead, slot, 0, nlb) != nil {
			return false
		}
	}
	return q.alike.kind == kind && q.alike.slots == len(q.built)
}

// highest is the highest SLBA, looked for in four lanes that do not wait for one
// another.
func highest(slbas []uint64) uint64 {
	var a, b, c, d uint64
	for ; len(slbas) >= 4; slbas = slbas[4:] {
		a, b, c, d = max(a, slbas[0]), max(b, slbas[1]), max(c, slbas[2]), max(d, slbas[3])
	}
	for _, slba := range slbas {
		a = max(a, slba)
	}
	return max(a, b, c, d)
}

// commandAt is where an entry holds its command.
const commandAt = 48

// littleEndian: CDW10 and CDW11 together are one word of this host.
var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// readyToRead tells whether each slot's entry holds such a read already, so that
// only the SLBA is missing, which is one of the namespace.
func (q *Queue) readyToRead(slots []int, slbas []uint64, nlb uint32) bool {
	if len(slots) != len(slbas) || q.late {
		return false
	}
	if highest(slbas) > q.blocks-uint64(nlb) {
		return false
	}
	kind := kindOf(nvme.OpRead, nlb)
	if q.alike.kind == kind && q.alike.slots == len(q.built) {
		return true // whichever slots these are
	}
	for _, slot := range slots {
		if uint(slot) >= uint(len(q.built)) || q.built[slot] != kind {
			return false
		}
	}
	return true
}

// setBuilt records what a slot's entry holds, 0 for anything else than a read or
// write that only needs its SLBA.
func (q *Queue) setBuilt(slot int, kind uint64) {
	a, old := &q.alike, q.built[slot]
	if old == kind {
		return
	}
	q.built[slot] = kind
	switch a.kind {
	case old:
		a.slots--
	case kind:
		a.slots++
	}
	if a.slots == 0 { // all slots have gone over to other kinds
		a.kind = kind
		for _, k := range q.built {
			if k == kind {
				a.slots++
			}
		}
	}
}

// forgetBuilt makes every command be built whole the next time.
func (q *Queue) forgetBuilt() {
	clear(q.built)
	q.alike.kind, q.alike.slots = 0, len(q.built)
}

// address puts the SLBAs into the entries of published slots, which the kernel
// does not see before the next Submit. In this order a slot that is refused,
// because it is busy or twice in the batch, keeps its entry.
func (q *Queue) address(slots []int, slbas []uint64) {
	ring := q.core.Ring
	for i, slot := range slots {
		cmd := &ring.BigEntry(slot).Cmd
		binary.NativeEndian.PutUint32(cmd[slbaOffset:], uint32(slbas[i]))
		binary.NativeEndian.PutUint32(cmd[slbaOffset+4:], uint32(slbas[i]>>32))
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

func (q *Queue) publish(op nvme.Opcode, slot int, slba uint64, nlb uint32) error {
	if uint(slot) < uint(len(q.built)) && q.built[slot] == kindOf(op, nlb) && slba <= q.blocks-uint64(nlb) && !q.core.Ring.Busy(slot) {
		cmd := &q.core.Ring.BigEntry(slot).Cmd
		if op == nvme.OpRead && q.core.Meta != nil {
			q.core.Meta.Dirty(slot, q.core.Meta.SlotSize())
		}
		binary.NativeEndian.PutUint32(cmd[slbaOffset:], uint32(slba))
		binary.NativeEndian.PutUint32(cmd[slbaOffset+4:], uint32(slba>>32))
		return q.core.Ring.Publish(slot)
	}
	if err := q.fill(op, slot, slba, nlb); err != nil {
		return err
	}
	return q.core.Ring.Publish(slot)
}

// fill writes the slot's entry whole. Everything is checked before the entry is
// touched.
func (q *Queue) fill(op nvme.Opcode, slot int, slba uint64, nlb uint32) error {
	if err := q.core.CheckSlot(slot); err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	if nlb > q.perBuffer {
		return fmt.Errorf("%s: %d blocks: the slot's buffer of %d bytes holds %d", op, nlb, q.core.Bufs.SlotSize(), q.perBuffer)
	}
	builder := nvme.NewRead
	if op == nvme.OpWrite {
		builder = nvme.NewWrite
	}
	d := q.of(slot)
	cmd, err := builder(d.nsid, d.layout, slba, nlb, q.optionsFor(d))
	if err != nil {
		return err
	}
	cmd.Addr = q.core.Bufs.Addr(slot)
	if cmd.MetadataLen != 0 {
		cmd.Metadata = metadataAddr(q.core.Meta, slot, &cmd)
	}
	e := uringcmd.BigSQE{Opcode: uapi.OpURingCmd, Off: uint64(uapi.NVMeURingCmdIO)}
	e.FD, e.Flags = q.core.Target(slot)
	if index, ok := q.core.Bufs.Fixed(slot, int(cmd.DataLen)); ok {
		e.OpFlags, e.BufIndex = uapi.URingCmdFixed, index
	}
	if q.vectored {
		if err := q.vector(slot, &cmd, q.core.Bufs.Slot(slot)[:cmd.DataLen]); err != nil {
			return err
		}
		e.Off = uint64(uapi.NVMeURingCmdIOVec)
	}
	if err := cmd.Image(e.Cmd[:]); err != nil {
		return err
	}
	*q.core.Ring.BigEntry(slot) = e
	kind := kindOf(op, nlb)
	if q.dev.layout.PI != nvme.PINone {
		kind = 0 // a tag follows the SLBA
	}
	q.setBuilt(slot, kind)
	return nil
}

// Submit sends everything published and waits until at least wait completions
// can be reaped; see uringcmd.Ring.Submit.
func (q *Queue) Submit(wait int) error { return q.core.Ring.Submit(wait) }

// Take takes up to len(dst) completions that are there already.
func (q *Queue) Take(dst []Completion) int { return q.core.Take(dst) }

// Ready counts the completions that Take would find.
func (q *Queue) Ready() int { return q.core.Ready() }

// Reap sends everything published and collects at least atLeast completions
// (less if fewer are in flight) and at most len(dst).
func (q *Queue) Reap(atLeast int, dst []Completion) (int, error) { return q.core.Reap(atLeast, dst) }

// InFlight counts published commands that were not reaped yet.
func (q *Queue) InFlight() int { return q.core.Ring.InFlight() }

// Stats counts what happened on the queue's ring.
func (q *Queue) Stats() uringcmd.Stats { return q.core.Ring.Stats() }

// Err is nil if the command of a completion succeeded, else *KernelError or
// *nvme.StatusError. Call it before the slot is used again: it reads the
// command from the slot.
func (q *Queue) Err(c Completion) error {
	if c.Res == 0 {
		return nil
	}
	if err := q.core.CheckOpen(c.Slot); err != nil {
		return fmt.Errorf("completion with res %d: %w", c.Res, err)
	}
	cmd, err := nvme.DecodeCommand(q.core.Ring.BigEntry(c.Slot).Cmd[:])
	if err != nil {
		return err
	}
	d := q.of(c.Slot)
	return deny(d.missing(resultError(c.Res, c.Result, &cmd, d.set)), &cmd, d.set, d.writable)
}

// OKResult is the Completion.Res of a command that succeeded.
func (q *Queue) OKResult() int32 { return 0 }

// CheckGuards reports a byte outside the buffers that was written to; see
// QueueConfig.Guard. No command may be in flight.
func (q *Queue) CheckGuards() error { return q.core.CheckGuards() }

// Close waits for all commands in flight and frees the queue. If some do not
// come back, their memory stays mapped and the error is a *uringcmd.LeakError.
func (q *Queue) Close() error {
	err := q.core.Close()
	if !q.core.Closed() {
		return err // it is another thread's, and still in use
	}
	q.forgetBuilt()
	q.harmless(err)
	if q.vectors != nil {
		if leak := (*uringcmd.LeakError)(nil); errors.As(err, &leak) {
			q.vectors.Leak()
		}
		err = errors.Join(err, q.vectors.Close())
	}
	return err
}
