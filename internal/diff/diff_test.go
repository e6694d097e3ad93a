package diff

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/compare"
	"github.com/nvmepass/nvmepass/internal/record"
	"github.com/nvmepass/nvmepass/internal/stats"
)

// recordOf is a record with one cell for each list of rounds, in rows named
// after their number.
func recordOf(name string, cells ...[]float64) *record.Record {
	r := &record.Record{
		Name: name, Kind: "compare", Schema: compare.Schema, Started: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Devices: []record.Device{{Path: "/dev/ng0n1"}},
		Config:      []record.Setting{{Name: "block_size_bytes", Value: "512"}, {Name: "rounds", Value: "3"}},
		Environment: []record.Setting{{Name: "kernel", Value: "5.15.0"}},
	}
	for i, rounds := range cells {
		r.Cells = append(r.Cells, cellOf(fmt.Sprintf("%d_1", i+1), rounds))
	}
	return r
}

func cellOf(row string, rounds []float64) record.Cell {
	c := record.Cell{Key: record.Key{Device: "/dev/ng0n1", Row: row, Column: "block", Metric: record.IOPS}, Rounds: rounds, Planned: len(rounds)}
	if m, ok := stats.Median(rounds); ok {
		c.Median = &m
	}
	if s, ok := stats.SpreadOf(rounds); ok {
		c.Spread = &s
	}
	return c
}

func compared(t *testing.T, old, updated *record.Record, opt Options) *Result {
	t.Helper()
	r, err := Compare(old, updated, opt)
	require.NoError(t, err)
	return r
}

// The published rounds of completion batching on the interrupt path, which its
// author calls about the same (seeds: S5).
var (
	s5Before = []float64{254820, 251174, 250806}
	s5After  = []float64{255972, 251920, 251794}
)

func TestS5IsTheSame(t *testing.T) {
	r := compared(t, recordOf("before", s5Before), recordOf("after", s5After), Options{})
	c := r.Cells[0]
	require.Equal(t, Same, c.Verdict)
	require.InDelta(t, 0.0038, *c.Change, 0.0005)
	require.Greater(t, *c.CILow, -0.03)
	require.Less(t, *c.CIHigh, 0.03)
	require.InDelta(t, *c.New.Mean / *c.Old.Mean - 1, *c.Change, 1e-12)
	require.Nil(t, c.RoundsNeeded)

	// No claim is made that three rounds cannot bear.
	r = compared(t, recordOf("before", s5Before), recordOf("after", s5After), Options{Margin: 0.005})
	require.Equal(t, TooNoisy, r.Cells[0].Verdict)
	require.Greater(t, *r.Cells[0].RoundsNeeded, 3)
}

// The published figures of bio recycling are one number each (S2): 3,111,520
// before and 3,417,120 after. Their rounds here scatter as those of S5 do, the
// only such rounds in print.
func TestS2IsFound(t *testing.T) {
	scatter := func(rate float64) []float64 {
		var out []float64
		for _, x := range s5Before {
			out = append(out, rate*x/s5Before[1])
		}
		return out
	}
	before, after := scatter(3111520), scatter(3417120)
	r := compared(t, recordOf("before", before), recordOf("after", after), Options{})
	require.Equal(t, Faster, r.Cells[0].Verdict)
	require.InDelta(t, 3417120.0/3111520-1, *r.Cells[0].Change, 1e-9)
	require.Greater(t, *r.Cells[0].CILow, 0.05)
	require.Equal(t, 1, r.Counts[Faster])

	back := compared(t, recordOf("after", after), recordOf("before", before), Options{})
	require.Equal(t, Slower, back.Cells[0].Verdict)

	// Also among the other fifteen cells of a table.
	old, updated := [][]float64{before}, [][]float64{after}
	for range 15 {
		old, updated = append(old, s5Before), append(updated, s5After)
	}
	r = compared(t, recordOf("before", old...), recordOf("after", updated...), Options{})
	require.Equal(t, Faster, r.Cells[0].Verdict)
	require.Equal(t, 15, r.Counts[Same])
}

// A time that rises is slower.
func TestLowerIsBetter(t *testing.T) {
	old, updated := recordOf("old", []float64{100, 101, 100}), recordOf("new", []float64{130, 131, 130})
	old.Cells[0].LowerIsBetter, updated.Cells[0].LowerIsBetter = true, true
	require.Equal(t, Slower, compared(t, old, updated, Options{}).Cells[0].Verdict)
}

