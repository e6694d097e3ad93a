package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMedian(t *testing.T) {
	for _, tc := range []struct {
		name string
		in   []float64
		want float64
		ok   bool
	}{
		{"none", nil, 0, false},
		{"one", []float64{7}, 7, true},
		{"two", []float64{9, 1}, 5, true},
		{"odd, unsorted", []float64{5, 1, 3}, 3, true},
		{"even", []float64{4, 1, 3, 2}, 2.5, true},
		{"zeros count", []float64{0, 0, 8}, 0, true},
		{"no overflow", []float64{math.MaxFloat64, math.MaxFloat64}, math.MaxFloat64, true},
		{"NaN", []float64{1, math.NaN(), 2}, 0, false},
		{"infinity", []float64{1, math.Inf(1)}, 0, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			before := slices.Clone(tc.in)
			got, ok := Median(tc.in)
			require.Equal(t, tc.ok, ok)
			require.Equal(t, tc.want, got)
			require.Equal(t, len(before), len(tc.in))
			for i := range before {
				require.Equal(t, math.Float64bits(before[i]), math.Float64bits(tc.in[i]), "the input was changed")
			}
		})
	}
}

// The quantiles are those printed in tables of Student's distribution.
func TestStudentQuantiles(t *testing.T) {
	for _, tc := range []struct{ p, df, want float64 }{
		{0.975, 1, 12.706205},
		{0.975, 2, 4.302653},
		{0.975, 3, 3.182446},
		{0.975, 4, 2.776445},
		{0.975, 5, 2.570582},
		{0.975, 9, 2.262157},
		{0.975, 29, 2.045230},
		{0.975, 120, 1.979930},
		{0.975, 1e6, 1.959966},
		{0.95, 4, 2.131847},
		{0.995, 10, 3.169273},
	} {
		require.InDelta(t, tc.want, tQuantile(tc.p, tc.df), 1e-5, "p=%g df=%g", tc.p, tc.df)
	}
}

func TestRegularizedBeta(t *testing.T) {
	require.Zero(t, regularizedBeta(0, 2, 3))
	require.Equal(t, 1.0, regularizedBeta(1, 2, 3))
	require.InDelta(t, 0.5, regularizedBeta(0.5, 4, 4), 1e-14)
	require.InDelta(t, 0.3, regularizedBeta(0.3, 1, 1), 1e-14)
	// I_x(2,3) = 6x^2 - 8x^3 + 3x^4
	for _, x := range []float64{0.1, 0.4, 0.6, 0.9} {
		require.InDelta(t, 6*x*x-8*x*x*x+3*x*x*x*x, regularizedBeta(x, 2, 3), 1e-13)
	}
}

func TestRateInterval(t *testing.T) {
	// Logs -1, 0, 1: mean 0, standard deviation 1, half width 4.302653/sqrt(3).
	iv, ok := RateInterval([]float64{math.E, 1, 1 / math.E})
	require.True(t, ok)
	half := 4.302652729749464 / math.Sqrt(3)
	require.InDelta(t, math.Exp(half), iv.High, 1e-6)
	require.InDelta(t, math.Exp(-half), iv.Low, 1e-9)

	iv, ok = RateInterval([]float64{13300.7, 13300.7, 13300.7, 13300.7})
	require.True(t, ok)
	require.Equal(t, Interval{13300.7, 13300.7}, iv)

	for name, xs := range map[string][]float64{
		"none":      nil,
		"one":       {5},
		"two":       {5, 6},
		"zero":      {5, 0, 6},
		"negative":  {5, -1, 6},
		"NaN":       {5, math.NaN(), 6},
		"infinity":  {5, math.Inf(1), 6},
		"overflows": {1e-300, 1, 1e300},
	} {
		iv, ok := RateInterval(xs)
		require.False(t, ok, name)
		require.Equal(t, Interval{}, iv, name)
	}
}

