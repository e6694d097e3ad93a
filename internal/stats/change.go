package stats

import (
	"cmp"
	"math"
	"slices"
)

// Change is what two sets of rounds, measured at different times, tell about
// the quotient of the rates that they repeat.
type Change struct {
	// Log is the difference of the means of the logarithms: the logarithm of the
	// quotient of the geometric means.
	Log float64
	// StandardError is that of Log, 0 where no round differs from another of its
	// side.
	StandardError float64
	// DF are the degrees of freedom of Welch and Satterthwaite; they mean nothing
	// where StandardError is 0.
	DF float64
	// VarianceBase and Variance are those of the logarithms of single rounds.
	VarianceBase, Variance float64
}

// rounding is what sums of logarithms may be off by: no scatter of rates, which
// are counts over times, is as small.
const rounding = 1e-12

// Spread is how often a rate was measured, and the mean and the variance of the
// logarithms.
type Spread struct {
	N              int
	Mean, Variance float64
}

// SpreadOf summarizes rounds. The second result is false for fewer than
// [MinSamples], and when one of them is zero, negative or not finite.
func SpreadOf(xs []float64) (Spread, bool) {
	if len(xs) < MinSamples || !allFinite(xs) || slices.Min(xs) <= 0 {
		return Spread{}, false
	}
	s := Spread{N: len(xs)}
	s.Mean, s.Variance = meanAndVariance(logs(xs))
	return s, true
}

// SpreadOfMoments is the spread of n values of which the mean and the standard
// deviation, with n in its denominator, are known alone: exactly that of
// logarithms that are normally distributed. The second result is as for
// [SpreadOf].
func SpreadOfMoments(n int, mean, deviation float64) (Spread, bool) {
	if n < MinSamples || !allFinite([]float64{mean, deviation}) || mean <= 0 || deviation < 0 {
		return Spread{}, false
	}
	relative := deviation / mean
	variance := math.Log1p(relative * relative * float64(n) / float64(n-1))
	return Spread{N: n, Mean: math.Log(mean) - variance/2, Variance: variance}, true
}

// Interval is that of the rate, [Confidence] of which contain the true one: for
// rounds the same as [RateInterval].
func (s Spread) Interval() Interval {
	half := 0.0
	if s.Variance > 0 {
		half = tQuantile(1-(1-Confidence)/2, float64(s.N-1)) * math.Sqrt(s.Variance/float64(s.N))
	}
	return Interval{math.Exp(s.Mean - half), math.Exp(s.Mean + half)}
}

// ChangeBetween compares a rate with base, by Welch's method.
func ChangeBetween(rate, base Spread) Change {
	c := Change{Log: rate.Mean - base.Mean, Variance: rate.Variance, VarianceBase: base.Variance}
	a, b := rate.Variance/float64(rate.N), base.Variance/float64(base.N)
	c.StandardError = math.Sqrt(a + b)
	c.DF = (a + b) * (a + b) / (a*a/float64(rate.N-1) + b*b/float64(base.N-1))
	if c.StandardError < rounding {
		c.StandardError = 0
	}
	if math.Abs(c.Log) < rounding {
		c.Log = 0
	}
	return c
}

// UnpairedChange compares the rounds of rates with those of base. The second
// result is false where one of them has no spread.
func UnpairedChange(rates, base []float64) (Change, bool) {
	a, ok := SpreadOf(rates)
	b, okBase := SpreadOf(base)
	if !ok || !okBase {
		return Change{}, false
	}
	return ChangeBetween(a, b), true
}

func logs(xs []float64) []float64 {
	out := make([]float64, len(xs))
	for i, x := range xs {
		out[i] = math.Log(x)
	}
	return out
}

// Interval is that of the quotient, [Confidence] of which contain the true one.
func (c Change) Interval() Interval {
	half := 0.0
	if c.StandardError > 0 {
		half = tQuantile(1-(1-Confidence)/2, c.DF) * c.StandardError
	}
	return Interval{math.Exp(c.Log - half), math.Exp(c.Log + half)}
}

// P is the probability of a difference as large as this one, in either
// direction, between rounds of one and the same rate (Welch's test).
func (c Change) P() float64 {
	switch {
	case c.StandardError > 0:
		t := c.Log / c.StandardError
		return regularizedBeta(c.DF/(c.DF+t*t), c.DF/2, 0.5)
	case c.Log != 0:
		return 0
	}
	return 1
}

// RoundsToSee returns how many rounds each side needs so that a true quotient
// of 1+change, or its inverse, has a [Change.P] of at most level with a
// probability of power, if single rounds scatter as they did here. change is
// above 0, level lies between 0 and 1, power between 0.5 and 1. The result is
// at least MinSamples and at most limit.
func (c Change) RoundsToSee(change, level, power float64, limit int) int {
	goal := math.Log1p(change)
	needed := func(df float64) float64 {
		factor := (tQuantile(1-level/2, df) + tQuantile(power, df)) / goal
		return (c.Variance + c.VarianceBase) * factor * factor
	}
	// What a normal distribution needs is a little too little.
	const normal = 1e9
	n := int(min(max(needed(normal), MinSamples), float64(limit)))
	for n < limit && float64(n) < needed(float64(2*n-2)) {
		n++
	}
	return n
}

// Holm adjusts the probabilities of several tests by Holm's method, in their
// order: rejecting those that are at most a level keeps the probability that
// any of them is rejected wrongly at that level, whatever hangs together with
// what.
func Holm(ps []float64) []float64 {
	order := make([]int, len(ps))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(ps[a], ps[b]) })
	out := make([]float64, len(ps))
	highest := 0.0
	for rank, i := range order {
		highest = max(highest, min(1, ps[i]*float64(len(ps)-rank)))
		out[i] = highest
	}
	return out
}
