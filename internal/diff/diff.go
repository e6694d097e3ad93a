package diff

import (
	"fmt"
	"math"
	"time"

	"github.com/nvmepass/nvmepass/internal/compare"
	"github.com/nvmepass/nvmepass/internal/record"
	"github.com/nvmepass/nvmepass/internal/stats"
)

// Schema names the JSON form of [Result]. Its number rises when a key changes
// its meaning or goes; new keys do not raise it.
const Schema = "nvmepass.diff/1"

const (
	// DefaultMargin is the largest change that counts as none.
	DefaultMargin = 0.03
	// FamilyError is the probability that any cell of two runs that do not
	// differ is called faster or slower. It is below the 5 % of a single
	// interval so that more than 5 of 100 pairs of such runs cry change once in
	// sixty times, and not every third time.
	FamilyError = 0.02
	// Power is the probability with which the told number of rounds finds a change.
	Power = 0.95
	// MaxRoundsNeeded is the largest number of rounds that is told.
	MaxRoundsNeeded = 100000
)

// seeable is the change that a number of rounds is told for, in margins. A run
// that sees it has intervals narrow enough for the verdict same.
const seeable = 5.0 / 3

// Options choose how to compare. The zero value is the default.
type Options struct {
	// Margin is the largest change that counts as none, as a share above 0 and
	// below 1; 0 is DefaultMargin.
	Margin float64
	// Force compares runs that were not made alike.
	Force bool
}

// Result is a comparison of two records.
type Result struct {
	Schema string `json:"schema"`
	// ToolVersion is the caller's to fill.
	ToolVersion string `json:"tool_version"`
	Old         Side   `json:"old"`
	New         Side   `json:"new"`
	// Margin and FamilyError are those of the verdicts; VisibleChange is the one
	// that CellDiff.RoundsNeeded is about.
	Margin        float64 `json:"margin"`
	FamilyError   float64 `json:"family_error"`
	VisibleChange float64 `json:"visible_change"`
	// The differences are in the order of the records; Effective ones are of the
	// modes that cells really ran in.
	Environment []Difference `json:"environment_differences"`
	Config      []Difference `json:"config_differences"`
	Effective   []Difference `json:"effective_differences"`
	// Cells are those that both records have, in the old one's order.
	Cells []CellDiff `json:"cells"`
	// OnlyOld and OnlyNew are the cells that one record has alone.
	OnlyOld []record.Key `json:"only_old"`
	OnlyNew []record.Key `json:"only_new"`
	// Counts says how many cells have each verdict.
	Counts map[Verdict]int `json:"counts"`
	// Warnings say what a reader of the verdicts must know.
	Warnings []string `json:"warnings"`
}

// Side is the head of one record.
type Side struct {
	Name        string    `json:"name"`
	Schema      string    `json:"schema"`
	ToolVersion string    `json:"tool_version"`
	Started     time.Time `json:"started"`
	Title       string    `json:"title"`
	Emulated    bool      `json:"emulated"`
	Interrupted bool      `json:"interrupted"`
}

// CellDiff is one cell of both records.
type CellDiff struct {
	record.Key
	Old Figure `json:"old"`
	New Figure `json:"new"`
	// LowerIsBetter is true for times.
	LowerIsBetter bool `json:"lower_is_better"`
	// Change is the quotient of the geometric means less 1: 0.1 is a tenth more.
	// The interval is the 95 % one of this cell by itself. All are nil where
	// there is no interval.
	Change *float64 `json:"change"`
	CILow  *float64 `json:"ci_low"`
	CIHigh *float64 `json:"ci_high"`
	// P is Welch's probability of such a difference by chance, PAdjusted that
	// adjusted for the number of cells.
	P         *float64 `json:"p"`
	PAdjusted *float64 `json:"p_adjusted"`
	Verdict   Verdict  `json:"verdict"`
	// RoundsNeeded is how many rounds each run needs to see VisibleChange; nil
	// where the verdict is not TooNoisy. MaxRoundsNeeded stands for more as well.
	RoundsNeeded *int `json:"rounds_needed"`

	change *stats.Change // nil where there is no interval
}

// Figure is a cell's figure in one record.
type Figure struct {
	// Median and its interval are those that the record itself shows.
	compare.Estimate
	// Mean is the geometric mean of the rounds, which Change is the quotient of;
	// the median where there are too few.
	Mean *float64 `json:"geometric_mean"`
	// Rounds is the number of rounds that it rests on.
	Rounds int `json:"rounds"`
}

