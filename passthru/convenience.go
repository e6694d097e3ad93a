package passthru

import (
	"context"
	"errors"
	"fmt"

	"github.com/nvmepass/nvmepass/nvme"
)

// Flush makes every write that has completed durable.
func (d *Device) Flush(ctx context.Context) error {
	_, err := d.Do(ctx, nvme.NewFlush(d.nsid), nil)
	return err
}

// Range is a run of logical blocks.
type Range struct {
	SLBA, Blocks uint64
}

// check returns nil if the range lies within the namespace.
func (d *Device) check(r Range) error {
	if r.Blocks == 0 || r.SLBA >= d.limits.Blocks || r.Blocks > d.limits.Blocks-r.SLBA {
		return fmt.Errorf("%d blocks from %#x: need at least 1, within the namespace's %d blocks", r.Blocks, r.SLBA, d.limits.Blocks)
	}
	return nil
}

// Deallocate tells the drive that the data of the ranges is no longer needed
// (dataset management). It is a hint: what reads return afterwards is said by
// IdentifyNamespace.DLFEAT.
func (d *Device) Deallocate(ctx context.Context, ranges ...Range) error {
	var all []nvme.DSMRange
	for _, r := range ranges {
		if err := d.check(r); err != nil {
			return &OpError{Op: "deallocate on", Path: d.Path(), Err: err}
		}
		for r.Blocks > 0 {
			n := min(r.Blocks, 1<<32-1)
			all = append(all, nvme.DSMRange{SLBA: r.SLBA, NLB: uint32(n)})
			r.SLBA, r.Blocks = r.SLBA+n, r.Blocks-n
		}
	}
	for len(all) > 0 {
		batch := all[:min(len(all), nvme.MaxDSMRanges)]
		all = all[len(batch):]
		cmd, err := nvme.NewDSM(d.nsid, batch, nvme.DSMDeallocate, d.checks())
		if err != nil {
			return &OpError{Op: "deallocate on", Path: d.Path(), Err: err}
		}
		var data []byte
		for _, r := range batch {
			data = r.AppendTo(data)
		}
		if _, err := d.Do(ctx, cmd, data); err != nil {
			return err
		}
	}
	return nil
}

// WriteZeroes sets a range to zeros without moving data, in as many commands
// as it takes; with deallocate the drive may deallocate it as well (DEAC).
func (d *Device) WriteZeroes(ctx context.Context, r Range, deallocate bool) error {
	if err := d.check(r); err != nil {
		return &OpError{Op: "write zeroes on", Path: d.Path(), Err: err}
	}
	options := nvme.IOOptions{Limits: d.checks()}
	options.PRACT = d.layout.PI != nvme.PINone // the drive makes the protection information
	for r.Blocks > 0 {
		n := uint32(min(r.Blocks, nvme.MaxNLB))
		if d.limits.MaxTransfer != 0 { // drives apply MDTS to it unless they say otherwise
			n = min(n, max(1, d.limits.MaxBlocks))
		}
		cmd, err := nvme.NewWriteZeroes(d.nsid, d.layout, r.SLBA, n, deallocate, options)
		if err != nil {
			return &OpError{Op: "write zeroes on", Path: d.Path(), Err: err}
		}
		if _, err := d.Do(ctx, cmd, nil); err != nil {
			return err
		}
		r.SLBA, r.Blocks = r.SLBA+uint64(n), r.Blocks-uint64(n)
	}
	return nil
}

// Append writes data, whole blocks of DataLayout, at the write pointer of the
// zone that starts at zslba, and returns the SLBA where it went. It is one
// command, which the drive's zone append limit bounds.
func (d *Device) Append(ctx context.Context, zslba uint64, data []byte) (slba uint64, err error) {
	if d.set != nvme.SetZNS {
		return 0, &OpError{Op: "append to", Path: d.Path(), Err: errors.New("the namespace is not zoned: use WriteAt")}
	}
	blocks, err := d.DataLayout().Blocks(uint64(len(data)))
	if err == nil && blocks > nvme.MaxNLB {
		err = fmt.Errorf("%d blocks: one command appends at most %d", blocks, nvme.MaxNLB)
	}
	if err != nil {
		return 0, &OpError{Op: "append to", Path: d.Path(), Err: err}
	}
	options := nvme.IOOptions{Limits: d.checks()}
	options.PRACT = d.layout.PI != nvme.PINone && d.DataLayout().PI == nvme.PINone
	cmd, err := nvme.NewZoneAppend(d.nsid, d.layout, zslba, uint32(blocks), options)
	if err != nil {
		return 0, &OpError{Op: "append to", Path: d.Path(), Err: err}
	}
	return d.DoMetadata(ctx, cmd, data, make([]byte, cmd.MetadataLen))
}
