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
			n := min(r.Blocks, d.deallocateRange())
			all = append(all, nvme.DSMRange{SLBA: r.SLBA, NLB: uint32(n)})
			r.SLBA, r.Blocks = r.SLBA+n, r.Blocks-n
		}
	}
	for len(all) > 0 {
		batch := d.deallocateBatch(all)
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

// deallocateRange is the most blocks of one range. A drive may skip longer
// ones without a word (DMRSL of the NVM command set's Identify Controller).
func (d *Device) deallocateRange() uint64 {
	most := uint64(1<<32 - 1)
	if d.nvm.DMRSL != 0 {
		most = uint64(d.nvm.DMRSL)
	}
	if d.nvm.DMSL != 0 {
		most = min(most, d.nvm.DMSL)
	}
	return most
}

// deallocateBatch is how many of the ranges one command takes: DMRL ranges of
// DMSL blocks together.
func (d *Device) deallocateBatch(all []nvme.DSMRange) []nvme.DSMRange {
	most := min(len(all), nvme.MaxDSMRanges)
	if d.nvm.DMRL != 0 {
		most = min(most, int(d.nvm.DMRL))
	}
	blocks := uint64(0)
	for i, r := range all[:most] {
		if blocks += uint64(r.NLB); i > 0 && d.nvm.DMSL != 0 && blocks > d.nvm.DMSL {
			return all[:i]
		}
	}
	return all[:most]
}

// zeroBlocks is the most blocks of one write zeroes command. Drives apply MDTS
// to it unless they name a limit of its own.
func (d *Device) zeroBlocks(deallocate bool) uint32 {
	most := d.nvm.MaxWriteZeroes(0)
	if deallocate {
		most = d.nvm.MaxDeallocatingWriteZeroes(0)
	}
	switch {
	case most != 0:
		return uint32(max(1, min(nvme.MaxNLB, most/uint64(d.layout.LBASize))))
	case d.limits.MaxTransfer != 0:
		return min(nvme.MaxNLB, max(1, d.limits.MaxBlocks))
	}
	return nvme.MaxNLB
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
		n := uint32(min(r.Blocks, uint64(d.zeroBlocks(deallocate))))
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
// command of at most Limits.MaxAppend bytes.
func (d *Device) Append(ctx context.Context, zslba uint64, data []byte) (slba uint64, err error) {
	if d.set != nvme.SetZNS {
		return 0, &OpError{Op: "append to", Path: d.Path(), Err: errors.New("the namespace is not zoned: use WriteAt")}
	}
	blocks, err := wholeBlocks(d.DataLayout(), data)
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
