package verify

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/nvmepass/nvmepass/internal/badflag"
	"github.com/nvmepass/nvmepass/internal/blockio"
	"github.com/nvmepass/nvmepass/internal/iosetup"
	"github.com/nvmepass/nvmepass/nvme"
	"github.com/nvmepass/nvmepass/passthru"
)

// PathIoctl sends NVMe commands by the driver's synchronous ioctl.
const PathIoctl = "ioctl"

// What a run does.
const (
	DoRead  = "read"
	DoWrite = "write"
	DoBoth  = "both"
)

// DefaultBlockSize is the most data of one command in bytes, without metadata,
// where nothing was asked for.
const DefaultBlockSize = 64 << 10

// MaxLoops bounds Config.Loops.
const MaxLoops = 1 << 20

// Config is a run.
type Config struct {
	// Do is DoRead, DoWrite or DoBoth.
	Do string `json:"do"`
	// Path is one of iosetup's or PathIoctl.
	Path string `json:"path"`
	// BlockSize is the data buffer of one command in bytes, metadata of an
	// extended LBA format included; 0 for as many blocks as hold
	// DefaultBlockSize of data, or as one command takes.
	BlockSize uint64 `json:"block_size"`
	// QD is the number of commands in flight.
	QD int `json:"qd"`
	// Offset and Size are the part of the namespace, in the same bytes; Size 0
	// is to the end.
	Offset uint64 `json:"offset"`
	Size   uint64 `json:"size"`
	// Seed and Generation are those of the stamps; each further loop that
	// writes adds one to the generation.
	Seed       uint64 `json:"seed"`
	Generation uint32 `json:"generation"`
	Loops      int    `json:"loops"`
	// Random visits the commands' ranges in an order that the seed chooses.
	Random bool `json:"random"`
	// Metadata compares metadata as well, on passthrough paths.
	Metadata bool `json:"metadata"`
	// MaxReports bounds the blocks and the failures that are reported one by
	// one; all are counted.
	MaxReports int `json:"max_reports"`
}

// DefaultConfig reads what an earlier run with the same seed wrote.
func DefaultConfig() Config {
	return Config{Do: DoRead, Path: string(iosetup.Passthru), QD: 32, Seed: 1, Generation: 1, Loops: 1, Metadata: true, MaxReports: 10}
}

// Writes tells whether the run destroys data.
func (c *Config) Writes() bool { return c.Do != DoRead }

// passthru tells whether NVMe commands are sent, with metadata.
func (c *Config) passthru() bool {
	return c.Path == PathIoctl || iosetup.Path(c.Path).Passthru()
}

// Validate returns nil, or a *badflag.Error for the first setting that is wrong
// whatever the device.
func (c *Config) Validate() error {
	paths := []string{PathIoctl}
	for _, p := range iosetup.AllPaths() {
		paths = append(paths, string(p))
	}
	bad := func(flag, value, problem, remedy string) error {
		return &badflag.Error{Flag: flag, Value: value, Problem: problem, Remedy: remedy}
	}
	switch {
	case !slices.Contains([]string{DoRead, DoWrite, DoBoth}, c.Do):
		return bad("--do", strconv.Quote(c.Do), "is nothing that verify does", "give read, write or both")
	case !slices.Contains(paths, c.Path):
		return bad("--path", strconv.Quote(c.Path), "no such path", "give one of "+strings.Join(paths, ", "))
	case c.QD < 1 || c.QD > iosetup.MaxQD:
		return bad("--qd", strconv.Itoa(c.QD), fmt.Sprintf("need 1 to %d commands in flight", iosetup.MaxQD), "give for example 32")
	case c.Loops < 1 || c.Loops > MaxLoops:
		return bad("--loops", strconv.Itoa(c.Loops), fmt.Sprintf("need 1 to %d", MaxLoops), "give how often to go over the range")
	case c.Writes() && uint64(c.Generation)+uint64(c.Loops) > 1<<32:
		return bad("--generation", fmt.Sprint(c.Generation), "the loops would pass 4294967295", "give a lower one")
	case c.MaxReports < 0:
		return bad("--max-reports", strconv.Itoa(c.MaxReports), "is negative", "give 0 for none, or how many")
	case c.Path == PathIoctl && c.QD != 1:
		return bad("--qd", strconv.Itoa(c.QD), "the ioctl carries one command at a time", "give --qd 1")
	}
	return nil
}

// plan is a Config on a namespace.
type plan struct {
	host nvme.Layout
	// first and blocks are the range, nlb the blocks of one command, chunks
	// how many commands that makes.
	first, blocks uint64
	nlb           uint32
	chunks        uint64
}

// Check holds the run against a namespace, and completes BlockSize and Size.
func (c *Config) Check(d *passthru.Device) error {
	_, err := c.plan(d)
	return err
}

func (c *Config) plan(d *passthru.Device) (plan, error) {
	l := d.Layout()
	p := plan{host: l.UnderPRACT()}
	most := uint64(d.Limits().MaxBlocks)
	if !c.passthru() {
		p.host = nvme.Layout{LBASize: l.LBASize}
		most = blockio.Unsplit(d.Limits()) / uint64(l.LBASize)
	}
	unit := uint64(p.host.Unit())
	bad := func(flag string, value uint64, problem, remedy string) (plan, error) {
		return plan{}, &badflag.Error{Flag: flag, Value: fmt.Sprint(value), Problem: problem, Remedy: remedy}
	}
	if set := d.CommandSet(); set != nvme.SetNVM && (set != nvme.SetZNS || c.Writes()) {
		return plan{}, &badflag.Error{Flag: "--do", Value: c.Do, Problem: fmt.Sprintf("%s is of the %s command set, where blocks cannot be written at will", d.Path(), set), Remedy: "use nvmepass io for single commands there"}
	}
	if most == 0 {
		return plan{}, fmt.Errorf("%s: not even one block of layout %s fits a command", d.Path(), l)
	}
	if c.BlockSize == 0 {
		c.BlockSize = max(1, min(most, DefaultBlockSize/uint64(l.LBASize))) * unit
	}
	if n, err := p.host.Blocks(c.BlockSize); err != nil {
		return bad("--bs", c.BlockSize, err.Error(), "give one")
	} else if n > most {
		return bad("--bs", c.BlockSize, fmt.Sprintf("one command of %s takes at most %d bytes", d.Path(), most*unit), "give that or less")
	}
	all := min(d.Limits().Blocks, math.MaxUint64/unit) * unit // a drive may claim 2^64-1 blocks
	switch {
	case c.Offset%unit != 0:
		return bad("--offset", c.Offset, fmt.Sprintf("is within a block of %d bytes", unit), "give a multiple of that")
	case c.Offset >= all:
		return bad("--offset", c.Offset, fmt.Sprintf("the namespace ends at %d", all), "begin before that")
	case c.Size%unit != 0:
		return bad("--size", c.Size, fmt.Sprintf("is no whole number of blocks of %d bytes", unit), "give a multiple of that")
	case c.Size > all-c.Offset:
		return bad("--size", c.Size, fmt.Sprintf("from %d on there are %d bytes", c.Offset, all-c.Offset), "give less, or leave it out for all")
	}
	if c.Size == 0 {
		c.Size = all - c.Offset
	}
	p.first, p.blocks, p.nlb = c.Offset/unit, c.Size/unit, uint32(min(c.BlockSize/unit, c.Size/unit))
	p.chunks = (p.blocks + uint64(p.nlb) - 1) / uint64(p.nlb)
	return p, nil
}
