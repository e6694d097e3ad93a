package compare

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/badflag/badflagtest"
	"github.com/nvmepass/nvmepass/internal/iosetup"
)

func testConfig() Config {
	c := DefaultConfig()
	c.Devices = []string{"/dev/ng0n1"}
	return c
}

func TestDefaultConfigIsThePublishedMatrix(t *testing.T) {
	c := testConfig()
	require.NoError(t, c.Validate())
	require.Len(t, c.cells(), 16)
	require.Equal(t, iosetup.RuleFio, c.Rule)
	require.Equal(t, 512, c.BlockSize)
	require.Equal(t, "randread", c.RW)
}

func TestValidate(t *testing.T) {
	cpu := func(n int) *int { return &n }
	for _, tc := range []struct {
		name        string
		change      func(*Config)
		flag, value string
	}{
		{"no device", func(c *Config) { c.Devices = nil }, "DEVICE", ""},
		{"empty device", func(c *Config) { c.Devices = []string{" "} }, "DEVICE", `" "`},
		{"device twice", func(c *Config) { c.Devices = []string{"/dev/ng0n1", "/dev/ng0n1"} }, "DEVICE", "/dev/ng0n1"},
		{"no path", func(c *Config) { c.Paths = nil }, "--paths", ""},
		{"unknown path", func(c *Config) { c.Paths = []iosetup.Path{"x"} }, "--paths", `"x"`},
		{"no depth", func(c *Config) { c.Depths = nil }, "--depths", ""},
		{"batch above depth", func(c *Config) { c.Depths = []iosetup.Depth{{QD: 2, Batch: 3}} }, "--depths", "2_3"},
		{"no round", func(c *Config) { c.Rounds = 0 }, "--rounds", "0"},
		{"negative rounds", func(c *Config) { c.Rounds = -1 }, "--rounds", "-1"},
		{"too many rounds", func(c *Config) { c.Rounds = MaxRounds + 1 }, "--rounds", "1001"},
		{"negative warm-up", func(c *Config) { c.Warmup = -1 }, "--warmup", "-1ns"},
		{"endless warm-up", func(c *Config) { c.Warmup = MaxRuntime + 1 }, "--warmup", "24h0m0.000000001s"},
		{"no runtime", func(c *Config) { c.Runtime = 0 }, "--runtime", "0s"},
		{"endless runtime", func(c *Config) { c.Runtime = MaxRuntime + time.Second }, "--runtime", "24h0m1s"},
		{"no block size", func(c *Config) { c.BlockSize = 0 }, "--bs", "0"},
		{"huge block size", func(c *Config) { c.BlockSize = MaxBlockSize + 1 }, "--bs", "268435457"},
		{"write", func(c *Config) { c.RW = "randwrite" }, "--rw", `"randwrite"`},
		{"no pattern", func(c *Config) { c.RW = "" }, "--rw", `""`},
		{"no rule", func(c *Config) { c.Rule = "" }, "--batch-rule", `""`},
		{"negative CPU", func(c *Config) { c.CPU = cpu(-1) }, "--cpu", "-1"},
		{"CPU out of range", func(c *Config) { c.CPU = cpu(iosetup.MaxCPU + 1) }, "--cpu", "8192"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := testConfig()
			tc.change(&c)
			badflagtest.Require(t, c.Validate(), tc.flag, tc.value)
		})
	}
}

func TestValidateReportsEverySetting(t *testing.T) {
	err := (&Config{}).Validate()
	for _, flag := range []string{"DEVICE", "--paths", "--depths", "--rounds", "--runtime", "--bs", "--rw", "--batch-rule"} {
		require.ErrorContains(t, err, flag)
	}
	require.False(t, errors.Is(err, ErrStop))
}

func TestValidateBoundsThePlan(t *testing.T) {
	c := testConfig()
	c.Rounds = MaxRounds
	for i := range 6 {
		c.Devices = append(c.Devices, fmt.Sprint("/dev/ng", i+1, "n1"))
	}
	badflagtest.Require(t, c.Validate(), "--rounds", "1000")
	require.ErrorContains(t, c.Validate(), "112000, above the limit of 100000")
	c.Devices = c.Devices[:6]
	require.NoError(t, c.Validate())
}

func TestPlanRunsEveryCellOncePerRound(t *testing.T) {
	c := testConfig()
	c.Devices = append(c.Devices, "/dev/ng1n1")
	for seed := range uint64(20) {
		c.Seed = seed
		plan := Plan(c)
		require.Len(t, plan, 5*32)
		require.Equal(t, plan, Plan(c), "the same configuration gives the same plan")
		for i, step := range plan {
			require.Equal(t, i+1, step.Order)
			require.Equal(t, i/32+1, step.Round, "rounds follow one another")
		}
		for round := range slices.Chunk(plan, 32) {
			seen := map[Cell]bool{}
			for _, step := range round {
				seen[step.Cell] = true
			}
			require.Len(t, seen, 32)
		}
	}
}

// A fixed order would let a drive that heats up favour the path that always comes first.
func TestPlanIsShuffled(t *testing.T) {
	order := func(seed uint64, round int) string {
		c := testConfig()
		c.Seed = seed
		var names []string
		for _, step := range Plan(c) {
			if step.Round == round {
				names = append(names, step.String())
			}
		}
		return strings.Join(names, "\n")
	}
	orders := map[string]bool{}
	for seed := range uint64(10) {
		for round := 1; round <= 5; round++ {
			orders[order(seed, round)] = true
		}
	}
	require.Len(t, orders, 50, "every round of every seed has its own order")

	first := map[iosetup.Path]int{}
	c := testConfig()
	c.Rounds, c.Depths = 1000, c.Depths[:1]
	for _, step := range Plan(c) {
		if (step.Order-1)%4 == 0 {
			first[step.Path]++
		}
	}
	for _, path := range iosetup.AllPaths() {
		require.InDelta(t, 250, first[path], 60, "each path comes first about as often as any other")
	}
}

func TestPlanOfNothing(t *testing.T) {
	require.Empty(t, Plan(Config{}))
	require.Empty(t, Plan(Config{Rounds: -3, Devices: []string{"x"}}))
}
