package nopbench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/badflag"
	"github.com/nvmepass/nvmepass/internal/compare"
	"github.com/nvmepass/nvmepass/internal/iosetup"
	"github.com/nvmepass/nvmepass/internal/ringtest"
	"github.com/nvmepass/nvmepass/internal/trial"
	"github.com/nvmepass/nvmepass/uringcmd"
)

// short is a quick run of one small cell.
func short(op Op) Config {
	c := DefaultConfig()
	c.Op, c.Depths = op, []iosetup.Depth{{QD: 8, Batch: 2}}
	c.Settings = trial.Settings{Rounds: 3, Seed: 5, Runtime: 5 * time.Millisecond}
	return c
}

func openBench(t *testing.T, cfg Config) *Bench {
	t.Helper()
	b, err := Open(cfg)
	if errors.Is(err, uringcmd.ErrDisabled) {
		ringtest.Missing(t, "io_uring", err)
	}
	require.NoError(t, err)
	return b
}

func TestValidate(t *testing.T) {
	require.NoError(t, new(DefaultConfig()).Validate())
	for _, tt := range []struct {
		flag   string
		change func(*Config)
	}{
		{"--op", func(c *Config) { c.Op = "NOP" }},
		{"--depths", func(c *Config) { c.Depths = nil }},
		{"--depths", func(c *Config) { c.Depths[0].QD = 0 }},
		{"--batch-rule", func(c *Config) { c.Rule = "none" }},
		{"--sqpoll-idle", func(c *Config) { c.SQPollIdle = time.Second }},
		{"--rounds", func(c *Config) { c.Rounds = 0 }},
	} {
		c := DefaultConfig()
		tt.change(&c)
		var bad *badflag.Error
		require.ErrorAs(t, c.Validate(), &bad)
		require.Equal(t, tt.flag, bad.Flag)
	}
}

// TestSwitches: what means nothing to an operation is off in the record and is
// no variant of it.
func TestSwitches(t *testing.T) {
	for _, op := range []Op{NOP, URINGCmd} {
		c := DefaultConfig()
		c.Op, c.Ablate = op, true
		c.HugePages, c.Vectored, c.HybridPoll = true, true, true
		c.Normalize()
		require.False(t, c.FixedBuffers || c.HugePages || c.Vectored || c.HybridPoll)
		require.Equal(t, op == URINGCmd, c.RegisteredFiles)
		require.True(t, c.RegisteredRing && c.CoopTaskrun && c.DeferTaskrun)
		var names []string
		for _, v := range c.variants()[1:] {
			name, _, _ := strings.Cut(strings.TrimPrefix(v, "--"), "=")
			names = append(names, name)
		}
		require.Equal(t, switches[op], names)
		require.Len(t, c.cells(), len(c.Depths)*(1+len(names)))
	}
	for _, name := range Switches() {
		require.True(t, slices.ContainsFunc(iosetup.Switches(), func(s iosetup.Switch) bool { return s.Name == name }), name)
	}
}

// TestRun: both operations on the running kernel; every round adds up, and the
// record survives JSON.
func TestRun(t *testing.T) {
	for _, op := range []Op{NOP, URINGCmd} {
		b := openBench(t, short(op))
		steps := 0
		res, err := b.Run(t.Context(), func(compare.Progress) { steps++ })
		require.NoError(t, err)
		require.NoError(t, b.Close())
		require.Equal(t, 6, steps)
		res.SetEnvironment(compare.Environment{Kernel: "x"})
		require.Len(t, res.Cells, 1)
		c := &res.Cells[0]
		if res.FailedRounds() > 0 && op == URINGCmd && strings.Contains(c.Rounds[0].Error, "Linux 6.0") {
			ringtest.Missing(t, "commands to /dev/null", errors.New(c.Rounds[0].Error))
		}
		require.Zero(t, res.FailedRounds(), "%+v", c.Rounds)
		require.Equal(t, res.Totals.Issued, res.Totals.OK)
		require.Equal(t, op == URINGCmd, c.Rounds[0].Sample.Settings.RegisteredFiles)
		require.InEpsilon(t, 1e9, *c.NSPerOp.Median**c.IOPS.Median, 0.5)
		var ok uint64
		for i := range c.Rounds {
			ok += c.Rounds[i].Sample.OK
			require.Nil(t, c.Rounds[i].BytesPerSecond, "nothing is moved")
		}
		require.Equal(t, ok, c.TotalIOs)

		var buf bytes.Buffer
		require.NoError(t, json.NewEncoder(&buf).Encode(res))
		back, err := Decode(&buf)
		require.NoError(t, err)
		require.Equal(t, res, back)
	}
}

