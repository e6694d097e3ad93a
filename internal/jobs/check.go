package jobs

import (
	"fmt"
	"strconv"

	"github.com/nvmepass/nvmepass/internal/badflag"
	"github.com/nvmepass/nvmepass/internal/blockio"
	"github.com/nvmepass/nvmepass/internal/sys"
	"github.com/nvmepass/nvmepass/internal/workload"
	"github.com/nvmepass/nvmepass/iopoll"
	"github.com/nvmepass/nvmepass/nvme"
	"github.com/nvmepass/nvmepass/passthru"
)

// Namespace is what Check asks of a *passthru.Device.
type Namespace interface {
	Path() string
	BlockPath() string
	Layout() nvme.Layout
	Limits() passthru.Limits
	Poll() iopoll.Support
	CommandSet() nvme.CommandSet
	Controller() *nvme.IdentifyController
}

// Check says whether a valid Config can run on its devices, in their order, and
// chooses what it left open: the block size and the number of jobs. It does no
// I/O.
func Check(c *Config, devs []Namespace) error {
	for i, d := range devs {
		for k := range i {
			if devs[k].Path() == d.Path() {
				return &badflag.Error{Flag: "DEVICE", Problem: fmt.Sprintf("%s and %s are the same namespace", c.Devices[k], c.Devices[i]), Remedy: "give one of them; --numjobs makes several rings on it"}
			}
		}
	}
	chosen := false
	for _, d := range devs {
		unit := int(c.unit(d))
		switch {
		case c.BlockSize == 0:
			c.BlockSize, chosen = unit, true
		case chosen && c.BlockSize != unit:
			return &badflag.Error{Flag: "--bs", Problem: fmt.Sprintf("the devices have logical blocks of %d and %d bytes", c.BlockSize, unit), Remedy: "give one size that is a multiple of both"}
		}
	}
	c.Jobs = c.jobs()
	if c.IOSize > 0 {
		if c.Number = c.IOSize / uint64(c.BlockSize); c.Number == 0 {
			return &badflag.Error{Flag: "--io-size", Value: strconv.FormatUint(c.IOSize, 10), Problem: fmt.Sprintf("that is less than one command of %d bytes", c.BlockSize), Remedy: "give more, or a smaller --bs"}
		}
	}
	for _, d := range devs {
		if err := c.check(d); err != nil {
			return &passthru.OpError{Op: "run on", Path: d.Path(), Err: err}
		}
	}
	return checkOldPolling(c, devs, sys.KernelRelease())
}

// unit is the least block size of a device, as the path sees its blocks.
func (c *Config) unit(d Namespace) uint32 {
	if c.Path.Passthru() {
		return d.Layout().UnderPRACT().Unit()
	}
	return d.Layout().LBASize
}

func (c *Config) check(d Namespace) error {
	if set := d.CommandSet(); set != nvme.SetNVM && set != nvme.SetZNS {
		return fmt.Errorf("its command set %s has no logical blocks to run on", set)
	}
	zoned := d.CommandSet() == nvme.SetZNS
	switch {
	case c.RW == workload.Append && !zoned:
		return fmt.Errorf("--rw %s: the namespace has no zones: use --rw write", c.RW)
	case c.RW.Writes() && zoned && c.RW != workload.Append:
		return fmt.Errorf("--rw %s: a zoned namespace takes writes only at its write pointers: use --rw %s", c.RW, workload.Append)
	}
	if c.Path.Polled() {
		if err := d.Poll().Check(); err != nil {
			return fmt.Errorf("%s: %w; or run without polling: --path %s", c.Path, err, unpolled(c))
		}
	}
	if c.BlockSize%int(c.unit(d)) != 0 {
		return fmt.Errorf("--bs %d: need a multiple of the logical block, which is %d bytes here", c.BlockSize, c.unit(d))
	}
	blocks, most := c.blocks(d), c.mostBlocks(d)
	if blocks > most {
		return fmt.Errorf("--bs %d: one command of %s on %s takes at most %d bytes here (MDTS %d, kernel max_hw_sectors %d; 0 is no limit), and is not split: use --bs %d or less",
			c.BlockSize, c.RW, c.Path, most*uint64(c.unit(d)), d.Limits().MDTS, d.Limits().MaxHWSectors, most*uint64(c.unit(d)))
	}
	if !c.Path.Passthru() {
		if err := checkBlockNode(c, d); err != nil {
			return err
		}
	}
	return c.checkRegion(d)
}

func unpolled(c *Config) string {
	if c.Path.Passthru() {
		return "passthru"
	}
	return "block"
}

func checkBlockNode(c *Config, d Namespace) error {
	l := d.Layout()
	if d.BlockPath() == "" {
		return fmt.Errorf("%s: the namespace has no block node (layout %s): use --path passthru", c.Path, l)
	}
	if host := l.UnderPRACT(); host.Extended && host.MetadataSize > 0 {
		return fmt.Errorf("%s: the kernel's block layer offers no data of a namespace with layout %s, which has metadata between the blocks: use --path passthru", c.Path, l)
	}
	return nil
}

// blocks is the length of one command in logical blocks.
func (c *Config) blocks(d Namespace) uint64 { return uint64(c.BlockSize) / uint64(c.unit(d)) }

// mostBlocks is the longest command.
func (c *Config) mostBlocks(d Namespace) uint64 {
	lim, unit := d.Limits(), uint64(c.unit(d))
	switch {
	case c.RW == workload.RandTrim || c.RW == workload.Trim:
		return 1<<32 - 1
	case c.RW == workload.RandZeroes || c.RW == workload.Zeroes:
		return nvme.MaxNLB
	case !c.Path.Passthru() && c.Path.Polled():
		return min(blockio.MaxBlocks(unit), blockio.Unsplit(lim)/unit)
	case !c.Path.Passthru():
		return blockio.MaxBlocks(unit)
	case c.RW == workload.Append && lim.MaxAppend > 0:
		return min(uint64(lim.MaxBlocks), lim.MaxAppend/unit)
	}
	return uint64(lim.MaxBlocks)
}

// region is the part of a device that addresses are in, in logical blocks.
func (c *Config) region(d Namespace) (first, blocks uint64) {
	unit, all := uint64(c.unit(d)), d.Limits().Blocks
	first = min(c.Offset/unit, all)
	if blocks = all - first; c.Size != 0 {
		blocks = min(blocks, c.Size/unit)
	}
	return first, blocks
}

func (c *Config) checkRegion(d Namespace) error {
	unit := uint64(c.unit(d))
	bytes := d.Limits().Blocks * unit
	switch first, blocks := c.region(d); {
	case c.Offset%unit != 0:
		return fmt.Errorf("--offset %d: need a multiple of the logical block, which is %d bytes here", c.Offset, unit)
	case c.Size%unit != 0:
		return fmt.Errorf("--size %d: need a multiple of the logical block, which is %d bytes here", c.Size, unit)
	case c.Offset >= bytes:
		return fmt.Errorf("--offset %d: the namespace has %d bytes: use a lower one", c.Offset, bytes)
	case c.Size > bytes-c.Offset:
		return fmt.Errorf("--size %d: the namespace has %d bytes from --offset %d on: use a smaller one", c.Size, bytes-c.Offset, c.Offset)
	case blocks < c.blocks(d):
		return fmt.Errorf("--bs %d: the region of %d blocks from %d holds no whole command: use a smaller --bs or a larger --size", c.BlockSize, blocks, first)
	}
	return nil
}
