package nopbench

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
)

// Op is what goes through the ring.
type Op string

// The two operations.
const (
	// NOP is IORING_OP_NOP in plain entries of 64 and 16 bytes.
	NOP Op = "nop"
	// URINGCmd is an NVMe read as IORING_OP_URING_CMD to /dev/null, which
	// completes it at once, in entries of 128 and 32 bytes.
	URINGCmd Op = "uring-cmd"
)

// switches are those of a mode that mean something to an operation. The others
// concern buffers and drives.
var switches = map[Op][]string{
	NOP:      {"registerring", "coop-taskrun", "defer-taskrun", "no-sqarray", "sq-rewind", "sqpoll"},
	URINGCmd: {"registerfiles", "registerring", "coop-taskrun", "defer-taskrun", "no-sqarray", "sq-rewind", "sqpoll"},
}

// Switches names the switches of a mode that mean something to any operation,
// in the order of their flags.
func Switches() []string { return slices.Clone(switches[URINGCmd]) }

// Has tells whether a switch of Switches means something to the operation.
func (o Op) Has(name string) bool { return slices.Contains(switches[o], name) }

// Config says what to measure. It is recorded as it was asked for.
type Config struct {
	Op Op `json:"op"`
	// Depths are the rows, in their order.
	Depths []iosetup.Depth `json:"depths"`
	trial.Settings
	// Rule says when a cell waits for completions.
	Rule iosetup.BatchRule `json:"batch_rule"`
	// Mode is what is asked of the ring; only what Switches names counts.
	iosetup.Mode
	// Ablate runs each cell once more for every switch, turned over alone.
	Ablate bool `json:"ablate"`
}

// DefaultConfig is NOPs at the depths of the published table under t/io_uring's
// rule, five rounds of two seconds.
func DefaultConfig() Config {
	c := Config{
		Op: NOP, Depths: iosetup.DefaultDepths(), Rule: iosetup.RuleTIOUring, Mode: iosetup.DefaultMode(),
		Settings: trial.Settings{Rounds: 5, Seed: 1, Warmup: 200 * time.Millisecond, Runtime: 2 * time.Second},
	}
	return c
}

// Normalize turns off the switches that mean nothing to the operation, so that
// a record does not claim them.
func (c *Config) Normalize() {
	for _, s := range iosetup.Switches() {
		if !c.Op.Has(s.Name) && s.On(c.Mode) {
			s.Set(&c.Mode, false)
		}
	}
}

// Validate checks every setting and returns nil, or the joined errors of all
// settings that are wrong, each a [*badflag.Error].
func (c *Config) Validate() error {
	var errs []error
	if _, ok := switches[c.Op]; !ok {
		errs = append(errs, &badflag.Error{Flag: "--op", Value: strconv.Quote(string(c.Op)), Problem: "no such operation", Remedy: "give nop or uring-cmd"})
	}
	errs = append(errs, iosetup.ValidateDepths(c.Depths))
	if c.Rule != iosetup.RuleFio && c.Rule != iosetup.RuleTIOUring {
		errs = append(errs, iosetup.BadRule(string(c.Rule)))
	}
	errs = append(errs, c.Mode.Validate(), c.Settings.Validate(len(c.cells())))
	return errors.Join(errs...)
}

// Cell is one row of the table, or a variant of one.
type Cell struct {
	Op    Op            `json:"op"`
	Depth iosetup.Depth `json:"qd_batch"`
	// Variant is the one switch that is turned over, written as its flag, such
	// as "--registerring=false"; empty for the mode as it was asked for.
	Variant string `json:"variant"`
}

// String is operation, depth and variant, as in "nop 8_2".
func (c Cell) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s %s %s", c.Op, c.Depth, c.Variant))
}

// cells are in the order of the table, variants after what they vary.
func (c *Config) cells() []Cell {
	var cells []Cell
	for _, d := range c.Depths {
		for _, v := range c.variants() {
			cells = append(cells, Cell{Op: c.Op, Depth: d, Variant: v})
		}
	}
	return cells
}

func (c *Config) variants() []string {
	if !c.Ablate {
		return []string{""}
	}
	return slices.DeleteFunc(iosetup.Variants(c.Mode, iosetup.Passthru), func(v string) bool {
		name, _, _ := strings.Cut(strings.TrimPrefix(v, "--"), "=")
		return v != "" && !c.Op.Has(name)
	})
}
