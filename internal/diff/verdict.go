package diff

import (
	"math"

	"github.com/nvmepass/nvmepass/internal/compare"
	"github.com/nvmepass/nvmepass/internal/stats"
)

// Verdict says whether a cell changed.
type Verdict string

// The verdicts.
const (
	// Faster and Slower say that the change is not chance.
	Faster Verdict = "faster"
	Slower Verdict = "slower"
	// Same says that the whole interval lies within the margin.
	Same Verdict = "same"
	// TooNoisy says that neither can be said.
	TooNoisy Verdict = "too noisy"
	// NoFigure says that one of the records has no measured round of the cell.
	NoFigure Verdict = "no figure"
)

// Verdicts are all of them, in the order in which counts are told.
func Verdicts() []Verdict { return []Verdict{Faster, Slower, Same, TooNoisy, NoFigure} }

// judge gives every cell its verdict.
func (r *Result) judge() {
	var ps []float64
	for i := range r.Cells {
		if c := r.Cells[i].change; c != nil {
			ps = append(ps, c.P())
		}
	}
	adjusted := stats.Holm(ps)
	for i := range r.Cells {
		c := &r.Cells[i]
		if c.change != nil {
			c.P, c.PAdjusted = &ps[0], &adjusted[0]
			ps, adjusted = ps[1:], adjusted[1:]
			r.measured(c)
		} else if c.Verdict = NoFigure; c.Old.Rounds > 0 && c.New.Rounds > 0 {
			c.Verdict, c.RoundsNeeded = TooNoisy, new(stats.MinSamples)
		}
		r.Counts[c.Verdict]++
	}
}

// measured judges a cell that has an interval.
func (r *Result) measured(c *CellDiff) {
	iv := c.change.Interval()
	c.Change = compare.Float(math.Exp(c.change.Log) - 1)
	c.CILow, c.CIHigh = compare.Float(iv.Low-1), compare.Float(iv.High-1)
	switch {
	case iv.Low >= 1-r.Margin && iv.High <= 1+r.Margin:
		c.Verdict = Same
	case *c.PAdjusted > r.FamilyError:
		c.Verdict = TooNoisy
		tests := 0
		for i := range r.Cells {
			if r.Cells[i].change != nil {
				tests++
			}
		}
		c.RoundsNeeded = new(c.change.RoundsToSee(r.VisibleChange, r.FamilyError/float64(tests), Power, MaxRoundsNeeded))
	case (c.change.Log > 0) != c.LowerIsBetter:
		c.Verdict = Faster
	default:
		c.Verdict = Slower
	}
}
