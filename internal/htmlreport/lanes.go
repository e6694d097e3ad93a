package htmlreport

import (
	"slices"

	"github.com/nvmepass/nvmepass/internal/record"
)

// lane is one device of one record: one table, and one colour in charts that
// have several.
type lane struct {
	rec    *record.Record
	device string
	// name tells it from the others; label is name with the mark of emulated
	// figures, for charts.
	name, label string
}

// group is the lanes of one kind of record, with what their cells have between
// them.
type group struct {
	kind, metric  string
	lanes         []lane
	rows, columns []string
}

// groups sorts records by kind and metric, in the order in which they come.
func groups(records []*record.Record) []*group {
	var out []*group
	for _, r := range records {
		for i := range r.Cells {
			c := &r.Cells[i]
			g := find(&out, r.Kind, c.Metric)
			if !slices.ContainsFunc(g.lanes, func(l lane) bool { return l.rec == r && l.device == c.Device }) {
				g.lanes = append(g.lanes, newLane(r, c.Device))
			}
			g.rows, g.columns = appendNew(g.rows, c.Row), appendNew(g.columns, c.Column)
		}
	}
	return out
}

func find(list *[]*group, kind, metric string) *group {
	for _, g := range *list {
		if g.kind == kind && g.metric == metric {
			return g
		}
	}
	g := &group{kind: kind, metric: metric}
	*list = append(*list, g)
	return g
}

func newLane(r *record.Record, device string) lane {
	l := lane{rec: r, device: device, name: r.Name}
	if len(r.Devices) > 1 {
		l.name += " " + device
	}
	if l.label = l.name; r.Emulated {
		l.label += " (EMULATED)"
	}
	return l
}

func appendNew(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

func (l *lane) cell(g *group, row, column, variant string) *record.Cell {
	return l.rec.Cell(record.Key{Device: l.device, Row: row, Column: column, Variant: variant, Metric: g.metric})
}

func (g *group) emulated() bool {
	return slices.ContainsFunc(g.lanes, func(l lane) bool { return l.rec.Emulated })
}

// variants of a lane are the switches that it turned over.
func (l *lane) variants(g *group) []string {
	var out []string
	for i := range l.rec.Cells {
		if c := &l.rec.Cells[i]; c.Device == l.device && c.Metric == g.metric && c.Variant != "" {
			out = appendNew(out, c.Variant)
		}
	}
	return out
}

// hasRatios tells whether any cell as asked for has a ratio.
func (l *lane) hasRatios(g *group) bool {
	return slices.ContainsFunc(l.rec.Cells, func(c record.Cell) bool {
		return c.Device == l.device && c.Metric == g.metric && c.Variant == "" && c.Ratio != nil
	})
}

// own are the rows and columns of a group that the lane has a cell in.
func (l *lane) own(g *group) (rows, columns []string) {
	has := func(match func(*record.Cell) bool) bool {
		return slices.ContainsFunc(l.rec.Cells, func(c record.Cell) bool {
			return c.Device == l.device && c.Metric == g.metric && match(&c)
		})
	}
	for _, row := range g.rows {
		if has(func(c *record.Cell) bool { return c.Row == row }) {
			rows = append(rows, row)
		}
	}
	for _, column := range g.columns {
		if has(func(c *record.Cell) bool { return c.Column == column }) {
			columns = append(columns, column)
		}
	}
	return rows, columns
}