func TestSmallButCertainChangeIsTheSame(t *testing.T) {
	r := compared(t, recordOf("old", []float64{1000, 1001, 1000, 999}), recordOf("new", []float64{1011, 1010, 1010, 1009}), Options{})
	require.Equal(t, Same, r.Cells[0].Verdict, "1 %% is within the margin of 3 %%")
	require.Less(t, *r.Cells[0].P, 1e-5)
	r = compared(t, recordOf("old", []float64{1000, 1001, 1000, 999}), recordOf("new", []float64{1011, 1010, 1010, 1009}), Options{Margin: 0.005})
	require.Equal(t, Faster, r.Cells[0].Verdict)
}

func TestTooFewRounds(t *testing.T) {
	r := compared(t, recordOf("old", []float64{5, 6}, nil, []float64{1, 1, 1}), recordOf("new", []float64{5, 6, 7}, []float64{1, 2, 3}, []float64{1, 0, 1}), Options{})
	require.Equal(t, []Verdict{TooNoisy, NoFigure, TooNoisy}, []Verdict{r.Cells[0].Verdict, r.Cells[1].Verdict, r.Cells[2].Verdict})
	require.Equal(t, stats.MinSamples, *r.Cells[0].RoundsNeeded)
	require.Nil(t, r.Cells[0].Change)
	require.Equal(t, 2, r.Counts[TooNoisy])
}

func TestDifferencesAndRefusal(t *testing.T) {
	old, updated := recordOf("old.json", s5Before), recordOf("new.json", s5After)
	updated.Environment = []record.Setting{{Name: "kernel", Value: "5.16.0"}, {Name: "governor", Value: "performance"}}
	updated.Config = []record.Setting{{Name: "block_size_bytes", Value: "512"}, {Name: "rounds", Value: "5"}}
	r := compared(t, old, updated, Options{})
	require.Equal(t, []Difference{{"kernel", "5.15.0", "5.16.0", false}, {"governor", "-", "performance", false}}, r.Environment)
	require.Equal(t, []Difference{{"rounds", "3", "5", false}}, r.Config)

	updated.Config[0].Value = "4096"
	_, err := Compare(old, updated, Options{})
	var mismatch *MismatchError
	require.ErrorAs(t, err, &mismatch)
	for _, part := range []string{"old.json", "new.json", "block_size_bytes is 512 against 4096", "--force"} {
		require.ErrorContains(t, err, part)
	}
	r = compared(t, old, updated, Options{Force: true})
	require.True(t, r.Config[0].Refused)

	updated.Config[0].Value = "512"
	updated.Emulated = true
	_, err = Compare(old, updated, Options{})
	require.ErrorContains(t, err, "emulated is false against true")
	require.Contains(t, compared(t, old, updated, Options{Force: true}).Warnings[0], "EMULATED")

	updated.Emulated, updated.Schema, updated.Kind = false, "nvmepass.nop/1", "nop"
	_, err = Compare(old, updated, Options{Force: true})
	require.ErrorContains(t, err, "nvmepass nop")

	other := recordOf("other.json")
	other.Cells = []record.Cell{cellOf("8_2", s5Before)}
	_, err = Compare(old, other, Options{})
	require.ErrorContains(t, err, "no cell is in both")

	for _, margin := range []float64{-1, 1, math.NaN(), math.Inf(1)} {
		_, err = Compare(old, old, Options{Margin: margin})
		require.ErrorContains(t, err, "margin")
	}
}

func TestTemperaturesThatAreCloseAreNoDifference(t *testing.T) {
	at := func(v string) []record.Setting {
		return []record.Setting{{Name: "devices[0].temperature_before_celsius", Value: v}}
	}
	require.Empty(t, differences(at("40"), at("44"), always))
	require.Empty(t, differences(at("44"), at("40"), always))
	require.Len(t, differences(at("40"), at("45"), always), 1)
	require.Len(t, differences(at("-"), at("45"), always), 1)
}

