package compare

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/badflag"
	"github.com/nvmepass/nvmepass/internal/badflag/badflagtest"
	"github.com/nvmepass/nvmepass/internal/iosetup"
	"github.com/nvmepass/nvmepass/internal/stats"
)

// sampleOf is a run of one second in which ok commands ended well.
func sampleOf(step Step, ok uint64) Sample {
	return Sample{
		WindowNS: int64(time.Second), OK: ok, Run: Counts{Issued: ok + 10, OK: ok + 10}, Bytes: ok * 512, Enters: ok / 2,
		SubmitPerCall: Float(2), ReapPerCall: Float(2), MeanInFlight: Float(float64(step.Depth.QD)), UserCPUNS: 100e6, SystemCPUNS: 500e6,
		Settings: iosetup.Effective{
			Polled: step.Path.Polled(), FixedBuffers: iosetup.FixedWhole, RegisteredFiles: true, RegisteredRing: true,
			RingFlags: []string{"SINGLE_ISSUER"},
		},
	}
}

// speed is a made-up machine: paths differ by fixed factors, rounds drift, and a little noise depends on the order.
func speed(step Step) uint64 {
	factor := map[iosetup.Path]float64{iosetup.Block: 1, iosetup.Passthru: 1.005, iosetup.PassthruPoll: 1.5, iosetup.BlockPoll: 0.8}[step.Path]
	drift := 1 + 0.2*float64(step.Round)
	noise := 1 + 0.01*math.Sin(float64(7*step.Order))
	return uint64(10000 * factor * drift * noise)
}

func small() Config {
	c := testConfig()
	c.Runtime = time.Second
	c.Depths = c.Depths[:2]
	return c
}

func run(t *testing.T, c Config, runCell func(context.Context, Step) (Sample, error)) *Result {
	t.Helper()
	res, err := Run(t.Context(), c, runCell, nil)
	require.NoError(t, err)
	requireSound(t, res)
	return res
}

// requireSound checks what holds for every result: it is valid JSON without loss, and its sums add up.
func requireSound(t *testing.T, res *Result) {
	t.Helper()
	out, err := json.Marshal(res)
	require.NoError(t, err, "NaN and infinities cannot be encoded")
	dec := json.NewDecoder(bytes.NewReader(out))
	dec.DisallowUnknownFields()
	var strict Result
	require.NoError(t, dec.Decode(&strict))
	require.Equal(t, *res, strict)
	back, err := Decode(bytes.NewReader(out))
	require.NoError(t, err)
	require.Equal(t, res, back)

	var totals Counts
	require.Len(t, res.Cells, len(res.Config.cells()))
	for _, c := range res.Cells {
		used := 0
		for _, r := range c.Rounds {
			require.Equal(t, r.Sample == nil, r.Rates == nil)
			if r.Sample != nil {
				totals.add(r.Sample.Run)
			}
			if r.Error == "" {
				used++
			}
		}
		require.Equal(t, used, c.Measured)
	}
	require.Equal(t, totals, res.Totals)
}

func TestRunMeasures(t *testing.T) {
	c := small()
	var steps []Step
	res := run(t, c, func(_ context.Context, step Step) (Sample, error) {
		steps = append(steps, step)
		return sampleOf(step, speed(step)), nil
	})
	require.Equal(t, Plan(c), steps)
	require.Equal(t, Schema, res.Schema)
	require.False(t, res.Interrupted)
	require.Empty(t, res.StopReason)
	require.Empty(t, res.Warnings)
	require.False(t, res.Finished.Before(res.Started))
	require.Equal(t, time.UTC, res.Started.Location())
	require.Zero(t, res.FailedRounds())

	want := map[iosetup.Path]struct {
		ratio   float64
		verdict stats.Verdict
	}{
		iosetup.Passthru: {1.005, stats.VerdictSame}, iosetup.PassthruPoll: {1.5, stats.VerdictHigher}, iosetup.BlockPoll: {0.8, stats.VerdictLower},
	}
	for _, cell := range res.Cells {
		require.Equal(t, 5, cell.Measured)
		require.InEpsilon(t, 16000*map[iosetup.Path]float64{iosetup.Block: 1, iosetup.Passthru: 1.005, iosetup.PassthruPoll: 1.5, iosetup.BlockPoll: 0.8}[cell.Path], *cell.IOPS.Median, 0.02)
		require.Less(t, *cell.IOPS.CILow, *cell.IOPS.Median)
		require.Greater(t, *cell.IOPS.CIHigh, *cell.IOPS.Median)
		require.InDelta(t, *cell.IOPS.Median*512, *cell.BytesPerSecond, 1e-6)
		require.Equal(t, float64(cell.Depth.QD), *cell.MeanInFlight)
		require.InDelta(t, 100e6 / *cell.IOPS.Median, *cell.UserCPUNSPerIO, 1e-6)
		if cell.Path == iosetup.Block {
			require.Nil(t, cell.RatioToBlock)
			continue
		}
		// The drift over the rounds is far larger than the differences, and pairing takes it out.
		require.InEpsilon(t, want[cell.Path].ratio, *cell.RatioToBlock.Median, 0.02)
		require.Equal(t, want[cell.Path].verdict, cell.RatioToBlock.Verdict, cell.Cell)
		require.Equal(t, 5, cell.RatioToBlock.Pairs)
	}
}

