package stats

// Ratio compares one rate with another, round by round. A ratio of 1.2 means that the first rate was 20 % above the second.
type Ratio struct {
	// Median of the quotients of all rounds.
	Median float64
	// Interval is the 95 % interval of the quotients. It counts only when HasInterval is set, which takes at least
	// MinSamples rounds, none of them with a rate of zero.
	Interval    Interval
	HasInterval bool
}

// Verdict says on which side of 1 a ratio lies, as far as the rounds can tell.
type Verdict string

// The verdicts of [Same].
const (
	// VerdictSame means that the interval of the ratio contains 1: the rounds show no difference.
	VerdictSame Verdict = "same"
	// VerdictHigher means that the whole interval lies above 1.
	VerdictHigher Verdict = "higher"
	// VerdictLower means that the whole interval lies below 1.
	VerdictLower Verdict = "lower"
	// VerdictUnknown means that there is no interval to judge by.
	VerdictUnknown Verdict = "unknown"
)

// PairedRatio divides rates[i] by base[i], where both were measured in the same round. The second result is false when no
// quotient can be had: slices empty or of unequal length, a base of zero, or a value that is negative or not finite.
func PairedRatio(rates, base []float64) (Ratio, bool) {
	if len(rates) != len(base) {
		return Ratio{}, false
	}
	quotients := make([]float64, len(rates))
	for i := range rates {
		if base[i] <= 0 || rates[i] < 0 || !allFinite([]float64{rates[i], base[i]}) {
			return Ratio{}, false
		}
		quotients[i] = rates[i] / base[i]
	}
	median, ok := Median(quotients)
	if !ok {
		return Ratio{}, false
	}
	iv, ok := RateInterval(quotients)
	return Ratio{Median: median, Interval: iv, HasInterval: ok}, true
}

// Same judges a ratio: [VerdictSame] when its interval contains 1, [VerdictUnknown] when it has none.
func Same(r Ratio) Verdict {
	switch {
	case !r.HasInterval:
		return VerdictUnknown
	case r.Interval.Contains(1):
		return VerdictSame
	case r.Interval.Low > 1:
		return VerdictHigher
	default:
		return VerdictLower
	}
}