func TestPairedRatio(t *testing.T) {
	// Both rates drift by a factor of three; their quotient does not.
	r, ok := PairedRatio([]float64{120, 240, 360, 121, 239}, []float64{100, 200, 300, 100, 200})
	require.True(t, ok)
	require.True(t, r.HasInterval)
	require.InDelta(t, 1.2, r.Median, 1e-9)
	require.True(t, r.Interval.Contains(1.2))
	require.Less(t, r.Interval.High-r.Interval.Low, 0.02)
	require.Equal(t, VerdictHigher, Same(r))

	inverse, ok := PairedRatio([]float64{100, 200, 300, 100, 200}, []float64{120, 240, 360, 121, 239})
	require.True(t, ok)
	require.Equal(t, VerdictLower, Same(inverse))
	require.InDelta(t, 1, r.Interval.Low*inverse.Interval.High, 1e-9, "an inverse ratio has the inverse interval")

	r, ok = PairedRatio([]float64{101, 99, 100}, []float64{100, 100, 100})
	require.True(t, ok)
	require.Equal(t, VerdictSame, Same(r))

	for name, rates := range map[string][]float64{"one round": {120}, "two rounds": {120, 121}, "a zero rate": {120, 0, 121}} {
		base := slices.Repeat([]float64{100}, len(rates))
		r, ok = PairedRatio(rates, base)
		require.True(t, ok, name)
		require.False(t, r.HasInterval, name)
		require.Equal(t, VerdictUnknown, Same(r), name)
	}

	for name, pair := range map[string][2][]float64{
		"none":     {nil, nil},
		"unequal":  {{1, 2}, {1}},
		"no base":  {{1, 2, 3}, {1, 0, 3}},
		"negative": {{1, -2, 3}, {1, 2, 3}},
		"NaN":      {{1, math.NaN(), 3}, {1, 2, 3}},
		"infinity": {{1, 2, 3}, {1, math.Inf(1), 3}},
		"overflow": {{1, math.MaxFloat64, 3}, {1, math.SmallestNonzeroFloat64, 3}},
	} {
		r, ok := PairedRatio(pair[0], pair[1])
		require.False(t, ok, name)
		require.Equal(t, Ratio{}, r, name)
	}
}

// The share of intervals that contain the true rate must be what is promised, for every number of rounds a user may choose.
func TestIntervalCoverage(t *testing.T) {
	const trials = 8000
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{3, 5, 10, 30} {
		covered := 0
		xs := make([]float64, n)
		for range trials {
			for i := range xs {
				xs[i] = 13300 * math.Exp(0.03*rng.NormFloat64())
			}
			if iv, ok := RateInterval(xs); ok && iv.Contains(13300) {
				covered++
			}
		}
		// The standard error of a share of 0.95 over 8000 trials is 0.0024.
		require.InDelta(t, Confidence, float64(covered)/trials, 0.008, "%d rounds", n)
	}
}

// Rounds that drift must not produce differences: of pairs that are equal but for noise, one in twenty may be called
// different, however far the drift goes. A real difference of 10 % must be found in nearly every run of five rounds.
func TestPairedVerdictUnderDrift(t *testing.T) {
	const trials = 5000
	rng := rand.New(rand.NewPCG(3, 4))
	verdicts := func(factor float64) map[Verdict]int {
		count := map[Verdict]int{}
		rates, base := make([]float64, 5), make([]float64, 5)
		for range trials {
			for i := range rates {
				drift := 1e6 * math.Exp(0.3*rng.NormFloat64())
				base[i] = drift * math.Exp(0.02*rng.NormFloat64())
				rates[i] = drift * factor * math.Exp(0.02*rng.NormFloat64())
			}
			if r, ok := PairedRatio(rates, base); ok {
				count[Same(r)]++
			}
		}
		return count
	}
	equal := verdicts(1)
	require.InDelta(t, Confidence, float64(equal[VerdictSame])/trials, 0.01)
	faster := verdicts(1.1)
	require.Greater(t, float64(faster[VerdictHigher])/trials, 0.97)
	require.Zero(t, faster[VerdictLower])
}

// Up to seven rounds a printed median lies inside its printed interval, whatever the rounds are.
func TestMedianLiesInInterval(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for n := MinSamples; n <= 7; n++ {
		xs := make([]float64, n)
		for range 2000 {
			for i := range xs {
				xs[i] = math.Exp(10 * math.Pow(rng.Float64(), 8)) // mostly alike, with far outliers on one side
			}
			m, _ := Median(xs)
			iv, ok := RateInterval(xs)
			require.True(t, ok)
			require.True(t, iv.Contains(m), "%v: median %v outside %v", xs, m, iv)
		}
	}
}
