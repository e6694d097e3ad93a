package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/stats"
)

func TestJudge(t *testing.T) {
	ratio := func(median, low, high float64) stats.Ratio {
		return stats.Ratio{Median: median, Interval: stats.Interval{Low: low, High: high}, HasInterval: true}
	}
	atLeast, atMost := Target{Bound: 1}, Target{Bound: 1, AtMost: true}
	beyond := Target{Bound: 1, BeyondNoise: true}
	for _, tt := range []struct {
		target Target
		ratio  stats.Ratio
		want   Outcome
	}{
		{Target{}, ratio(0.1, 0.1, 0.1), NoTarget},
		{atLeast, ratio(1.1, 1.05, 1.2), Met},
		{atLeast, ratio(1.1, 1, 1.2), Met},
		{atLeast, ratio(1.01, 0.95, 1.05), MetInNoise},
		{atLeast, ratio(0.99, 0.95, 1.05), MissedInNoise},
		{atLeast, ratio(0.9, 0.85, 0.95), Missed},
		{atLeast, ratio(3, 0.5, 18), Undecided},
		{atLeast, ratio(3, 1.1, 18), Met},
		{atLeast, ratio(0.3, 0.01, 0.9), Missed},
		{atLeast, stats.Ratio{Median: 2}, Undecided},
		{atMost, ratio(0.9, 0.85, 0.95), Met},
		{atMost, ratio(0.99, 0.95, 1.05), MetInNoise},
		{atMost, ratio(1.01, 0.95, 1.05), MissedInNoise},
		{atMost, ratio(1.1, 1.05, 1.2), Missed},
		{atMost, ratio(0.9, 0.5, 1.8), Undecided},
		{beyond, ratio(0.99, 0.95, 1.05), MetInNoise},
		{beyond, ratio(0.9, 0.85, 0.95), Missed},
		{beyond, ratio(1.1, 1.05, 1.2), Met},
		{beyond, ratio(0.5, 0.05, 5), Undecided},
		{Target{Bound: 1.5}, ratio(1.4, 1.35, 1.45), Missed},
	} {
		require.Equal(t, tt.want, tt.target.judge(tt.ratio), "%v of %+v", tt.target, tt.ratio)
	}
	require.Equal(t, "-", Target{}.String())
	require.Equal(t, ">=1.03", Target{Bound: 1.03}.String())
	require.Equal(t, "<=1.00", atMost.String())
	require.Equal(t, ">=1.00 less noise", beyond.String())
}

func cellOf(name string, ours, theirs []float64) Cell {
	c := Cell{Name: name, Sides: []Side{{Name: "a"}, {Name: "b"}}}
	for i := range ours {
		c.Sides[0].Samples = append(c.Sides[0].Samples, Sample{metricIOPS: ours[i]})
		c.Sides[1].Samples = append(c.Sides[1].Samples, Sample{metricIOPS: theirs[i]})
	}
	return c
}

func TestCompareAll(t *testing.T) {
	cells := []Cell{cellOf("x", []float64{110, 220, 330}, []float64{100, 200, 300}), cellOf("y", []float64{80, 82, 84}, []float64{100, 100, 100})}
	target := func(cell string) Target {
		if cell == "x" {
			return Target{Bound: 1.05}
		}
		return Target{Bound: 1}
	}
	got, err := compareAll(cells, "a", []rule{{metricIOPS, "b", target}})
	require.NoError(t, err)
	require.Len(t, got, 2)
	require.InDelta(t, 1.1, got[0].Ratio, 1e-9)
	require.InDelta(t, 1.1, got[0].Low, 1e-9, "paired: the drift of both does not count")
	require.Equal(t, Met, got[0].Outcome)
	require.Equal(t, 220.0, got[0].Ours)
	require.Equal(t, 200.0, got[0].Theirs)
	require.Equal(t, Missed, got[1].Outcome)
	require.InDelta(t, 0.82, got[1].Ratio, 1e-9)

	_, err = compareAll(cells, "a", []rule{{metricIOPS, "nobody", target}})
	require.ErrorContains(t, err, "make no ratio")
	_, err = compareAll(cells, "a", []rule{{metricCPU, "b", target}})
	require.ErrorContains(t, err, "make no ratio")
}

func TestGeometricMean(t *testing.T) {
	cells := []Cell{cellOf("x", []float64{200, 400, 200}, []float64{100, 200, 100}), cellOf("y", []float64{50, 50, 50}, []float64{100, 100, 100})}
	got, err := geometricMean(cells, "a", "b", metricIOPS, Target{Bound: 1.05})
	require.NoError(t, err)
	require.InDelta(t, 1, got.Ratio, 1e-9, "2 and a half")
	require.InDelta(t, 100, got.Ours, 1e-9)
	require.Equal(t, Missed, got.Outcome)

	_, err = geometricMean(cells, "a", "nobody", metricIOPS, Target{})
	require.Error(t, err)
}