func TestRunKeepsFailingCells(t *testing.T) {
	res := run(t, small(), func(_ context.Context, step Step) (Sample, error) {
		switch {
		case step.Path == iosetup.Passthru && step.Depth.QD == 8:
			return Sample{}, errors.New("open /dev/ng0n1: permission denied")
		case step.Path == iosetup.Block && step.Round == 2:
			return Sample{Run: Counts{Issued: 4, Failed: 4}}, errors.New("too many failures")
		}
		return sampleOf(step, speed(step)), nil
	})
	refused := res.Cell(Cell{Device: "/dev/ng0n1", Path: iosetup.Passthru, Depth: iosetup.Depth{QD: 8, Batch: 2}})
	require.Len(t, refused.Rounds, 5)
	require.Zero(t, refused.Measured)
	require.Equal(t, Estimate{}, refused.IOPS)
	require.Nil(t, refused.RatioToBlock)
	for _, r := range refused.Rounds {
		require.Equal(t, "open /dev/ng0n1: permission denied", r.Error)
		require.Nil(t, r.Sample)
	}
	block := res.Cell(Cell{Device: "/dev/ng0n1", Path: iosetup.Block, Depth: iosetup.Depth{QD: 8, Batch: 2}})
	require.Equal(t, 4, block.Measured)
	require.Equal(t, 4, res.Cell(Cell{Device: "/dev/ng0n1", Path: iosetup.BlockPoll, Depth: iosetup.Depth{QD: 8, Batch: 2}}).RatioToBlock.Pairs, "only rounds with both")
	require.Equal(t, uint64(8), res.Totals.Failed)
	require.Equal(t, 7, res.FailedRounds())
	require.Contains(t, res.Warnings, "1 of 8 cells have no figure")
	require.Nil(t, res.Cell(Cell{Device: "/dev/ng9n1", Path: iosetup.Block, Depth: iosetup.Depth{QD: 8, Batch: 2}}))
}

func TestRunWithoutCompletions(t *testing.T) {
	res := run(t, small(), func(_ context.Context, step Step) (Sample, error) {
		s := Sample{WindowNS: int64(time.Second), Settings: iosetup.Effective{Polled: step.Path.Polled(), FixedBuffers: iosetup.FixedPerSlot, RegisteredFiles: true}}
		s.SubmitPerCall, s.MeanInFlight = new(math.NaN()), new(math.Inf(1)) // a caller that forgot Float
		return s, nil
	})
	for _, cell := range res.Cells {
		require.Equal(t, 5, cell.Measured)
		require.Zero(t, *cell.IOPS.Median, "nothing in a second is a rate of zero")
		require.Nil(t, cell.IOPS.CILow)
		require.Nil(t, cell.UserCPUNSPerIO)
		require.Nil(t, cell.SubmitPerCall)
		require.Nil(t, cell.MeanInFlight)
		require.Nil(t, cell.RatioToBlock)
	}
	require.Contains(t, res.Warnings[0], "no command ended well inside the window: 1_1 block, 1_1 passthru")

	res = run(t, small(), func(context.Context, Step) (Sample, error) { return Sample{}, nil })
	for _, cell := range res.Cells {
		require.Nil(t, cell.IOPS.Median, "no window, no rate")
	}
}

