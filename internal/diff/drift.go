package diff

import (
	"fmt"
	"math"
	"strings"

	"github.com/nvmepass/nvmepass/internal/record"
	"github.com/nvmepass/nvmepass/internal/stats"
)

// driftRounds is the number of rounds from which a record is looked at for drift.
const driftRounds = 2 * stats.MinSamples

// drift warns where the first half of a record's rounds differs from the second
// one: then its rounds do not repeat one rate, and intervals are too narrow.
func (r *Result) drift(sides ...*record.Record) {
	for _, side := range sides {
		var ps []float64
		var cells []string
		for i := range side.Cells {
			c := &side.Cells[i]
			if len(c.Rounds) < driftRounds {
				continue
			}
			half := len(c.Rounds) / 2
			if ch, ok := stats.UnpairedChange(c.Rounds[half:], c.Rounds[:half]); ok {
				ps = append(ps, ch.P())
				cells = append(cells, strings.TrimSpace(c.Row+" "+c.Column+" "+c.Variant))
			}
		}
		var drifted []string
		for i, p := range stats.Holm(ps) {
			if p <= r.FamilyError {
				drifted = append(drifted, cells[i])
			}
		}
		if len(drifted) > 0 {
			r.Warnings = append(r.Warnings, fmt.Sprintf("%s drifted between its first and its second half, so that its intervals are too narrow: %s", side.Name, named(drifted)))
		}
	}
}

// commonCells is the number of cells from which a common change is looked for.
const commonCells = 4

// common warns where all cells changed by the same share: then the machine may
// have changed, and not what was to be compared.
func (r *Result) common() {
	sum, n := 0.0, 0
	for i := range r.Cells {
		if c := r.Cells[i].change; c != nil {
			sum, n = sum+c.Log, n+1
		}
	}
	if n < commonCells {
		return
	}
	mean := math.Exp(sum / float64(n))
	if mean >= 1-r.Margin && mean <= 1+r.Margin {
		return
	}
	for i := range r.Cells {
		if c := &r.Cells[i]; c.change != nil && (c.Verdict == Same || !c.change.Interval().Contains(mean)) {
			return
		}
	}
	r.Warnings = append(r.Warnings, fmt.Sprintf("all cells changed by about the same share, %+.1f %%: see whether the machine changed (clock, temperature, neighbours) and not what was to be compared", 100*(mean-1)))
}

// named joins names, all of them if they are few.
func named(names []string) string {
	const most = 8
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}
