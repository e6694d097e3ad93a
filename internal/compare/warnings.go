package compare

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nvmepass/nvmepass/internal/iosetup"
	"github.com/nvmepass/nvmepass/internal/stats"
)

// maxNamedCells bounds how many cells one warning names.
const maxNamedCells = 8

// notices collects sentences and the cells that each is about, in the order of their first appearance.
type notices struct {
	texts []string
	cells map[string][]string
}

func (n *notices) add(cell, text string) {
	if n.cells == nil {
		n.cells = map[string][]string{}
	}
	if _, known := n.cells[text]; !known {
		n.texts = append(n.texts, text)
	}
	if !slices.Contains(n.cells[text], cell) {
		n.cells[text] = append(n.cells[text], cell)
	}
}

func (n *notices) sentences() []string {
	var out []string
	for _, text := range n.texts {
		cells := n.cells[text]
		more := ""
		if len(cells) > maxNamedCells {
			more = fmt.Sprintf(" and %d more", len(cells)-maxNamedCells)
			cells = cells[:maxNamedCells]
		}
		out = append(out, text+": "+strings.Join(cells, ", ")+more)
	}
	return out
}

// warnings returns what a reader of the figures must know beyond the figures themselves.
func (r *Result) warnings() []string {
	out := []string{}
	if r.Config.Rounds < stats.MinSamples {
		out = append(out, fmt.Sprintf("no intervals and no verdicts with --rounds %d: run %d or more", r.Config.Rounds, stats.MinSamples))
	}
	if r.Totals.Failed > 0 {
		out = append(out, fmt.Sprintf("%d of %d commands failed: rates count only those that ended well", r.Totals.Failed, r.Totals.Issued))
	}
	if r.Totals.Cancelled > 0 {
		out = append(out, fmt.Sprintf("%d of %d commands were cancelled by the driver", r.Totals.Cancelled, r.Totals.Issued))
	}
	missing := 0
	var n notices
	for i := range r.Cells {
		cell := &r.Cells[i]
		if cell.Measured == 0 {
			missing++
			continue
		}
		name := r.cellName(cell.Cell)
		if cell.IOPS.Median != nil && *cell.IOPS.Median == 0 {
			n.add(name, "no command ended well inside the window")
		}
		r.settingsNotices(&n, name, cell)
	}
	if missing > 0 {
		out = append(out, fmt.Sprintf("%d of %d cells have no figure", missing, len(r.Cells)))
	}
	return append(append(out, n.sentences()...), r.unequalSettings()...)
}

// cellName leaves the device out where there is only one.
func (r *Result) cellName(c Cell) string {
	if len(r.Config.Devices) == 1 {
		return c.short()
	}
	return c.String()
}

// settingsNotices compares what took effect in one cell with what its path and the configuration ask for.
func (r *Result) settingsNotices(n *notices, name string, cell *CellResult) {
	mode, err := iosetup.ModeVariant(r.Config.Mode, cell.Variant)
	if err != nil { // of a record that was written by hand
		return
	}
	var first *iosetup.Effective
	for i := range cell.Rounds {
		round := &cell.Rounds[i]
		if !round.used() {
			continue
		}
		s := &round.Sample.Settings
		if first == nil {
			first = s
		} else if !first.Equal(s) {
			n.add(name, "effective settings changed between rounds")
		}
		switch {
		case cell.Path.Polled() && !s.Polled:
			n.add(name, "NOT polled: the figure is one of interrupts")
		case !cell.Path.Polled() && s.Polled:
			n.add(name, "polled, though its path waits for interrupts")
		}
		for _, what := range s.Missing(mode) {
			if cell.WithoutEffect { // said in its place
				break
			}
			n.add(name, what+" were asked for and did not take effect")
		}
	}
}

// unequalSettings warns where one path had an advantage that another had not, so that the comparison is not like for like.
func (r *Result) unequalSettings() []string {
	advantages := []struct {
		name string
		has  func(*iosetup.Effective) bool
	}{
		{"fixed buffers", (*iosetup.Effective).Fixed},
		{"registered files", func(s *iosetup.Effective) bool { return s.RegisteredFiles }},
		{"a registered ring", func(s *iosetup.Effective) bool { return s.RegisteredRing }},
	}
	var out []string
	for _, a := range advantages {
		var with, without []string
		for _, path := range r.Config.Paths {
			settings := r.pathSettings(path)
			switch {
			case len(settings) == 0:
			case slices.ContainsFunc(settings, func(s *iosetup.Effective) bool { return !a.has(s) }):
				without = append(without, string(path))
			default:
				with = append(with, string(path))
			}
		}
		if len(with) > 0 && len(without) > 0 {
			out = append(out, fmt.Sprintf("the paths were not treated alike: %s used %s throughout, %s did not",
				strings.Join(with, ", "), a.name, strings.Join(without, ", ")))
		}
	}
	return out
}

func (r *Result) pathSettings(path iosetup.Path) []*iosetup.Effective {
	var out []*iosetup.Effective
	for i := range r.Cells {
		if r.Cells[i].Path != path || r.Cells[i].Variant != "" {
			continue
		}
		for j := range r.Cells[i].Rounds {
			if round := &r.Cells[i].Rounds[j]; round.used() {
				out = append(out, &round.Sample.Settings)
			}
		}
	}
	return out
}
