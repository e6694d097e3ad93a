package trial

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/nvmepass/nvmepass/internal/badflag"
	"github.com/nvmepass/nvmepass/internal/compare"
	"github.com/nvmepass/nvmepass/internal/iosetup"
	"github.com/nvmepass/nvmepass/internal/sys"
)

// Settings are how often and for how long each cell runs, and where.
type Settings struct {
	// Rounds is how often every cell runs, 1 to compare.MaxRounds. Intervals
	// need 3.
	Rounds int `json:"rounds"`
	// Seed determines the order of the cells in each round, and the addresses.
	Seed uint64 `json:"seed"`
	// Warmup is run before the measured window of each cell and is not
	// measured; 0 means none.
	Warmup time.Duration `json:"warmup_ns"`
	// Runtime is the measured window of each cell in each round, above 0.
	Runtime time.Duration `json:"runtime_ns"`
	// CPU is the processor that the submitting thread is pinned to; nil means
	// not pinned.
	CPU *int `json:"cpu"`
}

// Validate checks the settings for a plan of so many cells. It returns nil, or
// the joined errors of all settings that are wrong, each a [*badflag.Error].
func (s *Settings) Validate(cells int) error {
	var errs []error
	add := func(flag, value, problem, remedy string) {
		errs = append(errs, &badflag.Error{Flag: flag, Value: value, Problem: problem, Remedy: remedy})
	}
	if s.Rounds < 1 || s.Rounds > compare.MaxRounds {
		add("--rounds", strconv.Itoa(s.Rounds), fmt.Sprintf("must be 1 to %d", compare.MaxRounds), "give 5 for medians with intervals")
	} else if steps := s.Rounds * cells; steps > compare.MaxSteps {
		add("--rounds", strconv.Itoa(s.Rounds), fmt.Sprintf("%d cells in so many rounds make %d runs, above the limit of %d", cells, steps, compare.MaxSteps), "run fewer rounds or fewer cells")
	}
	if s.Warmup < 0 || s.Warmup > compare.MaxRuntime {
		add("--warmup", s.Warmup.String(), fmt.Sprintf("must be 0 to %v", compare.MaxRuntime), "give 0 for none, or a time such as 200ms")
	}
	if s.Runtime <= 0 || s.Runtime > compare.MaxRuntime {
		add("--runtime", s.Runtime.String(), fmt.Sprintf("must be above 0 and at most %v", compare.MaxRuntime), "give a time such as 2s")
	}
	if s.CPU != nil && (*s.CPU < 0 || *s.CPU > iosetup.MaxCPU) {
		add("--cpu", strconv.Itoa(*s.CPU), fmt.Sprintf("must be 0 to %d", iosetup.MaxCPU), "give the number of an online processor, or leave the flag out")
	}
	return errors.Join(errs...)
}

// CheckCPU tells whether this process may use the processor; nil stands for
// any. The error is a [*badflag.Error].
func CheckCPU(cpu *int) error {
	if cpu == nil {
		return nil
	}
	allowed, err := sys.AllowedCPUs()
	if err != nil {
		return fmt.Errorf("find the CPUs that this process may use: %w", err)
	}
	if !slices.Contains(allowed, *cpu) {
		return &badflag.Error{Flag: "--cpu", Value: strconv.Itoa(*cpu), Problem: fmt.Sprintf("this process may use %v", allowed), Remedy: "choose one of them"}
	}
	return nil
}

// Step is one run of one cell.
type Step struct {
	// Cell is the cell's number, from 0.
	Cell int
	// Round counts from 1.
	Round int
	// Order is the place in the whole plan, from 1.
	Order int
}

// Plan returns the steps in the order in which they are to run: round by round,
// every cell once per round, shuffled by the seed anew for each round.
func Plan(cells, rounds int, seed uint64) []Step {
	steps := make([]Step, 0, cells*max(rounds, 0))
	for round := 1; round <= rounds; round++ {
		rng := rand.New(rand.NewPCG(seed, uint64(round)))
		for _, cell := range rng.Perm(cells) {
			steps = append(steps, Step{Cell: cell, Round: round, Order: len(steps) + 1})
		}
	}
	return steps
}