func TestRunRefusesCountsThatDoNotAddUp(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Sample)
		part   string
	}{
		"lost":             {func(s *Sample) { s.Run.Issued++ }, "lost or counted twice"},
		"counted twice":    {func(s *Sample) { s.Run.Cancelled++ }, "lost or counted twice"},
		"window above run": {func(s *Sample) { s.OK = s.Run.OK + 1 }, "more than the whole run"},
		"no window":        {func(s *Sample) { s.WindowNS = 0 }, "window of 0 ns"},
		"negative window":  {func(s *Sample) { s.WindowNS = -1 }, "window of -1 ns"},
	} {
		t.Run(name, func(t *testing.T) {
			res := run(t, small(), func(_ context.Context, step Step) (Sample, error) {
				s := sampleOf(step, speed(step))
				if step.Path == iosetup.Passthru {
					tc.change(&s)
				}
				return s, nil
			})
			cell := res.Cell(Cell{Device: "/dev/ng0n1", Path: iosetup.Passthru, Depth: iosetup.Depth{QD: 1, Batch: 1}})
			require.Zero(t, cell.Measured)
			require.Nil(t, cell.IOPS.Median)
			require.NotNil(t, cell.Rounds[0].Sample)
			require.Contains(t, cell.Rounds[0].Error, tc.part)
			require.Equal(t, 10, res.FailedRounds())
		})
	}
}

func TestRunCancelled(t *testing.T) {
	for _, tc := range []struct {
		name  string
		after int // the step during which the context ends
		cell  func(Step) (Sample, error)
		// what is left in the result of the step
		measured, failed int
		complete         bool
	}{
		{"with a partial sample", 12, func(s Step) (Sample, error) {
			out := sampleOf(s, 100)
			out.WindowNS /= 4
			return out, nil
		}, 11, 0, false},
		{"with an error", 12, func(Step) (Sample, error) { return Sample{}, context.Canceled }, 11, 0, false},
		{"just after a whole window", 12, func(s Step) (Sample, error) { return sampleOf(s, speed(s)), nil }, 12, 0, false},
		{"in the first step", 1, func(Step) (Sample, error) { return Sample{}, context.Canceled }, 0, 0, false},
		{"after the last window", 40, func(s Step) (Sample, error) { return sampleOf(s, speed(s)), nil }, 40, 0, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			reason := errors.New("SIGINT")
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			res, err := Run(ctx, small(), func(_ context.Context, step Step) (Sample, error) {
				if step.Order < tc.after {
					return sampleOf(step, speed(step)), nil
				}
				require.Equal(t, tc.after, step.Order, "nothing runs after the context has ended")
				cancel(reason)
				return tc.cell(step)
			}, nil)
			require.NotNil(t, res)
			requireSound(t, res)
			measured := 0
			for _, c := range res.Cells {
				measured += c.Measured
			}
			require.Equal(t, tc.measured, measured)
			require.Equal(t, tc.failed, res.FailedRounds())
			require.Equal(t, !tc.complete, res.Interrupted)
			if tc.complete {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, reason)
			require.ErrorContains(t, err, fmt.Sprintf("after %d of 40 steps", tc.after))
			require.Equal(t, "SIGINT", res.StopReason)
		})
	}
}

func TestRunStopsWhenTheDeviceIsGone(t *testing.T) {
	gone := fmt.Errorf("read /dev/ng0n1: no such device: %w", ErrStop)
	calls := 0
	res, err := Run(t.Context(), small(), func(_ context.Context, step Step) (Sample, error) {
		calls++
		if calls == 3 {
			return Sample{Run: Counts{Issued: 9, OK: 2, Cancelled: 7}}, gone
		}
		return sampleOf(step, speed(step)), nil
	}, nil)
	require.ErrorIs(t, err, ErrStop)
	require.Equal(t, 3, calls)
	requireSound(t, res)
	require.True(t, res.Interrupted)
	require.Equal(t, gone.Error(), res.StopReason)
	require.Equal(t, 1, res.FailedRounds(), "it is the cell that failed")
	require.Equal(t, uint64(7), res.Totals.Cancelled)
}

func TestRunRefusesBadConfiguration(t *testing.T) {
	res, err := Run(t.Context(), Config{}, func(context.Context, Step) (Sample, error) {
		t.Error("ran a cell")
		return Sample{}, nil
	}, nil)
	require.Nil(t, res)
	var usage *badflag.Error
	require.ErrorAs(t, err, &usage)
}

