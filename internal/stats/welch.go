package stats

import "math"

// UnpairedRatio compares rates that were measured at another time than base,
// such as two recorded runs: no round of one belongs to a round of the other.
// Median is the quotient of the two medians. The interval is Welch's on the
// difference of the means of the logarithms, turned back, so that neither the
// number of rounds nor the scatter need be the same; it takes MinSamples of
// each, none of them zero.
//
// The second result is false when no quotient can be had: a slice without
// samples, a value that is negative or not finite, or a median of base of zero.
//
// What differs between two runs beside the thing under test, such as the state
// of the machine, is not in the scatter of their rounds: a verdict from
// interleaved rounds, as [PairedRatio] gives, is worth more.
func UnpairedRatio(rates, base []float64) (Ratio, bool) {
	m, ok := Median(rates)
	b, okBase := Median(base)
	if !ok || !okBase || b <= 0 || negative(rates) || negative(base) || !allFinite([]float64{m / b}) {
		return Ratio{}, false
	}
	iv, ok := welchInterval(rates, base)
	return Ratio{Median: m / b, Interval: iv, HasInterval: ok}, true
}

func negative(xs []float64) bool {
	for _, x := range xs {
		if x < 0 {
			return true
		}
	}
	return false
}

// welchInterval is the interval of the quotient of two rates.
func welchInterval(rates, base []float64) (Interval, bool) {
	if len(rates) < MinSamples || len(base) < MinSamples {
		return Interval{}, false
	}
	logs := func(xs []float64) []float64 {
		out := make([]float64, len(xs))
		for i, x := range xs {
			out[i] = math.Log(x)
		}
		return out
	}
	diff, errorOfDiff, df := welch(logs(rates), logs(base))
	half := 0.0
	if errorOfDiff > 0 {
		half = tQuantile(1-(1-Confidence)/2, df) * errorOfDiff
	}
	iv := Interval{math.Exp(diff - half), math.Exp(diff + half)}
	if !allFinite([]float64{iv.Low, iv.High}) || iv.Low == 0 {
		return Interval{}, false
	}
	return iv, true
}

// welch gives the difference of the means of a and b, its standard error, and
// the degrees of freedom of Welch and Satterthwaite, which are not a number
// where the error is zero. a and b have two values at least.
func welch(a, b []float64) (diff, standardError, df float64) {
	meanA, varA := meanAndVariance(a)
	meanB, varB := meanAndVariance(b)
	nA, nB := float64(len(a)), float64(len(b))
	sA, sB := varA/nA, varB/nB
	sum := sA + sB
	return meanA - meanB, math.Sqrt(sum), sum * sum / (sA*sA/(nA-1) + sB*sB/(nB-1))
}

// meanAndVariance gives the variance with n-1 in its denominator.
func meanAndVariance(xs []float64) (mean, variance float64) {
	n := float64(len(xs))
	for _, x := range xs {
		mean += x / n
	}
	for _, x := range xs {
		variance += (x - mean) * (x - mean) / (n - 1)
	}
	return mean, variance
}
