package sweep

import (
	"io"

	"github.com/nvmepass/nvmepass/internal/compare"
	"github.com/nvmepass/nvmepass/internal/trial"
)

// Schema names the JSON form of [Result]. Its number rises when a key changes
// its meaning or goes; new keys do not raise it.
const Schema = "nvmepass.sweep/1"

// Result is one sweep: what was asked, where it ran, every round, and what
// follows from them.
type Result struct {
	Schema string `json:"schema"`
	// ToolVersion is the caller's to fill.
	ToolVersion string `json:"tool_version"`
	trial.Outcome
	Config Config `json:"config"`
	// Limits say where one read stops being one command.
	Limits Limits `json:"limits"`
	// Environment is the caller's to set, with SetEnvironment.
	Environment compare.Environment `json:"environment"`
	// Cells are in the order of the table. Each is here, run or not.
	Cells []CellResult `json:"cells"`
	// Warnings say what a reader of the figures must know, one sentence each.
	Warnings []string `json:"warnings"`
}

// CellResult is one cell with all its rounds.
type CellResult struct {
	Cell
	// Commands is the least number of NVMe commands that one read takes.
	Commands int `json:"commands_per_read"`
	// NotRun says why the cell is not run; empty if it is.
	NotRun string `json:"not_run"`
	// Rounds has one entry for each time the cell was run, in order.
	Rounds []trial.Round `json:"rounds"`
	trial.Summary
	// BytesPerSecond is the bandwidth of reads that ended well.
	BytesPerSecond compare.Estimate `json:"bytes_per_second"`
	// Cliff is set where the path moves much less than at a smaller size.
	Cliff *Cliff `json:"cliff"`
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

// FirstAbove is the smallest size swept that one command does not carry, 0 if
// all fit.
func (r *Result) FirstAbove() int {
	for _, size := range r.Config.Sizes {
		if r.Limits.Pieces(size) > 1 {
			return size
		}
	}
	return 0
}

// Summarize derives from the rounds everything that follows from them.
func (r *Result) Summarize() {
	for i := range r.Cells {
		c := &r.Cells[i]
		c.Summary, c.Cliff = trial.Summarize(c.Rounds), nil
		c.BytesPerSecond = trial.Estimate(c.Rounds, func(r *trial.Round) *float64 { return r.BytesPerSecond })
	}
	for _, p := range r.Config.Paths {
		r.findCliffs(p)
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