func TestRunReportsProgress(t *testing.T) {
	c := small()
	var got []Progress
	_, err := Run(t.Context(), c, func(_ context.Context, step Step) (Sample, error) {
		if step.Path == iosetup.Block {
			return Sample{}, errors.New("refused")
		}
		return sampleOf(step, 5), nil
	}, func(p Progress) { got = append(got, p) })
	require.NoError(t, err)
	require.Len(t, got, 2*40)
	failed := 0
	for i, step := range Plan(c) {
		before, after := got[2*i], got[2*i+1]
		require.Equal(t, step, before.Step)
		require.Equal(t, step, after.Step)
		require.False(t, before.Ended)
		require.True(t, after.Ended)
		require.Equal(t, [4]int{i, i + 1, 40, 5}, [4]int{before.Done, after.Done, after.Steps, after.Rounds})
		require.Equal(t, step.Path == iosetup.Block, after.Err != nil)
		if after.Err != nil {
			failed++
		}
		require.Equal(t, failed, after.Failed)
		require.GreaterOrEqual(t, after.Remaining, time.Duration(0))
	}
	require.Equal(t, 40*(c.Runtime+c.Warmup), got[0].Remaining, "before the first step the configuration is all there is")
	require.Zero(t, got[79].Remaining)
}

func TestWarningsOnSettings(t *testing.T) {
	res := run(t, small(), func(_ context.Context, step Step) (Sample, error) {
		s := sampleOf(step, speed(step))
		switch step.Path {
		case iosetup.PassthruPoll:
			s.Settings.Polled = false
		case iosetup.Passthru:
			s.Settings.FixedBuffers = "plain (EINVAL: kernel before 6.12)"
		case iosetup.Block:
			s.Settings.Polled = step.Depth.QD == 8
			s.Settings.RegisteredFiles = step.Round > 1
		}
		return s, nil
	})
	require.Equal(t, []string{
		"registered files were asked for and did not take effect: 1_1 block, 8_2 block",
		"effective settings changed between rounds: 1_1 block, 8_2 block",
		"fixed buffers were asked for and did not take effect: 1_1 passthru, 8_2 passthru",
		"NOT polled: the figure is one of interrupts: 1_1 passthru-poll, 8_2 passthru-poll",
		"polled, though its path waits for interrupts: 8_2 block",
		"the paths were not treated alike: block, passthru-poll, block-poll used fixed buffers throughout, passthru did not",
		"the paths were not treated alike: passthru, passthru-poll, block-poll used registered files throughout, block did not",
	}, res.Warnings)
}

func TestWarningsOnCommands(t *testing.T) {
	c := small()
	c.Rounds = 2
	res := run(t, c, func(_ context.Context, step Step) (Sample, error) {
		s := sampleOf(step, 90)
		s.Run = Counts{Issued: 100, OK: 90, Failed: 7, Cancelled: 3}
		s.Failed = 7
		s.Errors = map[string]uint64{"LBA Out of Range (0x80)": 7}
		return s, nil
	})
	require.Equal(t, []string{
		"no intervals and no verdicts with --rounds 2: run 3 or more",
		"112 of 1600 commands failed: rates count only those that ended well",
		"48 of 1600 commands were cancelled by the driver",
	}, res.Warnings)
	cell := res.Cell(Cell{Device: "/dev/ng0n1", Path: iosetup.Passthru, Depth: iosetup.Depth{QD: 8, Batch: 2}})
	require.Equal(t, 90.0, *cell.IOPS.Median)
	require.Equal(t, stats.VerdictUnknown, cell.RatioToBlock.Verdict)
	require.Nil(t, cell.RatioToBlock.CILow)
}

func TestWarningsNameDevicesAndStayShort(t *testing.T) {
	c := small()
	c.Devices = []string{"/dev/ng0n1", "/dev/ng1n1"}
	res := run(t, c, func(_ context.Context, step Step) (Sample, error) { return sampleOf(step, 0), nil })
	require.Len(t, res.Warnings, 1)
	require.Contains(t, res.Warnings[0], "1_1 block /dev/ng0n1, ")
	require.Contains(t, res.Warnings[0], " and 8 more")
}

func TestSampleRates(t *testing.T) {
	// 1000 blocks of 4096 bytes in exactly one second.
	s := Sample{WindowNS: 1e9, OK: 1000, Bytes: 4096000, UserCPUNS: 5000, SystemCPUNS: 7000}
	r := s.Rates()
	require.Equal(t, 1000.0, s.IOPS())
	require.Equal(t, 1000.0, *r.IOPS)
	require.Equal(t, 4096000.0, *r.BytesPerSecond)
	require.Equal(t, 5.0, *r.UserCPUNSPerIO)
	require.Equal(t, 7.0, *r.SystemCPUNSPerIO)
	require.Equal(t, Rates{}, (&Sample{}).Rates())
	require.Zero(t, (&Sample{OK: 5}).IOPS())
	require.Nil(t, Float(math.NaN()))
	require.Nil(t, Float(math.Inf(-1)))
}

