package passthru

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/nvmepass/nvmepass/fixedbuf"
	"github.com/nvmepass/nvmepass/nvme"
)

// Do sends any I/O command of the namespace's command set and returns the 64
// bits of its result. data, of exactly cmd.DataLen bytes, goes to the drive or
// comes from it by the direction of the opcode; it may be any memory, and is
// not touched any more once Do has returned. Addresses in cmd are ignored.
//
// The command is held against the namespace first (nvme.Check): lengths, block
// count, range, namespace ID. What changes the drive needs Config.Writable; so
// do vendor commands, whose effect is not known.
//
// With ctx done Do returns early, and the command goes on by itself; nothing is
// sent if ctx was done before.
func (d *Device) Do(ctx context.Context, cmd nvme.Command, data []byte) (result uint64, err error) {
	return d.DoMetadata(ctx, cmd, data, nil)
}

// DoMetadata is Do with a separate metadata buffer, of exactly cmd.MetadataLen
// bytes.
func (d *Device) DoMetadata(ctx context.Context, cmd nvme.Command, data, metadata []byte) (result uint64, err error) {
	if err = stop(ctx); err == nil {
		err = d.checkCommand(&cmd, data, metadata)
	}
	var e *engine
	if err == nil {
		e, err = d.engine(ctx)
	}
	if err == nil {
		err = e.checkTimeout(&cmd)
	}
	if err == nil {
		result, err = e.do(ctx, &cmd, data, metadata)
	}
	if err != nil {
		return result, d.doError(&cmd, err)
	}
	return result, nil
}

func (d *Device) doError(cmd *nvme.Command, err error) error {
	return &OpError{Op: cmd.Opcode.Name(d.set), Path: d.Path(), Err: err}
}

func (d *Device) checkCommand(cmd *nvme.Command, data, metadata []byte) error {
	if !d.writable && ChangesDrive(d.set, cmd.Opcode) {
		return fmt.Errorf("%w: set Config.Writable", ErrReadOnly)
	}
	if uint64(len(data)) != uint64(cmd.DataLen) {
		return fmt.Errorf("%d bytes of data for a command that moves %d (data_len): they must agree", len(data), cmd.DataLen)
	}
	if uint64(len(metadata)) != uint64(cmd.MetadataLen) {
		return fmt.Errorf("%d bytes of metadata for a command that moves %d (metadata_len): they must agree", len(metadata), cmd.MetadataLen)
	}
	if cmd.MetadataLen > MaxMetadata {
		return fmt.Errorf("%d bytes of metadata: one command may move %d, because kernels were seen to crash above that; split it", cmd.MetadataLen, MaxMetadata)
	}
	return nvme.Check(cmd, d.layout, d.checks())
}

// checkTimeout refuses a command that the driver may leave longer than the
// ring, which would then be given up with all that is on it.
func (e *engine) checkTimeout(cmd *nvme.Command) error {
	if own := time.Duration(cmd.TimeoutMS) * time.Millisecond; own > e.limit && e.ioctl == nil {
		return fmt.Errorf("time-out of the command %v: it must not be above Config.StallLimit, which is %v: raise that", own, e.limit)
	}
	return nil
}

// harmless are the commands that leave data and state of a drive alone; the
// same number means different things in different command sets.
var harmless = map[nvme.CommandSet][]nvme.Opcode{
	nvme.SetNVM: {nvme.OpFlush, nvme.OpRead, nvme.OpCompare, nvme.OpVerify, nvme.OpReservationReport, nvme.OpIOMgmtRecv},
	nvme.SetZNS: {nvme.OpFlush, nvme.OpRead, nvme.OpCompare, nvme.OpVerify, nvme.OpReservationReport, nvme.OpIOMgmtRecv, nvme.OpZoneMgmtRecv},
	nvme.SetKV:  {nvme.OpFlush, nvme.OpKVRetrieve, nvme.OpKVList, nvme.OpKVExist, nvme.OpReservationReport},
}

// ChangesDrive tells whether an I/O command of a command set may change data or
// state of a drive: all may but those that are known to be harmless. A Device
// sends these only with Config.Writable.
func ChangesDrive(set nvme.CommandSet, op nvme.Opcode) bool {
	return !slices.Contains(harmless[set], op)
}

// do sends one checked command.
func (e *engine) do(ctx context.Context, cmd *nvme.Command, data, metadata []byte) (uint64, error) {
	slot, err := e.acquire(ctx)
	if err != nil {
		return 0, err
	}
	s := &e.slots[slot]
	if len(data) > len(e.data(slot)) {
		s.big, err = fixedbuf.New(fixedbuf.Config{Slots: 1, SlotSize: len(data)})
	}
	if err == nil && len(metadata) > len(e.metadata(slot)) {
		s.more, err = fixedbuf.New(fixedbuf.Config{Slots: 1, SlotSize: len(metadata)})
	}
	if err != nil {
		e.release(slot)
		return 0, err
	}
	s.cmd = *cmd
	// For reads as well: a drive may transfer less than it was offered, and
	// what it leaves alone must not be another command's.
	copy(e.data(slot), data)
	copy(e.metadata(slot), metadata)
	e.start(slot)
	held, err := e.wait(ctx, slot)
	if !held {
		return 0, err
	}
	result := s.result
	if err == nil && !cmd.IsWrite() {
		copy(data, e.data(slot))
		copy(metadata, e.metadata(slot))
	}
	e.release(slot)
	return result, err
}
