package trial

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/badflag"
	"github.com/nvmepass/nvmepass/internal/compare"
	"github.com/nvmepass/nvmepass/internal/iosetup"
	"github.com/nvmepass/nvmepass/internal/nopio"
	"github.com/nvmepass/nvmepass/internal/ringtest"
	"github.com/nvmepass/nvmepass/internal/stats"
	"github.com/nvmepass/nvmepass/internal/sys"
	"github.com/nvmepass/nvmepass/internal/workload"
)

func good() Settings { return Settings{Rounds: 3, Seed: 1, Runtime: time.Second} }

// TestPlan: every round has every cell once; the seed alone decides the order,
// and rounds differ.
func TestPlan(t *testing.T) {
	plan := Plan(6, 20, 7)
	require.Equal(t, plan, Plan(6, 20, 7))
	require.NotEqual(t, plan, Plan(6, 20, 8))
	require.Len(t, plan, 120)
	orders := map[string]bool{}
	for round := range 20 {
		seen := map[int]bool{}
		order := ""
		for i, s := range plan[round*6 : round*6+6] {
			require.Equal(t, round+1, s.Round)
			require.Equal(t, round*6+i+1, s.Order)
			seen[s.Cell] = true
			order += fmt.Sprint(s.Cell)
		}
		require.Len(t, seen, 6)
		orders[order] = true
	}
	require.Greater(t, len(orders), 10, "shuffled anew for each round")
	require.Empty(t, Plan(0, 3, 1))
}

func TestValidate(t *testing.T) {
	require.NoError(t, new(good()).Validate(4))
	far := iosetup.MaxCPU + 1
	for _, tt := range []struct {
		flag   string
		change func(*Settings)
	}{
		{"--rounds", func(s *Settings) { s.Rounds = 0 }},
		{"--rounds", func(s *Settings) { s.Rounds = compare.MaxRounds + 1 }},
		{"--rounds", func(s *Settings) { s.Rounds = compare.MaxRounds }}, // with so many cells
		{"--warmup", func(s *Settings) { s.Warmup = -1 }},
		{"--warmup", func(s *Settings) { s.Warmup = compare.MaxRuntime + 1 }},
		{"--runtime", func(s *Settings) { s.Runtime = 0 }},
		{"--runtime", func(s *Settings) { s.Runtime = compare.MaxRuntime + 1 }},
		{"--cpu", func(s *Settings) { s.CPU = &far }},
		{"--cpu", func(s *Settings) { s.CPU = new(-1) }},
	} {
		s := good()
		tt.change(&s)
		var bad *badflag.Error
		require.ErrorAs(t, s.Validate(101), &bad)
		require.Equal(t, tt.flag, bad.Flag)
	}
	all := Settings{CPU: new(-1), Warmup: -1}
	require.ErrorContains(t, all.Validate(1), "--cpu")
	require.ErrorContains(t, all.Validate(1), "--warmup", "all faults at once")
}

func TestCheckCPU(t *testing.T) {
	allowed, err := sys.AllowedCPUs()
	require.NoError(t, err)
	require.NoError(t, CheckCPU(nil))
	require.NoError(t, CheckCPU(&allowed[0]))
	var bad *badflag.Error
	require.ErrorAs(t, CheckCPU(new(iosetup.MaxCPU)), &bad)
	require.Equal(t, "--cpu", bad.Flag)
}

// sampleOf is a second in which ok commands of 512 bytes ended well.
func sampleOf(ok uint64) compare.Sample {
	return compare.Sample{WindowNS: 1e9, OK: ok, Bytes: ok * 512, Run: compare.Counts{Issued: ok, OK: ok}}
}

func task(cells int, run func(ctx context.Context, s Step) (compare.Sample, error)) *Task {
	return &Task{
		Settings: good(), Cells: cells, Run: run,
		Label: func(i int) compare.Cell { return compare.Cell{Device: fmt.Sprint("cell", i)} },
	}
}

