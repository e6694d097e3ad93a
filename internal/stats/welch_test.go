package stats

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// Two pairs of samples whose statistics are in textbooks on Welch's test: t -2.46
// with 25.0 degrees of freedom, and t -1.57 with 9.9.
var (
	welchA = []float64{27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1, 21.9, 22.6, 23.1, 19.6, 19.0, 21.7, 21.4}
	welchB = []float64{27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0, 24.8, 20.2, 21.9, 22.1, 22.9, 20.5, 24.4}
	welchC = []float64{17.2, 20.9, 22.6, 18.1, 21.7, 21.4, 23.5, 24.2, 14.7, 21.8}
	welchD = []float64{21.5, 22.8, 21.0, 23.0, 21.6, 23.6, 22.5, 20.7, 23.4, 21.8, 20.7, 21.7, 21.5, 22.5, 23.6, 21.5, 22.5, 23.5, 21.5, 21.8}
)

func TestWelch(t *testing.T) {
	for _, tt := range []struct {
		a, b        []float64
		diff, t, df float64
	}{
		{welchA, welchB, -2.166667, -2.455356, 24.988529},
		{welchC, welchD, -1.525, -1.565434, 9.904741},
		{[]float64{1, 2, 3}, []float64{1, 2, 3}, 0, 0, 4},
	} {
		diff, se, df := welch(tt.a, tt.b)
		require.InDelta(t, tt.diff, diff, 1e-6)
		require.InDelta(t, tt.t, diff/se, 1e-6)
		require.InDelta(t, tt.df, df, 1e-6)
	}
}

func exps(xs []float64) []float64 {
	out := make([]float64, len(xs))
	for i, x := range xs {
		out[i] = math.Exp(x)
	}
	return out
}

func TestUnpairedRatio(t *testing.T) {
	r, ok := UnpairedRatio(exps(welchA), exps(welchB))
	require.True(t, ok)
	require.InEpsilon(t, math.Exp(21.0-22.9), r.Median, 1e-9, "of the medians")
	half := 2.05957 * 0.882425 // the tabulated quantile for 25 degrees of freedom is 2.05954
	require.InEpsilon(t, math.Exp(-2.166667-half), r.Interval.Low, 1e-3)
	require.InEpsilon(t, math.Exp(-2.166667+half), r.Interval.High, 1e-3)
	require.Equal(t, VerdictLower, Same(r))

	back, ok := UnpairedRatio(exps(welchB), exps(welchA))
	require.True(t, ok)
	require.InDelta(t, 1, r.Interval.Low*back.Interval.High, 1e-9, "an inverse ratio has the inverse interval")
	require.Equal(t, VerdictHigher, Same(back))

	same, ok := UnpairedRatio([]float64{99, 100, 101, 100}, []float64{100, 101, 99})
	require.True(t, ok)
	require.Equal(t, VerdictSame, Same(same))
	require.InDelta(t, 1, same.Median, 1e-12)

	exact, ok := UnpairedRatio([]float64{120, 120, 120}, []float64{100, 100, 100})
	require.True(t, ok)
	require.True(t, exact.HasInterval)
	require.InDelta(t, 1.2, exact.Interval.Low, 1e-12)
	require.InDelta(t, 1.2, exact.Interval.High, 1e-12)
}

func TestUnpairedRatioWithoutInterval(t *testing.T) {
	three := []float64{100, 101, 102}
	for name, tt := range map[string][2][]float64{
		"one round":    {{100}, three},
		"two of base":  {three, {100, 101}},
		"a zero round": {{100, 0, 100}, three},
		"overflows":    {{1e300, 1e300, 1}, {1e-300, 1e-8, 1e-8}},
	} {
		r, ok := UnpairedRatio(tt[0], tt[1])
		require.True(t, ok, name)
		require.False(t, r.HasInterval, name)
		require.Equal(t, VerdictUnknown, Same(r), name)
	}
	for name, tt := range map[string][2][]float64{
		"none": {nil, three}, "no base": {three, nil}, "base of zero": {three, {0, 0, 5}}, "negative": {{-1, 2, 3}, three},
		"NaN": {{math.NaN(), 1, 1}, three}, "infinite": {{1e300, 1e300, 1e300}, {1e-300, 1e-300, 1e-300}},
	} {
		r, ok := UnpairedRatio(tt[0], tt[1])
		require.False(t, ok, name)
		require.Equal(t, Ratio{}, r, name)
	}
}

// The interval holds the true ratio as often as it promises, also when one side
// has more rounds and less scatter.
func TestUnpairedRatioCovers(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const runs = 800
	hits := 0
	for range runs {
		rates, base := make([]float64, 5), make([]float64, 12)
		for i := range rates {
			rates[i] = 1.05e6 * math.Exp(0.04*rng.NormFloat64())
		}
		for i := range base {
			base[i] = 1e6 * math.Exp(0.01*rng.NormFloat64())
		}
		r, ok := UnpairedRatio(rates, base)
		require.True(t, ok)
		if r.Interval.Contains(1.05) {
			hits++
		}
	}
	require.InDelta(t, Confidence, float64(hits)/runs, 0.025)
}
