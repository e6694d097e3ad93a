package trial

import (
	"github.com/nvmepass/nvmepass/internal/compare"
	"github.com/nvmepass/nvmepass/internal/stats"
)

// Summary is what follows from a cell's rounds.
type Summary struct {
	// Measured is the number of rounds that the figures rest on.
	Measured int `json:"rounds_measured"`
	// IOPS are commands that ended well, per second.
	IOPS compare.Estimate `json:"iops"`
	// The following are medians over the rounds; nil where they cannot be had.
	SubmitPerCall    *float64 `json:"submit_per_call"`
	ReapPerCall      *float64 `json:"reap_per_call"`
	MeanInFlight     *float64 `json:"mean_in_flight"`
	UserCPUNSPerIO   *float64 `json:"user_cpu_ns_per_io"`
	SystemCPUNSPerIO *float64 `json:"system_cpu_ns_per_io"`
}

// Summarize derives the figures of a cell.
func Summarize(rounds []Round) Summary {
	s := Summary{
		IOPS:             Estimate(rounds, iops),
		SubmitPerCall:    Estimate(rounds, func(r *Round) *float64 { return r.Sample.SubmitPerCall }).Median,
		ReapPerCall:      Estimate(rounds, func(r *Round) *float64 { return r.Sample.ReapPerCall }).Median,
		MeanInFlight:     Estimate(rounds, func(r *Round) *float64 { return r.Sample.MeanInFlight }).Median,
		UserCPUNSPerIO:   Estimate(rounds, func(r *Round) *float64 { return r.UserCPUNSPerIO }).Median,
		SystemCPUNSPerIO: Estimate(rounds, func(r *Round) *float64 { return r.SystemCPUNSPerIO }).Median,
	}
	for i := range rounds {
		if rounds[i].Used() {
			s.Measured++
		}
	}
	return s
}

func iops(r *Round) *float64 { return r.IOPS }

// values returns one figure of each used round that has it.
func values(rounds []Round, figure func(*Round) *float64) []float64 {
	var xs []float64
	for i := range rounds {
		if r := &rounds[i]; r.Used() {
			if v := figure(r); v != nil {
				xs = append(xs, *v)
			}
		}
	}
	return xs
}

// Estimate is the median of one figure over the used rounds that have it, with
// its 95 % interval.
func Estimate(rounds []Round, figure func(*Round) *float64) compare.Estimate {
	xs := values(rounds, figure)
	m, ok := stats.Median(xs)
	if !ok {
		return compare.Estimate{}
	}
	e := compare.Estimate{Median: &m}
	if iv, ok := stats.RateInterval(xs); ok {
		e.CILow, e.CIHigh = &iv.Low, &iv.High
	}
	return e
}

// Paired divides the IOPS of a by those of base in every round that has both;
// nil when there is none.
func Paired(a, base []Round) *compare.Ratio {
	byRound := map[int]float64{}
	for i := range base {
		if r := &base[i]; r.Used() && r.IOPS != nil {
			byRound[r.Round] = *r.IOPS
		}
	}
	var rates, bases []float64
	for i := range a {
		r := &a[i]
		if !r.Used() || r.IOPS == nil {
			continue
		}
		if b, ok := byRound[r.Round]; ok {
			rates, bases = append(rates, *r.IOPS), append(bases, b)
		}
	}
	r, ok := stats.PairedRatio(rates, bases)
	return ratioOf(r, ok, len(rates))
}

// Unpaired compares the IOPS of a cell with those of another run's; nil when
// one of the two has none. Pairs is 0.
func Unpaired(a, base []Round) *compare.Ratio {
	r, ok := stats.UnpairedRatio(values(a, iops), values(base, iops))
	return ratioOf(r, ok, 0)
}

func ratioOf(r stats.Ratio, ok bool, pairs int) *compare.Ratio {
	if !ok {
		return nil
	}
	out := &compare.Ratio{Estimate: compare.Estimate{Median: &r.Median}, Pairs: pairs, Verdict: stats.Same(r)}
	if r.HasInterval {
		out.CILow, out.CIHigh = &r.Interval.Low, &r.Interval.High
	}
	return out
}
