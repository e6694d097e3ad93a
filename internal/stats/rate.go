package stats

import (
	"math"
	"slices"
)

// Confidence is the coverage that every interval of this package aims at.
const Confidence = 0.95

// MinSamples is the smallest number of samples from which an interval, and so a verdict, is given.
const MinSamples = 3

// Interval is a closed interval in the unit of the samples it was made from. Both ends are finite and Low <= High.
type Interval struct {
	Low, High float64
}

// Contains reports whether x lies in the interval, ends included.
func (iv Interval) Contains(x float64) bool { return iv.Low <= x && x <= iv.High }

// Median returns the middle of xs, or the mean of the two middle values of an even number. It leaves xs as it is. The second
// result is false when xs is empty or holds a value that is not finite.
func Median(xs []float64) (float64, bool) {
	if len(xs) == 0 || !allFinite(xs) {
		return 0, false
	}
	s := slices.Clone(xs)
	slices.Sort(s)
	mid := len(s) / 2
	if len(s)%2 == 1 {
		return s[mid], true
	}
	return s[mid-1]/2 + s[mid]/2, true // halved first: the sum of two large values may overflow
}

// RateInterval returns the 95 % interval of the rate that xs repeats: Student's t on the mean of the logarithms. The second
// result is false for fewer than [MinSamples] samples, and when a sample is zero, negative or not finite.
func RateInterval(xs []float64) (Interval, bool) {
	if len(xs) < MinSamples || !allFinite(xs) || slices.Min(xs) <= 0 {
		return Interval{}, false
	}
	if first := xs[0]; slices.Min(xs) == first && slices.Max(xs) == first {
		return Interval{first, first}, true // exp(log(x)) need not give x back
	}
	n := float64(len(xs))
	var sum float64
	for _, x := range xs {
		sum += math.Log(x)
	}
	mean := sum / n
	var squares float64
	for _, x := range xs {
		d := math.Log(x) - mean
		squares += d * d
	}
	half := tQuantile(1-(1-Confidence)/2, n-1) * math.Sqrt(squares/(n-1)/n)
	iv := Interval{math.Exp(mean - half), math.Exp(mean + half)}
	if !allFinite([]float64{iv.Low, iv.High}) {
		return Interval{}, false
	}
	return iv, true
}

func allFinite(xs []float64) bool {
	for _, x := range xs {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return false
		}
	}
	return true
}
