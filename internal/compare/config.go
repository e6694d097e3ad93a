package compare

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nvmepass/nvmepass/internal/badflag"
	"github.com/nvmepass/nvmepass/internal/iosetup"
)

// The limits of a [Config].
const (
	// MaxRounds is the largest number of rounds.
	MaxRounds = 1000
	// MaxRuntime is the longest time for one cell, measured or warm-up.
	MaxRuntime = 24 * time.Hour
	// MaxBlockSize is the largest block size in bytes: 65536 blocks, the most that the NLB field of a Read can name (NVM
	// Command Set, figure "Read - Command Dword 12"), of 4 KiB each. The device's own limit is lower and is its owner's to check.
	MaxBlockSize = 256 << 20
	// MaxSteps bounds devices x paths x depths x rounds, since every step is kept in memory and in the result.
	MaxSteps = 100000
)

// Config says what to compare. It is recorded in the result as it was asked for.
type Config struct {
	// Devices are the nodes to run on, one block of the table each. Each path finds its own node of the same namespace.
	Devices []string `json:"devices"`
	// Paths are the columns, in their order.
	Paths []iosetup.Path `json:"paths"`
	// Depths are the rows, in their order.
	Depths []iosetup.Depth `json:"depths"`
	// Rounds is how often every cell runs, 1 to MaxRounds. Intervals and verdicts need 3.
	Rounds int `json:"rounds"`
	// Seed determines the order of the cells in each round. Every value is valid.
	Seed uint64 `json:"seed"`
	// Warmup is run before the measured window of each cell and is not measured. 0 means none.
	Warmup time.Duration `json:"warmup_ns"`
	// Runtime is the measured window of each cell in each round, above 0.
	Runtime time.Duration `json:"runtime_ns"`
	// BlockSize is the size of one read in bytes, metadata of an extended LBA format included.
	BlockSize int `json:"block_size_bytes"`
	// RW is the pattern in fio's words: "randread" or "read". A comparison does not write.
	RW string `json:"rw"`
	// Rule says when a cell waits for completions.
	Rule iosetup.BatchRule `json:"batch_rule"`
	// Mode is what is asked of every path's ring.
	iosetup.Mode
	// Ablate runs each cell once more for every switch of the mode, turned over alone.
	Ablate bool `json:"ablate"`
	// CPU is the processor that the submitting thread is pinned to; nil means not pinned.
	CPU *int `json:"cpu"`
}

// DefaultConfig returns the matrix of the published table, without devices: five rounds of 512-byte random reads under
// fio's rule, two seconds per cell, with fixed buffers and registered files.
func DefaultConfig() Config {
	return Config{
		Devices: []string{}, Paths: iosetup.AllPaths(), Depths: iosetup.DefaultDepths(), Rounds: 5, Seed: 1,
		Warmup: 200 * time.Millisecond, Runtime: 2 * time.Second, BlockSize: 512, RW: "randread", Rule: iosetup.RuleFio,
		Mode: iosetup.DefaultMode(),
	}
}

// Validate checks every setting and returns nil, or the joined errors of all settings that are wrong, each a [*badflag.Error].
func (c *Config) Validate() error {
	var errs []error
	add := func(flag, value, problem, remedy string) {
		errs = append(errs, &badflag.Error{Flag: flag, Value: value, Problem: problem, Remedy: remedy})
	}
	if len(c.Devices) == 0 {
		add("DEVICE", "", "at least 1 device is needed", "name one, such as /dev/ng0n1")
	}
	for i, d := range c.Devices {
		switch {
		case strings.TrimSpace(d) == "":
			add("DEVICE", strconv.Quote(d), "an empty name is no device", "name a node, such as /dev/ng0n1")
		case slices.Contains(c.Devices[:i], d):
			add("DEVICE", d, "a device may be given only once", "remove the second "+d)
		}
	}
	if err := iosetup.ValidatePaths(c.Paths); err != nil {
		errs = append(errs, err)
	}
	if err := iosetup.ValidateDepths(c.Depths); err != nil {
		errs = append(errs, err)
	}
	if c.Rounds < 1 || c.Rounds > MaxRounds {
		add("--rounds", strconv.Itoa(c.Rounds), fmt.Sprintf("must be 1 to %d", MaxRounds), "give 5 for medians with intervals")
	} else if steps := c.steps(); steps > MaxSteps {
		add("--rounds", strconv.Itoa(c.Rounds), fmt.Sprintf("devices x paths x depths x rounds is %.0f, above the limit of %d", steps, MaxSteps),
			"run fewer rounds, or split the devices over several runs")
	}
	if c.Warmup < 0 || c.Warmup > MaxRuntime {
		add("--warmup", c.Warmup.String(), fmt.Sprintf("must be 0 to %v", MaxRuntime), "give 0 for none, or a time such as 200ms")
	}
	if c.Runtime <= 0 || c.Runtime > MaxRuntime {
		add("--runtime", c.Runtime.String(), fmt.Sprintf("must be above 0 and at most %v", MaxRuntime), "give a time such as 2s")
	}
	if c.BlockSize < 1 || c.BlockSize > MaxBlockSize {
		add("--bs", strconv.Itoa(c.BlockSize), fmt.Sprintf("must be 1 to %d bytes", MaxBlockSize), "give a multiple of the LBA size, such as 512")
	}
	if c.RW != "randread" && c.RW != "read" {
		add("--rw", strconv.Quote(c.RW), "a comparison only reads", "give randread or read")
	}
	if c.Rule != iosetup.RuleFio && c.Rule != iosetup.RuleTIOUring {
		errs = append(errs, iosetup.BadRule(string(c.Rule)))
	}
	if err := c.Mode.Validate(); err != nil {
		errs = append(errs, err)
	}
	if c.HybridPoll && !slices.ContainsFunc(c.Paths, iosetup.Path.Polled) {
		add("--hybrid-poll", "", "none of --paths polls", "leave it out, or add passthru-poll or block-poll")
	}
	if c.CPU != nil && (*c.CPU < 0 || *c.CPU > iosetup.MaxCPU) {
		add("--cpu", strconv.Itoa(*c.CPU), fmt.Sprintf("must be 0 to %d", iosetup.MaxCPU), "give the number of an online processor, or leave the flag out")
	}
	return errors.Join(errs...)
}

// steps is a float because the product of absurd settings may overflow an int.
func (c *Config) steps() float64 {
	return math.Max(1, float64(len(c.Devices))) * float64(c.columns()) * float64(len(c.Depths)) * float64(c.Rounds)
}

// columns counts the cells of one depth on one device.
func (c *Config) columns() int {
	n := 0
	for _, p := range c.Paths {
		n += len(c.variants(p))
	}
	return n
}
