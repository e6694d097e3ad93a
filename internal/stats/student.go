package stats

import "math"

// tQuantile returns the p-quantile of Student's t with df degrees of freedom, for 0.5 < p < 1 and df >= 1. It bisects the
// distribution function, so it is as exact as that: about 1e-12.
func tQuantile(p, df float64) float64 {
	high := 1.0
	for tCDF(high, df) < p {
		high *= 2
	}
	low := 0.0
	for range 200 {
		mid := (low + high) / 2
		if mid == low || mid == high {
			break
		}
		if tCDF(mid, df) < p {
			low = mid
		} else {
			high = mid
		}
	}
	return high
}

// tCDF returns P(T <= t) for t >= 0 (Abramowitz and Stegun 26.7.1, written with the incomplete beta function).
func tCDF(t, df float64) float64 {
	return 1 - regularizedBeta(df/(df+t*t), df/2, 0.5)/2
}

// regularizedBeta returns the regularized incomplete beta function I_x(a, b) for 0 <= x <= 1 and a, b > 0. The
// continued fraction (Abramowitz and Stegun 26.5.8) converges fast only on one side of the mean; the other side is mirrored.
func regularizedBeta(x, a, b float64) float64 {
	if x <= 0 {
		return 0
	}
	if x >= 1 {
		return 1
	}
	if x > (a+1)/(a+b+2) {
		return 1 - regularizedBeta(1-x, b, a)
	}
	lab, _ := math.Lgamma(a + b)
	la, _ := math.Lgamma(a)
	lb, _ := math.Lgamma(b)
	front := math.Exp(lab - la - lb + a*math.Log(x) + b*math.Log1p(-x))
	return front / a / betaFraction(x, a, b)
}

// betaFraction evaluates 1 + d1/(1 + d2/(1 + ...)), the continued fraction of the incomplete beta function, by the
// modified Lentz method.
func betaFraction(x, a, b float64) float64 {
	const (
		tiny      = 1e-300 // stands in for a zero denominator
		precision = 1e-15
		maxTerms  = 500
	)
	f, c, d := 1.0, 1.0, 0.0
	for i := 1; i <= maxTerms; i++ {
		m := float64(i / 2)
		var term float64
		if i%2 == 0 {
			term = m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m))
		} else {
			term = -(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1))
		}
		d = 1 + term*d
		if d == 0 {
			d = tiny
		}
		d = 1 / d
		c = 1 + term/c
		if c == 0 {
			c = tiny
		}
		f *= c * d
		if math.Abs(c*d-1) < precision {
			break
		}
	}
	return f
}
