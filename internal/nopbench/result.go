package nopbench

import (
	"io"

	"github.com/nvmepass/nvmepass/internal/compare"
	"github.com/nvmepass/nvmepass/internal/trial"
)

// Schema names the JSON form of [Result]. Its number rises when a key changes
// its meaning or goes; new keys do not raise it.
const Schema = "nvmepass.nop/1"

// Result is one measurement: what was asked, where it ran, every round, and
// what follows from them.
type Result struct {
	Schema string `json:"schema"`
	// ToolVersion is the caller's to fill.
	ToolVersion string `json:"tool_version"`
	trial.Outcome
	Config Config `json:"config"`
	// Environment is the caller's to set, with SetEnvironment.
	Environment compare.Environment `json:"environment"`
	// Cells are in the order of the table. Each planned cell is here, run or not.
	Cells []CellResult `json:"cells"`
	// Warnings say what a reader of the figures must know, one sentence each.
	Warnings []string `json:"warnings"`
}

// CellResult is one cell with all its rounds.
type CellResult struct {
	Cell
	// Rounds has one entry for each time the cell was run, in order.
	Rounds []trial.Round `json:"rounds"`
	trial.Summary
	// TotalIOs are the commands that ended well in the windows of all used rounds.
	TotalIOs uint64 `json:"total_ios"`
	// NSPerOp is the time of one command in nanoseconds.
	NSPerOp compare.Estimate `json:"ns_per_op"`
	// RatioToBase compares the IOPS of a variant, round by round, with those of
	// the same depth in the mode as asked for; nil for the latter.
	RatioToBase *compare.Ratio `json:"ratio_to_base"`
	// WithoutEffect says of a variant that its switch took no effect: the ring
	// ran in the same mode with and without it.
	WithoutEffect bool `json:"without_effect"`
}

// Cell returns the result of one cell, or nil when it was not planned.
func (r *Result) Cell(c Cell) *CellResult {
	for i := range r.Cells {
		if r.Cells[i].Cell == c {
			return &r.Cells[i]
		}
	}
	return nil
}

// FailedRounds counts the rounds that ended in an error, without those that an
// interruption cut short.
func (r *Result) FailedRounds() int {
	n := 0
	for i := range r.Cells {
		for j := range r.Cells[i].Rounds {
			if r.Cells[i].Rounds[j].Failed() {
				n++
			}
		}
	}
	return n
}

func (c *CellResult) summarize() {
	c.Summary = trial.Summarize(c.Rounds)
	c.NSPerOp = trial.Estimate(c.Rounds, func(r *trial.Round) *float64 {
		if r.IOPS == nil || *r.IOPS <= 0 {
			return nil
		}
		return compare.Float(1e9 / *r.IOPS)
	})
	c.TotalIOs = 0
	for i := range c.Rounds {
		if c.Rounds[i].Used() {
			c.TotalIOs += c.Rounds[i].Sample.OK
		}
	}
}

// Summarize derives from the rounds everything that follows from them.
func (r *Result) Summarize() {
	for i := range r.Cells {
		r.Cells[i].summarize()
	}
	for i := range r.Cells {
		c := &r.Cells[i]
		base := r.Cell(Cell{Op: c.Op, Depth: c.Depth})
		if c.Variant == "" || base == nil {
			continue
		}
		c.RatioToBase = trial.Paired(c.Rounds, base.Rounds)
		a, b := trial.Effective(c.Rounds), trial.Effective(base.Rounds)
		c.WithoutEffect = a != nil && b != nil && a.Equal(b)
	}
	r.Warnings = r.warnings()
}

// Decode reads a record back that was written as JSON.
func Decode(in io.Reader) (*Result, error) {
	r := new(Result)
	if err := trial.Decode(in, Schema, r); err != nil {
		return nil, err
	}
	return r, nil
}

// SetEnvironment records where the run took place.
func (r *Result) SetEnvironment(e compare.Environment) { r.Environment = trial.Environment(e) }
