package main

import (
	"fmt"
	"math"

	"github.com/nvmepass/nvmepass/internal/stats"
)

// Target is what a ratio of ours to theirs has to reach. The zero value asks for
// nothing.
type Target struct {
	// Bound of the ratio; 0 means that there is no target.
	Bound float64 `json:"bound"`
	// AtMost makes the bound an upper one, for costs.
	AtMost bool `json:"at_most"`
	// BeyondNoise makes only those ratios a miss whose whole interval lies on
	// the wrong side.
	BeyondNoise bool `json:"beyond_noise"`
}

// String is the target as a table shows it.
func (t Target) String() string {
	if t.Bound == 0 {
		return "-"
	}
	sign, noise := ">=", ""
	if t.AtMost {
		sign = "<="
	}
	if t.BeyondNoise {
		noise = " less noise"
	}
	return fmt.Sprintf("%s%.2f%s", sign, t.Bound, noise)
}

// Outcome says how a ratio stands to its target.
type Outcome string

// Outcomes. Where the interval lies wholly on one side of the bound, it decides.
// Where it reaches to both sides, the median does (under Target.BeyondNoise that
// counts as met), and "in noise" says so. Where the interval is wide besides, or
// there are too few rounds for one, nothing is decided.
const (
	NoTarget      Outcome = "-"
	Met           Outcome = "met"
	MetInNoise    Outcome = "met, in noise"
	Undecided     Outcome = "UNDECIDED, too noisy"
	MissedInNoise Outcome = "MISSED, in noise"
	Missed        Outcome = "MISSED"
)

// widest is the largest quotient of an interval's ends that lets its median
// decide, so that noise alone cannot meet a target.
const widest = 1.2

// met tells whether an outcome counts as a success.
func (o Outcome) met() bool { return o == Met || o == MetInNoise }

// judge holds a ratio against the target.
func (t Target) judge(r stats.Ratio) Outcome {
	if t.Bound == 0 {
		return NoTarget
	}
	good := r.Median >= t.Bound || t.BeyondNoise
	better, worse := r.Interval.Low >= t.Bound, r.Interval.High < t.Bound
	if t.AtMost {
		good = r.Median <= t.Bound || t.BeyondNoise
		better, worse = r.Interval.High <= t.Bound, r.Interval.Low > t.Bound
	}
	switch {
	case !r.HasInterval:
		return Undecided
	case better:
		return Met
	case worse:
		return Missed
	case r.Interval.High > widest*r.Interval.Low:
		return Undecided
	case good:
		return MetInNoise
	}
	return MissedInNoise
}

// Comparison is one metric of one cell, ours against another side's.
type Comparison struct {
	Cell   string `json:"cell"`
	Metric string `json:"metric"`
	// Ours and Theirs are medians over the rounds.
	Ours    float64 `json:"ours"`
	Against string  `json:"against"`
	Theirs  float64 `json:"theirs"`
	// Ratio is the median of ours/theirs, paired by round, Low and High its 95 %
	// interval; both are 0 where there are too few rounds.
	Ratio   float64 `json:"ratio"`
	Low     float64 `json:"ci_low"`
	High    float64 `json:"ci_high"`
	Target  Target  `json:"target"`
	Outcome Outcome `json:"outcome"`
}

// newComparison pairs the values of both sides by round.
func newComparison(cell, metric, against string, ours, theirs []float64, t Target) (Comparison, error) {
	c := Comparison{Cell: cell, Metric: metric, Against: against, Target: t}
	r, ok := stats.PairedRatio(ours, theirs)
	if !ok {
		return c, fmt.Errorf("cell %s: %s of ours %v and of %s %v make no ratio: need as many of both, and theirs above 0", cell, metric, ours, against, theirs)
	}
	c.Ours, _ = stats.Median(ours)
	c.Theirs, _ = stats.Median(theirs)
	c.Ratio, c.Outcome = r.Median, t.judge(r)
	if r.HasInterval {
		c.Low, c.High = r.Interval.Low, r.Interval.High
	}
	return c, nil
}

// rule is a comparison to be made in every cell.
type rule struct {
	metric, against string
	target          func(cell string) Target
}

// noTarget is for comparisons that are only shown.
func noTarget(string) Target { return Target{} }

// compareAll applies the rules to every cell.
func compareAll(cells []Cell, ours string, rules []rule) ([]Comparison, error) {
	var all []Comparison
	for i := range cells {
		for _, r := range rules {
			c, err := newComparison(cells[i].Name, r.metric, r.against, values(cells[i].side(ours), r.metric), values(cells[i].side(r.against), r.metric), r.target(cells[i].Name))
			if err != nil {
				return nil, err
			}
			all = append(all, c)
		}
	}
	return all, nil
}

// geometricMean compares the geometric mean over all cells, round by round.
func geometricMean(cells []Cell, ours, against, metric string, t Target) (Comparison, error) {
	mean := func(side string) []float64 {
		var logs []float64
		for i := range cells {
			v := values(cells[i].side(side), metric)
			if logs == nil {
				logs = make([]float64, len(v))
			}
			for round := range min(len(v), len(logs)) {
				logs[round] += math.Log(v[round]) / float64(len(cells))
			}
		}
		for i := range logs {
			logs[i] = math.Exp(logs[i])
		}
		return logs
	}
	return newComparison("geometric mean", metric, against, mean(ours), mean(against), t)
}
