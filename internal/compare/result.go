package compare

import (
	"fmt"
	"slices"
	"time"

	"github.com/nvmepass/nvmepass/internal/iosetup"
	"github.com/nvmepass/nvmepass/internal/stats"
)

// Schema names the JSON form of [Result]. Its number rises when a key changes its meaning or goes; new keys do not raise it.
const Schema = "nvmepass.compare/1"

// Result is one comparison: what was asked, where it ran, every sample, and what follows from them.
type Result struct {
	Schema string `json:"schema"`
	// ToolVersion is the caller's to fill.
	ToolVersion string `json:"tool_version"`
	// Started and Finished are in UTC, to the millisecond.
	Started  time.Time `json:"started"`
	Finished time.Time `json:"finished"`
	// Interrupted says that the plan was not carried out to its end; StopReason says why.
	Interrupted bool   `json:"interrupted"`
	StopReason  string `json:"stop_reason"`
	Config      Config `json:"config"`
	// Environment is the caller's to set, with SetEnvironment.
	Environment Environment `json:"environment"`
	// Cells are in the order of the table: by device, then row, then column. Each planned cell is here, run or not.
	Cells []CellResult `json:"cells"`
	// Totals are the sums over all samples, warm-up and drain included, and also over samples that no median uses.
	Totals Counts `json:"totals"`
	// Warnings say what a reader of the figures must know, one sentence each.
	Warnings []string `json:"warnings"`
}

// CellResult is one cell with all its rounds.
type CellResult struct {
	Cell
	// Rounds has one entry for each time the cell was started, in order.
	Rounds []Round `json:"rounds"`
	// Measured is the number of rounds that the figures below rest on: those with a sample and without an error.
	Measured int `json:"rounds_measured"`
	// IOPS are commands that ended well, per second.
	IOPS Estimate `json:"iops"`
	// The following are medians over the rounds; nil where they cannot be had.
	BytesPerSecond   *float64 `json:"bytes_per_second"`
	SubmitPerCall    *float64 `json:"submit_per_call"`
	ReapPerCall      *float64 `json:"reap_per_call"`
	MeanInFlight     *float64 `json:"mean_in_flight"`
	UserCPUNSPerIO   *float64 `json:"user_cpu_ns_per_io"`
	SystemCPUNSPerIO *float64 `json:"system_cpu_ns_per_io"`
	// RatioToBlock compares IOPS with the block path's, round by round; nil for the block path itself, where block was not
	// run, and where no round has both.
	RatioToBlock *Ratio `json:"ratio_to_block"`
	// RatioToBase compares IOPS of a variant with those of the same path and depth in the mode as asked for; nil for the latter.
	RatioToBase *Ratio `json:"ratio_to_base"`
	// WithoutEffect says of a variant that its switch took effect in no measured round: the kernel or the device has it not, or the
	// path runs the same with and without it.
	WithoutEffect bool `json:"without_effect"`
}

// Round is one run of one cell.
type Round struct {
	// Round counts from 1; Order is the step's place in the plan, from 1.
	Round int `json:"round"`
	Order int `json:"order"`
	// Started is in UTC, to the millisecond.
	Started time.Time `json:"started"`
	// Error says why the round is not used; empty when it is.
	Error string `json:"error"`
	// Interrupted says that the end of the whole run cut this round short, so that Error is no fault of the cell.
	Interrupted bool `json:"interrupted"`
	// Sample is nil when nothing was issued. A sample beside an error counts in the totals only.
	Sample *Sample `json:"sample"`
	// Rates are derived from Sample; nil where that is.
	Rates *Rates `json:"rates"`
}

// Estimate is a median with its 95 % interval. Each is nil where it cannot be had; the interval needs 3 rounds above zero.
type Estimate struct {
	Median *float64 `json:"median"`
	CILow  *float64 `json:"ci_low"`
	CIHigh *float64 `json:"ci_high"`
}

// Ratio is the median of the paired ratios of all rounds, with its 95 % interval and what follows from it.
type Ratio struct {
	Estimate
	// Pairs is the number of rounds in which both cells were measured.
	Pairs   int           `json:"pairs"`
	Verdict stats.Verdict `json:"verdict"`
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

// FailedRounds returns how many runs of cells ended in an error, not counting those that an interruption cut short.
func (r *Result) FailedRounds() int {
	n := 0
	for i := range r.Cells {
		for j := range r.Cells[i].Rounds {
			if r.Cells[i].Rounds[j].failed() {
				n++
			}
		}
	}
	return n
}

// SetEnvironment records where the run took place.
func (r *Result) SetEnvironment(env Environment) {
	env.normalize()
	r.Environment = env
	for _, d := range env.Devices {
		if d.LBAFormat.ProtectionType > 0 && slices.ContainsFunc(r.Config.Paths, iosetup.Path.Passthru) && !allPassthru(r.Config.Paths) {
			r.Warnings = append(r.Warnings, fmt.Sprintf("%s has protection information: the block layer computes and checks it on the processor, passthrough leaves that to the controller (PRACT), so that the paths do not do the same work", d.Path))
		}
	}
}

func allPassthru(paths []iosetup.Path) bool {
	return !slices.ContainsFunc(paths, func(p iosetup.Path) bool { return !p.Passthru() })
}

func (r *Round) failed() bool { return r.Error != "" && !r.Interrupted }

// used reports whether the round counts in the cell's figures.
func (r *Round) used() bool { return r.Error == "" && r.Sample != nil && r.Rates != nil }