func TestExecute(t *testing.T) {
	job := task(3, func(_ context.Context, s Step) (compare.Sample, error) {
		switch {
		case s.Cell == 1 && s.Round == 2:
			return compare.Sample{}, syscall.EIO
		case s.Cell == 1 && s.Round == 3:
			lost := sampleOf(5)
			lost.Run.Issued++
			return lost, nil
		}
		return sampleOf(uint64(100 * (s.Cell + 1))), nil
	})
	job.Skip = func(cell int) bool { return cell == 2 }
	var seen []compare.Progress
	job.Progress = func(p compare.Progress) { seen = append(seen, p) }
	out, rounds, err := job.Execute(t.Context())
	require.NoError(t, err)
	require.False(t, out.Interrupted)
	require.Equal(t, compare.Counts{Issued: 506, OK: 505}, out.Totals, "also of rounds that are not used")
	require.Len(t, rounds[0], 3)
	require.Empty(t, rounds[2], "not run")
	require.NotNil(t, rounds[2])
	require.Len(t, seen, 12)
	require.Equal(t, 6, seen[11].Steps)
	require.Equal(t, 6, seen[11].Done)
	require.Equal(t, 2, seen[11].Failed)
	require.Equal(t, 6, seen[10].Step.Order, "without gaps for what is not run")

	s := Summarize(rounds[0])
	require.Equal(t, 3, s.Measured)
	require.InDelta(t, 100, *s.IOPS.Median, 1e-9)
	require.InDelta(t, 100, *s.IOPS.CILow, 1e-9)
	require.InDelta(t, 51200, *rounds[0][0].BytesPerSecond, 1e-9)

	s = Summarize(rounds[1])
	require.Equal(t, 1, s.Measured)
	require.Nil(t, s.IOPS.CILow)
	require.True(t, rounds[1][1].Failed())
	require.Contains(t, rounds[1][1].Error, "input/output error")
	require.Nil(t, rounds[1][1].Sample)
	require.Nil(t, rounds[1][1].IOPS)
	require.Contains(t, rounds[1][2].Error, "accounting: issued 6, but 5 ended")
	require.NotNil(t, rounds[1][2].Sample)
	require.Equal(t, compare.Estimate{}, Summarize(nil).IOPS)
	require.NotNil(t, Effective(rounds[1]))
	require.Nil(t, Effective(rounds[2]))
}

func TestExecuteStops(t *testing.T) {
	t.Run("gone", func(t *testing.T) {
		job := task(2, func(_ context.Context, s Step) (compare.Sample, error) {
			if s.Order == 3 {
				return compare.Sample{}, fmt.Errorf("%w: %w", compare.ErrStop, syscall.ENODEV)
			}
			return sampleOf(10), nil
		})
		out, rounds, err := job.Execute(t.Context())
		require.ErrorIs(t, err, compare.ErrStop)
		require.ErrorIs(t, err, syscall.ENODEV)
		require.True(t, out.Interrupted)
		require.Equal(t, 3, len(rounds[0])+len(rounds[1]))
	})
	t.Run("interrupted", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		job := task(2, func(_ context.Context, s Step) (compare.Sample, error) {
			sample := sampleOf(10)
			if s.Order == 4 {
				cancel(errors.New("SIGINT"))
				sample.WindowNS /= 2
			}
			return sample, nil
		})
		out, rounds, err := job.Execute(ctx)
		require.ErrorContains(t, err, "ended after 4 of 6 runs: SIGINT")
		require.Equal(t, "SIGINT", out.StopReason)
		require.Equal(t, uint64(40), out.Totals.OK)
		last := append(rounds[0], rounds[1]...)
		cut := 0
		for i := range last {
			if last[i].Interrupted {
				cut++
				require.False(t, last[i].Failed(), "no fault of the cell")
				require.Contains(t, last[i].Error, "interrupted after 500ms of 1s")
			}
		}
		require.Equal(t, 1, cut)
	})
}

func TestRatios(t *testing.T) {
	rounds := func(rates ...uint64) (out []Round) {
		for i, n := range rates {
			r, _ := newRound(new(good()), Step{Round: i + 1}, time.Now(), sampleOf(n), nil, false)
			out = append(out, r)
		}
		return out
	}
	base, fast := rounds(100, 200, 300), rounds(120, 240, 360)
	p := Paired(fast, base)
	require.InDelta(t, 1.2, *p.Median, 1e-9)
	require.Equal(t, 3, p.Pairs)
	require.Equal(t, stats.VerdictHigher, p.Verdict)
	u := Unpaired(fast, base)
	require.InDelta(t, 1.2, *u.Median, 1e-9)
	require.Equal(t, stats.VerdictSame, u.Verdict, "without pairs the drift is noise")
	require.Zero(t, u.Pairs)
	require.Nil(t, Paired(fast, nil))
	require.Nil(t, Unpaired(nil, base))
	require.Equal(t, stats.VerdictUnknown, Unpaired(fast[:2], base).Verdict)
}

