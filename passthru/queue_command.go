package passthru

import (
	"encoding/binary"
	"fmt"

	"github.com/nvmepass/nvmepass/fixedbuf"
	"github.com/nvmepass/nvmepass/internal/uapi"
	"github.com/nvmepass/nvmepass/nvme"
	"github.com/nvmepass/nvmepass/uringcmd"
)

// Do publishes any command of the namespace's command set, with the slot's
// buffers for data and metadata; addresses in cmd are ignored. It is held
// against the slot's namespace first, as Device.Do has it. Completion.Result is the
// command's result, such as the LBA of an append.
func (q *Queue) Do(slot int, cmd nvme.Command) error {
	if err := q.core.CheckSlot(slot); err != nil {
		return err
	}
	d := q.of(slot)
	if !d.writable && ChangesDrive(d.set, cmd.Opcode) {
		return &OpError{Op: cmd.Opcode.Name(d.set) + " on", Path: d.Path(), Err: fmt.Errorf("%w: set Config.Writable", ErrReadOnly)}
	}
	if have := len(q.Buffer(slot)); uint64(cmd.DataLen) > uint64(have) {
		return fmt.Errorf("%s: %d bytes of data: the slot's buffer holds %d", cmd.Opcode.Name(d.set), cmd.DataLen, have)
	}
	if have := len(q.Metadata(slot)); uint64(cmd.MetadataLen) > uint64(have) { // which is MaxMetadata at most
		return fmt.Errorf("%s: %d bytes of metadata: the slot's buffer holds %d", cmd.Opcode.Name(d.set), cmd.MetadataLen, have)
	}
	if err := nvme.Check(&cmd, d.layout, d.checks()); err != nil {
		return err
	}
	if err := q.checkPolled(&cmd); err != nil {
		return err
	}
	return q.send(slot, &cmd, 0, 0)
}

// maxParts bounds a vectored command: a page of iovecs per slot.
const maxParts = 256

// ReadVec publishes a read from slba whose data is scattered over parts, which
// must lie in buffers of this queue (Queue.Buffer) whose slots are free until
// the completion. Together they are whole blocks; 1 to 256 of them. Metadata
// that is apart from data goes to the slot's Metadata.
//
// Parts that do not begin and end at page boundaries may be copied by the
// kernel.
func (q *Queue) ReadVec(slot int, slba uint64, parts [][]byte) error {
	return q.scattered(nvme.OpRead, slot, slba, parts)
}

// WriteVec publishes a write at slba gathered from parts; see ReadVec.
func (q *Queue) WriteVec(slot int, slba uint64, parts [][]byte) error {
	if !q.dev.writable {
		return &OpError{Op: "write to", Path: q.dev.Path(), Err: fmt.Errorf("%w: set Config.Writable", ErrReadOnly)}
	}
	return q.scattered(nvme.OpWrite, slot, slba, parts)
}

func (q *Queue) scattered(op nvme.Opcode, slot int, slba uint64, parts [][]byte) error {
	if err := q.core.CheckSlot(slot); err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	if len(parts) == 0 || len(parts) > maxParts {
		return fmt.Errorf("%s: %d parts: need 1 to %d", op, len(parts), maxParts)
	}
	var total uint64
	for i, p := range parts {
		if !q.core.Bufs.Holds(p) {
			return fmt.Errorf("%s: part %d of %d bytes does not lie in a buffer of this queue: take it from Queue.Buffer", op, i, len(p))
		}
		total += uint64(len(p))
	}
	blocks, err := q.host.Blocks(total)
	if err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	if most := blocksPerCommand(q.host, q.dev.limits.MaxTransfer); blocks > uint64(most) {
		return fmt.Errorf("%s: %d blocks in %d parts: one command moves at most %d", op, blocks, len(parts), most)
	}
	builder := nvme.NewRead
	if op == nvme.OpWrite {
		builder = nvme.NewWrite
	}
	d := q.of(slot)
	cmd, err := builder(d.nsid, d.layout, slba, uint32(blocks), q.optionsFor(d))
	if err != nil {
		return err
	}
	if have := len(q.Metadata(slot)); uint64(cmd.MetadataLen) > uint64(have) {
		return fmt.Errorf("%s: %d bytes of metadata: the slot's buffer holds %d", op, cmd.MetadataLen, have)
	}
	if cmd.MetadataLen != 0 {
		cmd.Metadata = metadataAddr(q.core.Meta, slot, &cmd)
	}
	if err := q.vector(slot, &cmd, parts...); err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	e := uringcmd.BigSQE{Opcode: uapi.OpURingCmd, Off: uint64(uapi.NVMeURingCmdIOVec)}
	e.FD, e.Flags = q.core.Target(slot)
	if err := cmd.Image(e.Cmd[:]); err != nil {
		return err
	}
	*q.core.Ring.BigEntry(slot) = e
	q.setBuilt(slot, 0)
	return q.core.Ring.Publish(slot)
}

// vector makes cmd a vectored command: it fills the slot's table with parts.
func (q *Queue) vector(slot int, cmd *nvme.Command, parts ...[]byte) (err error) {
	if q.vectors == nil {
		if q.vectors, err = fixedbuf.New(fixedbuf.Config{Slots: q.Depth(), SlotSize: maxParts * iovecSize}); err != nil {
			return fmt.Errorf("memory for iovecs: %w", err)
		}
	}
	table := q.vectors.Slot(slot)
	for i, p := range parts {
		binary.NativeEndian.PutUint64(table[i*iovecSize:], fixedbuf.AddressOf(p))
		binary.NativeEndian.PutUint64(table[i*iovecSize+8:], uint64(len(p)))
	}
	// In a vectored command these two are the table and its length.
	cmd.Addr, cmd.DataLen = q.vectors.Addr(slot), uint32(len(parts))
	return nil
}

// iovecSize is sizeof(struct iovec) on 64-bit kernels, which is what the
// NVMe driver reads for a 64-bit process.
const iovecSize = 16