// One drive may have another name after a boot; of several, names tell them apart.
func TestDevicesArePaired(t *testing.T) {
	old, updated := recordOf("old", s5Before), recordOf("new", s5After)
	updated.Devices[0].Path, updated.Cells[0].Device = "/dev/ng3n1", "/dev/ng3n1"
	r := compared(t, old, updated, Options{})
	require.Len(t, r.Cells, 1)
	require.Empty(t, r.OnlyOld)
	require.Empty(t, r.OnlyNew)

	updated = recordOf("new", s5After, s5After)
	updated.Devices = append(updated.Devices, record.Device{Path: "/dev/ng1n1"})
	updated.Cells[1].Device, updated.Cells[1].Row = "/dev/ng1n1", "1_1"
	r = compared(t, old, updated, Options{})
	require.Len(t, r.Cells, 1)
	require.Equal(t, []record.Key{updated.Cells[1].Key}, r.OnlyNew)
	require.Len(t, compared(t, updated, old, Options{}).OnlyOld, 1)
}

func TestEffectiveDifferences(t *testing.T) {
	old, updated := recordOf("old", s5Before, s5Before), recordOf("new", s5After, s5After)
	for i := range old.Cells {
		old.Cells[i].Effective = []record.Setting{{Name: "polled", Value: "true"}}
		updated.Cells[i].Effective = []record.Setting{{Name: "polled", Value: "false"}}
	}
	r := compared(t, old, updated, Options{})
	require.Equal(t, []Difference{{"block: polled", "true", "false", false}}, r.Effective, "told once for a path")
}

func TestDriftIsTold(t *testing.T) {
	steady, drifting := make([]float64, 20), make([]float64, 20)
	for i := range steady {
		steady[i] = 1000 + float64(i%3)
		drifting[i] = steady[i] * (1 + 0.2*float64(i/10))
	}
	r := compared(t, recordOf("old", steady), recordOf("new", drifting), Options{})
	require.Len(t, r.Warnings, 1)
	require.Contains(t, r.Warnings[0], "new drifted")
	require.Contains(t, r.Warnings[0], "1_1 block")
	require.Empty(t, compared(t, recordOf("old", steady), recordOf("new", steady), Options{}).Warnings)
}

func TestFailOn(t *testing.T) {
	slow := []float64{950, 951, 950}
	r := compared(t, recordOf("old", []float64{1000, 1001, 1000}, []float64{1000, 1001, 1000}, []float64{1, 100, 1000}),
		recordOf("new", slow, []float64{1100, 1101, 1100}, []float64{1, 100, 1000}), Options{})
	count := func(list string) (out []int) {
		fails, err := ParseFailOn(list)
		require.NoError(t, err)
		for _, f := range fails {
			out = append(out, len(r.Failing(f)))
		}
		return out
	}
	require.Equal(t, []int{1, 1, 2, 1}, count("slower, faster,changed,noisy"))
	require.Equal(t, []int{1, 0, 1, 0}, count("slower:4.9%,slower:5.1%,faster:9.9%,faster:10.1%"))
	require.Equal(t, []int{2, 1}, count("changed:3%,changed:6%"))

	for _, bad := range []string{"", "slow", "slower:", "slower:3", "slower:0%", "slower:-1%", "slower:NaN%", "slower:100%", "noisy:3%", "slower,,faster", "slower:3%%"} {
		_, err := ParseFailOn(bad)
		require.ErrorContains(t, err, "--fail-on", bad)
	}
	f, err := ParseFailOn("slower:2.5%")
	require.NoError(t, err)
	require.Equal(t, "slower:2.5%", f[0].String())
}

func TestVerdictsAreAll(t *testing.T) {
	require.Len(t, Verdicts(), 5)
	require.True(t, slices.Contains(Verdicts(), TooNoisy))
}

func TestCommonChangeIsTold(t *testing.T) {
	base := [][]float64{{1000, 1010, 990}, {2000, 2020, 1980}, {3000, 3030, 2970}, {4000, 4040, 3960}}
	slower := make([][]float64, len(base))
	for i, rounds := range base {
		for _, v := range rounds {
			slower[i] = append(slower[i], v*0.85)
		}
	}
	r := compared(t, recordOf("old", base...), recordOf("new", slower...), Options{})
	require.Equal(t, 4, r.Counts[Slower])
	require.Len(t, r.Warnings, 1)
	require.Contains(t, r.Warnings[0], "-15.0 %")

	slower[2] = base[2] // one cell that did not change clears the machine
	require.Empty(t, compared(t, recordOf("old", base...), recordOf("new", slower...), Options{}).Warnings)
	require.Empty(t, compared(t, recordOf("old", base...), recordOf("new", base...), Options{}).Warnings)
}