func TestOnThreadAndMeasure(t *testing.T) {
	allowed, err := sys.AllowedCPUs()
	require.NoError(t, err)
	cpu := allowed[len(allowed)-1]
	sample, err := OnThread(&cpu, func() (compare.Sample, error) {
		pinned, err := sys.AllowedCPUs()
		require.NoError(t, err)
		require.Equal(t, []int{cpu}, pinned)
		q, err := nopio.Open(nopio.Config{Depth: 4, Kernel: &ringtest.Kernel{}})
		if err != nil {
			return compare.Sample{}, err
		}
		cfg := workload.Config{Batch: 2, Rule: iosetup.RuleFio, Pattern: workload.Read, Blocks: 1, NLB: 1, Runtime: 20 * time.Millisecond}
		s, err := Measure(t.Context(), q, cfg, 4096, iosetup.Effective{RegisteredRing: true})
		return s, errors.Join(err, q.Close())
	})
	require.NoError(t, err)
	require.NoError(t, addsUp(&sample))
	require.Equal(t, sample.OK*4096, sample.Bytes)
	require.True(t, sample.Settings.RegisteredRing)
	require.NotNil(t, sample.SubmitPerCall)

	_, err = OnThread(new(iosetup.MaxCPU), func() (compare.Sample, error) { panic("not reached") })
	require.ErrorContains(t, err, "pin to CPU 8191")
	_, err = Measure(t.Context(), noQueue{}, workload.Config{Batch: 2}, 0, iosetup.Effective{})
	require.ErrorContains(t, err, "batch 2")
}

// noQueue is a queue that no run gets as far as using.
type noQueue struct{ workload.Queue }

func (noQueue) Depth() int { return 1 }

func TestAddsUp(t *testing.T) {
	for want, s := range map[string]compare.Sample{
		"":                    sampleOf(4),
		"issued 5, but 4":     {WindowNS: 1, Run: compare.Counts{Issued: 5, OK: 4}},
		"more commands":       {WindowNS: 1, OK: 2, Run: compare.Counts{Issued: 1, OK: 1}},
		"longer --runtime":    {Run: compare.Counts{Issued: 1, OK: 1}},
		"(ok 0, failed 1, ca": {WindowNS: 1, Failed: 1, Run: compare.Counts{Issued: 1, OK: 1}},
	} {
		err := addsUp(&s)
		if want == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, want)
	}
}

func TestDecode(t *testing.T) {
	type record struct {
		Schema string  `json:"schema"`
		Rounds []Round `json:"rounds"`
	}
	r, err := newRound(new(good()), Step{Round: 1, Order: 2}, time.Now(), sampleOf(7), nil, false)
	require.NoError(t, err)
	b, err := json.Marshal(record{"x/1", []Round{r}})
	require.NoError(t, err)
	require.Contains(t, string(b), `"iops":7,`, "rates stand beside the round itself")
	var back record
	require.NoError(t, Decode(bytes.NewReader(b), "x/1", &back))
	require.Equal(t, []Round{r}, back.Rounds)
	for in, want := range map[string]string{
		"":                              "not a JSON document",
		"x":                             "not a JSON document",
		`{"schema":"x/1"} {}`:           "more than one",
		`{"schema":"x/2"}`:              `this command reads "x/1"`,
		`{"schema":1}`:                  "cannot unmarshal",
		`[]`:                            "cannot unmarshal",
		`{"schema":"x/1","rounds":"y"}`: "cannot unmarshal",
	} {
		require.ErrorContains(t, Decode(strings.NewReader(in), "x/1", &record{}), want, in)
	}
}

func TestWarningsAndNotices(t *testing.T) {
	s := Settings{Rounds: 2}
	require.Equal(t, []string{
		"no intervals and no verdicts with --rounds 2: run 3 or more",
		"3 of 9 commands failed: rates count only those that ended well",
		"1 of 9 commands were cancelled by the driver",
	}, Warnings(&s, compare.Counts{Issued: 9, OK: 5, Failed: 3, Cancelled: 1}))
	require.Empty(t, Warnings(new(good()), compare.Counts{Issued: 9, OK: 9}))
	var n Notices
	for i := range 10 {
		n.Add(fmt.Sprint("c", i), "late")
		n.Add("c0", "late")
	}
	n.Add("d", "lost")
	require.Equal(t, []string{"late: c0, c1, c2, c3, c4, c5, c6, c7 and 2 more", "lost: d"}, n.Sentences())
}

func TestEnvironment(t *testing.T) {
	e := Environment(compare.Environment{})
	require.NotNil(t, e.Devices)
	require.NotNil(t, e.Mitigations)
	require.NotNil(t, e.IOUringFeatures)
}
