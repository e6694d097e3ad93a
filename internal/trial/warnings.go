package trial

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nvmepass/nvmepass/internal/compare"
	"github.com/nvmepass/nvmepass/internal/stats"
)

// Warnings says what a reader must know of any set of cells: too few rounds,
// failed and cancelled commands.
func Warnings(s *Settings, totals compare.Counts) []string {
	out := []string{}
	if s.Rounds < stats.MinSamples {
		out = append(out, fmt.Sprintf("no intervals and no verdicts with --rounds %d: run %d or more", s.Rounds, stats.MinSamples))
	}
	if totals.Failed > 0 {
		out = append(out, fmt.Sprintf("%d of %d commands failed: rates count only those that ended well", totals.Failed, totals.Issued))
	}
	if totals.Cancelled > 0 {
		out = append(out, fmt.Sprintf("%d of %d commands were cancelled by the driver", totals.Cancelled, totals.Issued))
	}
	return out
}

// maxNamed bounds how many cells one sentence names.
const maxNamed = 8

// Notices collects sentences and the cells that each is about, in the order of
// their first appearance. The zero value is empty.
type Notices struct {
	texts []string
	cells map[string][]string
}

// Add notes a sentence about a cell.
func (n *Notices) Add(cell, text string) {
	if n.cells == nil {
		n.cells = map[string][]string{}
	}
	if !slices.Contains(n.texts, text) {
		n.texts = append(n.texts, text)
	}
	if !slices.Contains(n.cells[text], cell) {
		n.cells[text] = append(n.cells[text], cell)
	}
}

// Sentences are the notices with the cells behind each.
func (n *Notices) Sentences() []string {
	var out []string
	for _, text := range n.texts {
		cells, more := n.cells[text], ""
		if len(cells) > maxNamed {
			more = fmt.Sprintf(" and %d more", len(cells)-maxNamed)
			cells = cells[:maxNamed]
		}
		out = append(out, text+": "+strings.Join(cells, ", ")+more)
	}
	return out
}
