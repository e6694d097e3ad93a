package sweep

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nvmepass/nvmepass/internal/badflag"
	"github.com/nvmepass/nvmepass/internal/iosetup"
	"github.com/nvmepass/nvmepass/internal/trial"
	"github.com/nvmepass/nvmepass/internal/units"
)

// Config says what to measure. It is recorded in the result.
type Config struct {
	// Device is the node to run on; each path finds its own node of the same
	// namespace.
	Device string `json:"device"`
	// Paths are the columns, in their order.
	Paths []Path `json:"paths"`
	// Sizes are the rows in bytes, ascending. Open fills in the default where
	// there are none, which needs the drive's limits.
	Sizes []int `json:"block_sizes_bytes"`
	// QD is the number of reads in flight, 1 to iosetup.MaxQD; synchronous
	// paths have 1 alone.
	QD int `json:"qd"`
	trial.Settings
	// Mode is what is asked of every path's ring.
	iosetup.Mode
}

// DefaultConfig is all paths with one read in flight and fixed buffers, five
// rounds of half a second, without a device.
func DefaultConfig() Config {
	return Config{
		Paths: AllPaths(), QD: 1, Mode: iosetup.DefaultMode(),
		Settings: trial.Settings{Rounds: 5, Seed: 1, Warmup: 100 * time.Millisecond, Runtime: 500 * time.Millisecond},
	}
}

// Validate checks every setting and returns nil, or the joined errors of all
// settings that are wrong, each a [*badflag.Error].
func (c *Config) Validate() error {
	var errs []error
	add := func(flag, value, problem, remedy string) {
		errs = append(errs, &badflag.Error{Flag: flag, Value: value, Problem: problem, Remedy: remedy})
	}
	if strings.TrimSpace(c.Device) == "" {
		add("DEVICE", "", "a device is needed", "name one, such as /dev/ng0n1")
	}
	errs = append(errs, validatePaths(c.Paths), validateSizes(slices.Clone(c.Sizes)), c.Mode.Validate())
	if c.QD < 1 || c.QD > iosetup.MaxQD {
		add("--qd", strconv.Itoa(c.QD), fmt.Sprintf("must be 1 to %d", iosetup.MaxQD), "choose a depth in that range")
	} else if c.QD > 1 && slices.ContainsFunc(c.Paths, Path.Synchronous) {
		add("--qd", strconv.Itoa(c.QD), "synchronous paths have one read in flight", "leave sync-poll and sync out of --paths, or give --qd 1")
	}
	errs = append(errs, c.Settings.Validate(len(c.Paths)*max(1, len(c.Sizes))))
	return errors.Join(errs...)
}

// Cell is one field of the table.
type Cell struct {
	// BlockSize is the size of each read in bytes.
	BlockSize int  `json:"block_size_bytes"`
	Path      Path `json:"path"`
}

// String is size and path, as in "144k block-poll".
func (c Cell) String() string { return units.FormatSize(int64(c.BlockSize)) + " " + string(c.Path) }

// cells are in the order of the table: by row, then column.
func (c *Config) cells() []Cell {
	var cells []Cell
	for _, size := range c.Sizes {
		for _, p := range c.Paths {
			cells = append(cells, Cell{BlockSize: size, Path: p})
		}
	}
	return cells
}