func TestKelvinToCelsius(t *testing.T) {
	require.Nil(t, KelvinToCelsius(0))
	require.Equal(t, 50, *KelvinToCelsius(323))
	require.Equal(t, -1, *KelvinToCelsius(272))
}

func TestDecodeRefuses(t *testing.T) {
	for in, part := range map[string]string{
		"":                                     "not a JSON document",
		"KIOPS":                                "not a JSON document",
		`[]`:                                   "cannot unmarshal",
		`{}`:                                   `schema ""`,
		`{"schema":"nvmepass.compare/2"}`:      `this version reads "nvmepass.compare/1"`,
		`{"schema":"nvmepass.compare/1"} {}`:   "more than one",
		`{"schema":"nvmepass.compare/1"} junk`: "more than one",
		`{"schema":"nvmepass.compare/1","totals":{"ok":-1}}`:           "cannot unmarshal",
		`{"schema":"nvmepass.compare/1","config":{"depths":["9_99"]}}`: "batch 99 is above",
	} {
		_, err := Decode(bytes.NewReader([]byte(in)))
		require.ErrorContains(t, err, part, in)
		require.ErrorContains(t, err, "read comparison", in)
	}
	_, err := Decode(bytes.NewReader([]byte(`{"schema":"nvmepass.compare/1","a_later_key":1}`)))
	require.NoError(t, err)
}

func TestBaseline(t *testing.T) {
	b, err := Baseline("series-2022")
	require.NoError(t, err)
	require.Equal(t, iosetup.AllPaths(), b.Paths)
	require.Equal(t, iosetup.DefaultDepths(), b.Depths)
	for want, at := range map[float64]Cell{
		80e3:   {Path: iosetup.Block, Depth: iosetup.Depth{QD: 1, Batch: 1}},
		470e3:  {Path: iosetup.Passthru, Depth: iosetup.Depth{QD: 8, Batch: 2}},
		931e3:  {Path: iosetup.PassthruPoll, Depth: iosetup.Depth{QD: 16, Batch: 4}},
		1132e3: {Path: iosetup.BlockPoll, Depth: iosetup.Depth{QD: 128, Batch: 32}},
	} {
		got, ok := b.IOPS(at.Path, at.Depth)
		require.True(t, ok)
		require.Equal(t, want, got)
	}
	ratio, ok := b.RatioToBlock(iosetup.PassthruPoll, iosetup.Depth{QD: 1, Batch: 1})
	require.True(t, ok)
	require.InDelta(t, 1.975, ratio, 1e-12)
	_, ok = b.RatioToBlock(iosetup.PassthruPoll, iosetup.Depth{QD: 2, Batch: 1})
	require.False(t, ok)

	_, err = Baseline("series-2023")
	badflagtest.Require(t, err, "--baseline", `"series-2023"`)
}

func TestBaselineOfRecordedResult(t *testing.T) {
	res := run(t, small(), func(_ context.Context, step Step) (Sample, error) {
		if step.Path == iosetup.BlockPoll {
			return Sample{}, errors.New("refused")
		}
		return sampleOf(step, 1000), nil
	})
	b, ok := BaselineOf(res, "old.json", "/dev/ng0n1")
	require.True(t, ok)
	v, ok := b.IOPS(iosetup.Passthru, iosetup.Depth{QD: 8, Batch: 2})
	require.True(t, ok)
	require.Equal(t, 1000.0, v)
	_, ok = b.IOPS(iosetup.BlockPoll, iosetup.Depth{QD: 8, Batch: 2})
	require.False(t, ok)
	_, ok = BaselineOf(res, "old.json", "/dev/ng1n1")
	require.False(t, ok)
}

// TestProtectionIsPointedOut: with protection information the block layer does work that passthrough leaves to the drive.
func TestProtectionIsPointedOut(t *testing.T) {
	env := Environment{Devices: []Device{{Path: "/dev/ng0n1", LBAFormat: LBAFormat{ProtectionType: 1}}}}
	mixed := Result{Config: Config{Paths: []iosetup.Path{iosetup.Block, iosetup.Passthru}}}
	mixed.SetEnvironment(env)
	require.Len(t, mixed.Warnings, 1)
	require.Contains(t, mixed.Warnings[0], "PRACT")
	alike := Result{Config: Config{Paths: []iosetup.Path{iosetup.Passthru, iosetup.PassthruPoll}}}
	alike.SetEnvironment(env)
	require.Empty(t, alike.Warnings)
}
