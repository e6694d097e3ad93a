package jobs

import (
	"fmt"
	"math"
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
			return badBytes("--io-size", c.IOSize, fmt.Sprintf("that is less than one command of %d bytes", c.BlockSize), "give more, or a smaller --bs")
		}
	}
	for _, d := range devs {
		if err := c.check(d); err != nil {
			return &passthru.OpError{Op: "run on", Path: d.Path(), Err: err}
		}
	}
	return checkOldPolling(c, devs, sys.KernelRelease())
}

// host is the layout of a device's blocks as the path sees them.
func (c *Config) host(d Namespace) nvme.Layout {
	if c.Path.Passthru() {
		return d.Layout().UnderPRACT()
	}
	return nvme.Layout{LBASize: d.Layout().LBASize}
}

// unit is the least block size of a device.
func (c *Config) unit(d Namespace) uint32 { return c.host(d).Unit() }

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
	blocks, err := c.host(d).Blocks(uint64(c.BlockSize))
	if err != nil {
		return badBytes("--bs", uint64(c.BlockSize), err.Error(), "give one")
	}
	if most := c.mostBlocks(d); blocks > most {
		return badBytes("--bs", uint64(c.BlockSize),
			fmt.Sprintf("one command of %s on %s takes at most %d bytes here (MDTS %d, kernel max_hw_sectors %d; 0 is no limit), and is not split",
				c.RW, c.Path, most*uint64(c.unit(d)), d.Limits().MDTS, d.Limits().MaxHWSectors),
			fmt.Sprintf("use --bs %d or less", most*uint64(c.unit(d))))
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

// leftOut is how many blocks at the end of the region hold no whole command.
func (c *Config) leftOut(d Namespace) uint64 {
	_, blocks := c.region(d)
	return blocks % c.blocks(d)
}

func (c *Config) checkRegion(d Namespace) error {
	unit := uint64(c.unit(d))
	bytes := min(d.Limits().Blocks, math.MaxUint64/unit) * unit // a drive may claim 2^64-1 blocks
	block := fmt.Sprintf("need a multiple of the logical block, which is %d bytes here", unit)
	switch first, blocks := c.region(d); {
	case c.Offset%unit != 0:
		return badBytes("--offset", c.Offset, block, "give one")
	case c.Size%unit != 0:
		return badBytes("--size", c.Size, block, "give one")
	case c.Offset >= bytes:
		return badBytes("--offset", c.Offset, fmt.Sprintf("the namespace has %d bytes", bytes), "use a lower one")
	case c.Size > bytes-c.Offset:
		return badBytes("--size", c.Size, fmt.Sprintf("the namespace has %d bytes from --offset %d on", bytes-c.Offset, c.Offset), "use a smaller one")
	case blocks < c.blocks(d):
		return badBytes("--bs", uint64(c.BlockSize), fmt.Sprintf("the region of %d blocks from %d holds no whole command", blocks, first), "use a smaller --bs or a larger --size")
	}
	return nil
}

// badBytes is the error of a setting in bytes that does not suit a device.
func badBytes(flag string, value uint64, problem, remedy string) error {
	return &badflag.Error{Flag: flag, Value: strconv.FormatUint(value, 10), Problem: problem, Remedy: remedy}
}