// Compare compares two records. The error is a [*MismatchError] where they were
// not made alike and opt does not force it, or where they have no cell in common.
func Compare(old, updated *record.Record, opt Options) (*Result, error) {
	if opt.Margin == 0 {
		opt.Margin = DefaultMargin
	}
	if !(opt.Margin > 0 && opt.Margin < 1) {
		return nil, fmt.Errorf("margin %v: need a share above 0 and below 1, such as %v", opt.Margin, DefaultMargin)
	}
	r := &Result{
		Schema: Schema, Old: side(old), New: side(updated), Margin: opt.Margin, FamilyError: FamilyError, VisibleChange: seeable * opt.Margin,
		Environment: differences(old.Environment, updated.Environment, always), Config: differences(old.Config, updated.Config, mustMatch),
		Cells: []CellDiff{}, OnlyOld: []record.Key{}, OnlyNew: []record.Key{}, Effective: []Difference{}, Counts: map[Verdict]int{}, Warnings: []string{},
	}
	if err := r.alike(old, updated, opt.Force); err != nil {
		return nil, err
	}
	r.pair(old, updated)
	if len(r.Cells) == 0 {
		return nil, &MismatchError{Old: old.Name, New: updated.Name, Why: "no cell is in both", Remedy: "compare records with a device, QD_batch and path in common"}
	}
	r.judge()
	r.warn(old, updated)
	return r, nil
}

func side(r *record.Record) Side {
	return Side{Name: r.Name, Schema: r.Schema, ToolVersion: r.ToolVersion, Started: r.Started, Title: r.Title, Emulated: r.Emulated, Interrupted: r.Interrupted}
}

// pair finds the cells that both records have. Where each has one device, its
// name does not matter: another kernel may number drives differently.
func (r *Result) pair(old, updated *record.Record) {
	device := func(path string) string { return path }
	if len(old.Devices) == 1 && len(updated.Devices) == 1 {
		device = func(string) string { return old.Devices[0].Path }
	}
	index := map[record.Key]*record.Cell{}
	for i := range updated.Cells {
		key := updated.Cells[i].Key
		key.Device = device(key.Device)
		if index[key] == nil {
			index[key] = &updated.Cells[i]
		}
	}
	paired := map[record.Key]bool{}
	for i := range old.Cells {
		o := &old.Cells[i]
		n := index[o.Key]
		switch {
		case n == nil:
			r.OnlyOld = append(r.OnlyOld, o.Key)
		case !paired[o.Key]:
			paired[o.Key] = true
			r.Cells = append(r.Cells, cellDiff(o, n))
			r.effective(o, n)
		}
	}
	for i := range updated.Cells {
		key := updated.Cells[i].Key
		key.Device = device(key.Device)
		if !paired[key] {
			r.OnlyNew = append(r.OnlyNew, key)
		}
	}
}

func cellDiff(o, n *record.Cell) CellDiff {
	return CellDiff{
		Key: o.Key, LowerIsBetter: o.LowerIsBetter,
		Old: figure(o), New: figure(n),
		change: changeOf(n.Spread, o.Spread),
	}
}

func figure(c *record.Cell) Figure {
	f := Figure{Estimate: c.Estimate, Mean: c.Median, Rounds: len(c.Rounds)}
	if c.Spread != nil {
		f.Rounds, f.Mean = c.Spread.N, compare.Float(math.Exp(c.Spread.Mean))
	} else if f.Rounds == 0 && f.Median != nil {
		f.Rounds = 1
	}
	return f
}

// changeOf is nil where one side tells too little, or where the change is beyond
// all numbers.
func changeOf(rate, base *stats.Spread) *stats.Change {
	if rate == nil || base == nil {
		return nil
	}
	c := stats.ChangeBetween(*rate, *base)
	if iv := c.Interval(); math.IsInf(iv.High, 0) || math.IsNaN(iv.High) {
		return nil
	}
	return &c
}

// warn says what is not in the table.
func (r *Result) warn(old, updated *record.Record) {
	if old.Emulated != updated.Emulated {
		r.Warnings = append(r.Warnings, "one of the two runs is EMULATED: their figures do not compare")
	}
	for _, side := range []*record.Record{old, updated} {
		if side.Interrupted {
			r.Warnings = append(r.Warnings, fmt.Sprintf("%s was interrupted: %s", side.Name, side.StopReason))
		}
	}
	r.drift(old, updated)
	r.common()
}
