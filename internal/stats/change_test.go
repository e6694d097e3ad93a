package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// The pairs of samples of TestWelch, whose probabilities are in print too: 0.021
// and 0.149.
func TestUnpairedChange(t *testing.T) {
	c, ok := UnpairedChange(exps(welchA), exps(welchB))
	require.True(t, ok)
	require.InDelta(t, -2.166667, c.Log, 1e-5)
	require.InDelta(t, 0.021378, c.P(), 1e-5)
	r, ok := UnpairedRatio(exps(welchA), exps(welchB))
	require.True(t, ok)
	require.InEpsilon(t, r.Interval.Low, c.Interval().Low, 1e-9)
	require.InEpsilon(t, r.Interval.High, c.Interval().High, 1e-9)

	c, ok = UnpairedChange(exps(welchC), exps(welchD))
	require.True(t, ok)
	require.InDelta(t, 0.1488, c.P(), 1e-4)

	same, ok := UnpairedChange([]float64{5, 5, 5}, []float64{5, 5, 5, 5})
	require.True(t, ok)
	require.Equal(t, 1.0, same.P())
	require.Equal(t, Interval{1, 1}, same.Interval())
	exact, ok := UnpairedChange([]float64{6, 6, 6}, []float64{5, 5, 5})
	require.True(t, ok)
	require.Zero(t, exact.P())

	for name, xs := range map[string][]float64{
		"none": nil, "two": {1, 2}, "zero": {1, 2, 0}, "negative": {1, 2, -3}, "NaN": {1, 2, math.NaN()}, "infinite": {1, 2, math.Inf(1)},
	} {
		_, ok := UnpairedChange(xs, []float64{1, 2, 3})
		require.False(t, ok, name)
		_, ok = UnpairedChange([]float64{1, 2, 3}, xs)
		require.False(t, ok, name)
	}
}

// An interval that ends at 1 has a probability of 1 less its coverage.
func TestPAgreesWithInterval(t *testing.T) {
	c := Change{Log: 0.03, StandardError: 0.03 / tQuantile(0.975, 7.4), DF: 7.4}
	require.InDelta(t, 1-Confidence, c.P(), 1e-9)
	require.InDelta(t, 1, c.Interval().Low, 1e-9)
}

func TestHolm(t *testing.T) {
	require.Empty(t, Holm(nil))
	require.Equal(t, []float64{0.03}, Holm([]float64{0.03}))
	in := []float64{0.04, 0.01, 0.03, 0.6}
	require.InDeltaSlice(t, []float64{0.09, 0.04, 0.09, 0.6}, Holm(in), 1e-12)
	require.Equal(t, []float64{0.04, 0.01, 0.03, 0.6}, in)
	require.Equal(t, []float64{1, 1}, Holm([]float64{0.7, 0.9}))
}

// As many rounds as are said to be needed find the change as often as promised.
func TestRoundsToSee(t *testing.T) {
	const level, power = 0.003, 0.95
	spread := Change{Variance: 0.03 * 0.03, VarianceBase: 0.05 * 0.05}
	n := spread.RoundsToSee(0.05, level, power, 10000)
	rng := rand.New(rand.NewPCG(7, 8))
	found, foundFewer := 0, 0
	const runs = 2000
	draw := func(n int, rate, sd float64) []float64 {
		xs := make([]float64, n)
		for i := range xs {
			xs[i] = rate * math.Exp(sd*rng.NormFloat64())
		}
		return xs
	}
	for range runs {
		c, ok := UnpairedChange(draw(n, 1.05, 0.03), draw(n, 1, 0.05))
		require.True(t, ok)
		if c.P() <= level {
			found++
		}
		if c, _ = UnpairedChange(draw(n*2/3, 1.05, 0.03), draw(n*2/3, 1, 0.05)); c.P() <= level {
			foundFewer++
		}
	}
	require.InDelta(t, power, float64(found)/runs, 0.02, "%d rounds", n)
	require.Less(t, float64(foundFewer)/runs, power-0.03, "two thirds of the rounds do not do")

	require.Equal(t, MinSamples, Change{}.RoundsToSee(0.05, level, power, 1000))
	require.Equal(t, 50, Change{Variance: 1}.RoundsToSee(0.05, level, power, 50))
	needs := []int{}
	for _, change := range []float64{0.01, 0.02, 0.05, 0.1} {
		needs = append(needs, spread.RoundsToSee(change, level, power, 1<<20))
	}
	require.True(t, slices.IsSortedFunc(needs, func(a, b int) int { return b - a }), needs)
}

// The moments of rates tell about as much as the rates.
func TestSpreadOfMoments(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	xs := make([]float64, 4000)
	var sum, squares float64
	for i := range xs {
		xs[i] = 5000 * math.Exp(0.2*rng.NormFloat64())
		sum += xs[i]
	}
	mean := sum / float64(len(xs))
	for _, x := range xs {
		squares += (x - mean) * (x - mean)
	}
	want, ok := SpreadOf(xs)
	require.True(t, ok)
	got, ok := SpreadOfMoments(len(xs), mean, math.Sqrt(squares/float64(len(xs))))
	require.True(t, ok)
	require.Equal(t, want.N, got.N)
	require.InDelta(t, want.Mean, got.Mean, 1e-3)
	require.InEpsilon(t, want.Variance, got.Variance, 0.05)

	for name, m := range map[string][2]float64{"zero": {0, 1}, "negative": {-1, 1}, "NaN": {math.NaN(), 1}, "infinite": {1, math.Inf(1)}, "deviation": {1, -1}} {
		_, ok := SpreadOfMoments(5, m[0], m[1])
		require.False(t, ok, name)
	}
	_, ok = SpreadOfMoments(2, 1, 0)
	require.False(t, ok, "too few")
}
