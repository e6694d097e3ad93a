package latency

import (
	"math"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Longest is the longest time that is told apart: longer ones count as this.
// It is above the driver's time-out with an abort.
const Longest = 2 * time.Minute

// digits of every value that are kept: a recorded time is right to 0.1 %.
const digits = 3

// Histogram counts times from 1 ns to Longest. It takes about 230 KiB whatever
// is recorded, and recording allocates nothing.
type Histogram struct{ h *hdrhistogram.Histogram }

// New makes an empty Histogram.
func New() *Histogram {
	return &Histogram{hdrhistogram.New(1, int64(Longest), digits)}
}

// Record counts a time in nanoseconds.
func (h *Histogram) Record(ns int64) {
	// The one error is a value out of range, and this one is not.
	_ = h.h.RecordValue(min(max(ns, 1), int64(Longest)))
}

// Reset forgets everything.
func (h *Histogram) Reset() { h.h.Reset() }

// Merge adds what o has counted.
func (h *Histogram) Merge(o *Histogram) { h.h.Merge(o.h) }

// Count is how many times were recorded.
func (h *Histogram) Count() uint64 { return uint64(h.h.TotalCount()) }

// Percentile is a share of the commands, in per cent, and the time within which
// they ended.
type Percentile struct {
	Percent float64 `json:"percent"`
	NS      int64   `json:"ns"`
}

// Summary is what a Histogram tells, in nanoseconds.
type Summary struct {
	Count       uint64       `json:"count"`
	MinNS       int64        `json:"min_ns"`
	MaxNS       int64        `json:"max_ns"`
	MeanNS      float64      `json:"mean_ns"`
	StddevNS    float64      `json:"stddev_ns"`
	Percentiles []Percentile `json:"percentiles"`
}

// Percents are those that a Summary has: fio's default list.
func Percents() []float64 {
	return []float64{1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99, 99.5, 99.9, 99.95, 99.99}
}

// Summary summarizes, nil if nothing was recorded.
func (h *Histogram) Summary() *Summary {
	if h.h.TotalCount() == 0 {
		return nil
	}
	s := &Summary{Count: h.Count(), MinNS: h.h.Min(), MaxNS: h.h.Max(), MeanNS: h.h.Mean(), StddevNS: h.h.StdDev()}
	if math.IsNaN(s.StddevNS) {
		s.StddevNS = 0
	}
	percents := Percents()
	values := h.h.ValueAtPercentiles(percents)
	for _, p := range percents {
		s.Percentiles = append(s.Percentiles, Percentile{p, min(values[p], s.MaxNS)})
	}
	return s
}

// At is a percentile of the Summary, false if it has not that one.
func (s *Summary) At(percent float64) (ns int64, ok bool) {
	i := slices.IndexFunc(s.Percentiles, func(p Percentile) bool { return p.Percent == percent })
	if i < 0 {
		return 0, false
	}
	return s.Percentiles[i].NS, true
}
