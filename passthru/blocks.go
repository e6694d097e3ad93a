package passthru

import (
	"context"
	"fmt"

	"github.com/nvmepass/nvmepass/nvme"
)

// ReadBlocks reads whole logical blocks from slba with their metadata, as one
// command. The length of data says how many: it is a multiple of the unit of
// BlockLayout(o.PRACT). metadata holds BlockLayout(o.PRACT).MetadataLen of
// that many blocks, so that it is empty unless the metadata has a buffer of its
// own. A transfer above Limits.MaxTransfer is refused and not split, because
// one command has one status and one initial reference tag.
//
// o says how protection information is made and checked: with PRACT the
// controller does it, without, the host (nvme.Layout.GeneratePI and VerifyPI),
// and PRCHK makes the controller check in both cases. o.Limits is ignored:
// the Device's own limits hold. Hint, FUA and LR are passed on.
func (d *Device) ReadBlocks(ctx context.Context, slba uint64, data, metadata []byte, o nvme.IOOptions) error {
	return d.blocks(ctx, nvme.OpRead, slba, data, metadata, o)
}

// WriteBlocks writes whole logical blocks with their metadata; see ReadBlocks.
func (d *Device) WriteBlocks(ctx context.Context, slba uint64, data, metadata []byte, o nvme.IOOptions) error {
	return d.blocks(ctx, nvme.OpWrite, slba, data, metadata, o)
}

// CompareBlocks has the drive compare whole logical blocks with data and
// metadata; see ReadBlocks. Nothing is written. A difference is an error that
// matches nvme.CompareFailure.
func (d *Device) CompareBlocks(ctx context.Context, slba uint64, data, metadata []byte, o nvme.IOOptions) error {
	return d.blocks(ctx, nvme.OpCompare, slba, data, metadata, o)
}

// BlockLayout is how blocks lie in the buffers of ReadBlocks and its like: the
// namespace's layout, and with pract that layout less protection information
// that the controller inserts and strips.
func (d *Device) BlockLayout(pract bool) nvme.Layout {
	if pract {
		return d.layout.UnderPRACT()
	}
	return d.layout
}

var blockCommands = map[nvme.Opcode]func(nsid uint32, l nvme.Layout, slba uint64, nlb uint32, o nvme.IOOptions) (nvme.Command, error){
	nvme.OpRead: nvme.NewRead, nvme.OpWrite: nvme.NewWrite, nvme.OpCompare: nvme.NewCompare,
}

func (d *Device) blocks(ctx context.Context, op nvme.Opcode, slba uint64, data, metadata []byte, o nvme.IOOptions) error {
	host := d.BlockLayout(o.PRACT)
	n, err := wholeBlocks(host, data)
	switch most := uint64(blocksPerCommand(host, d.limits.MaxTransfer)); {
	case err != nil:
		err = fmt.Errorf("data of %d bytes at block %#x: %w of layout %s", len(data), slba, err, d.layout)
	case n > most:
		err = fmt.Errorf("%d blocks at %#x: one command moves at most %d of layout %s (%d bytes%s); split them", n, slba, most, host, d.limits.MaxTransfer, metadataLimit(host))
	case uint64(len(metadata)) != host.MetadataLen(uint32(n)):
		err = fmt.Errorf("%d bytes of metadata for %d blocks at %#x: layout %s takes %d", len(metadata), n, slba, host, host.MetadataLen(uint32(n)))
	}
	var cmd nvme.Command
	if err == nil {
		o.Limits = d.checks()
		cmd, err = blockCommands[op](d.nsid, d.layout, slba, uint32(n), o)
	}
	if err != nil {
		return &OpError{Op: op.Name(d.set), Path: d.Path(), Err: err}
	}
	_, err = d.DoMetadata(ctx, cmd, data, metadata)
	return err
}

// wholeBlocks counts the blocks of a layout in data, at least one.
func wholeBlocks(host nvme.Layout, data []byte) (uint64, error) {
	if len(data) == 0 {
		return 0, fmt.Errorf("no data: give at least one block of %s bytes", unitText(host))
	}
	return host.Blocks(uint64(len(data)))
}

// metadataLimit is the other limit of a command where metadata is apart.
func metadataLimit(host nvme.Layout) string {
	if host.MetadataLen(1) == 0 {
		return ""
	}
	return fmt.Sprintf(" of data, %d of metadata", MaxMetadata)
}