// TestAblation: each switch gets its own cell and ratio; one that changes
// nothing on this kernel is said to.
func TestAblation(t *testing.T) {
	cfg := short(NOP)
	cfg.Ablate = true
	b := openBench(t, cfg)
	res, err := b.Run(t.Context(), nil)
	require.NoError(t, err)
	require.NoError(t, b.Close())
	require.Len(t, res.Cells, 1+len(switches[NOP]))
	ring := res.Cell(Cell{NOP, cfg.Depths[0], "--registerring=false"})
	require.NotNil(t, ring.RatioToBase)
	require.Equal(t, 3, ring.RatioToBase.Pairs)
	require.False(t, ring.WithoutEffect)
	require.False(t, ring.Rounds[0].Sample.Settings.RegisteredRing)
	require.Nil(t, res.Cells[0].RatioToBase)
	require.Nil(t, res.Cell(Cell{NOP, cfg.Depths[0], "--vectored=true"}))
}

// TestNotInEffect: a kernel that refuses a flag is told of, and a variant that
// it makes the same as the base has no effect.
func TestNotInEffect(t *testing.T) {
	cfg := short(NOP)
	cfg.Ablate, cfg.Array = true, iosetup.ArrayNone
	b := openBench(t, cfg)
	cells := b.cells
	b.cells = slices.DeleteFunc(cells, func(c Cell) bool { return c.Variant != "" && c.Variant != "--no-sqarray=false" })
	b.kernel = &ringtest.Kernel{RefuseFlags: uint32(uringcmd.NoSQArray)}
	res, err := b.Run(t.Context(), nil)
	require.NoError(t, err)
	require.True(t, res.Cells[1].WithoutEffect)
	require.Contains(t, strings.Join(res.Warnings, "\n"), "NO_SQARRAY) were asked for and did not take effect: nop 8_2")
}

// TestFailures are in the record and in the warnings; a ring that stalls ends
// the run.
func TestFailures(t *testing.T) {
	b := openBench(t, short(NOP))
	b.kernel = &ringtest.Kernel{SetupErr: syscall.ENOMEM}
	res, err := b.Run(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, 3, res.FailedRounds())
	require.Zero(t, res.Cells[0].Measured)
	require.Nil(t, res.Cells[0].IOPS.Median)
	require.Contains(t, strings.Join(res.Warnings, "\n"), "1 of 1 cells have no figure")
	require.Contains(t, strings.Join(res.Warnings, "\n"), "cannot allocate memory")

	b.kernel = &ringtest.Kernel{Answer: func(ringtest.Entry) (int32, uint64, bool) { return -int32(syscall.EAGAIN), 0, true }}
	res, err = b.Run(t.Context(), nil)
	require.NoError(t, err)
	require.Positive(t, res.Totals.Failed)
	require.Zero(t, res.Cells[0].TotalIOs)
	require.Equal(t, res.Totals.Failed, sum(res, "EAGAIN"))
}

func sum(r *Result, text string) (n uint64) {
	for i := range r.Cells {
		for j := range r.Cells[i].Rounds {
			n += r.Cells[i].Rounds[j].Sample.Errors[text]
		}
	}
	return n
}

// TestInterrupted: what was measured stays, marked.
func TestInterrupted(t *testing.T) {
	cfg := short(NOP)
	cfg.Rounds = 50
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	b := openBench(t, cfg)
	res, err := b.Run(ctx, func(p compare.Progress) {
		if p.Done == 4 {
			cancel()
		}
	})
	require.ErrorIs(t, err, context.Canceled)
	require.True(t, res.Interrupted)
	require.Equal(t, 4, res.Cells[0].Measured)
	require.NotNil(t, res.Cells[0].IOPS.Median)
	require.NoError(t, b.Close())
}

func TestBaseline(t *testing.T) {
	p, err := Baseline("series-2020")
	require.NoError(t, err)
	require.InDelta(t, 1.042, p.After/p.Before, 0.0005)
	require.InDelta(t, 300, float64(p.TotalAfter)/p.After, 1, "a run of five minutes")
	_, err = Baseline("series-2019")
	var bad *badflag.Error
	require.ErrorAs(t, err, &bad)
	require.Contains(t, bad.Remedy, "series-2020")
}

func TestOpenRefuses(t *testing.T) {
	cfg := short(NOP)
	cfg.CPU = new(iosetup.MaxCPU)
	_, err := Open(cfg)
	require.ErrorContains(t, err, "--cpu 8191")
	cfg.Op = "read"
	_, err = Open(cfg)
	require.ErrorContains(t, err, `--op "read"`)
}
