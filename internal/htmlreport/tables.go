package htmlreport

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/nvmepass/nvmepass/internal/chart"
	"github.com/nvmepass/nvmepass/internal/record"
	"github.com/nvmepass/nvmepass/internal/stats"
)

// table is what the page's template draws as a table.
type table struct {
	Title, Note string
	Emulated    bool
	Head        []string
	Rows        []row
	// Left is the number of columns that are headings of their row.
	Left int
}

type row struct {
	// Differs marks settings that are not alike in all records.
	Differs bool
	Fields  []field
}

// field is a figure with what stands beside and beneath it.
type field struct {
	Text, Beside, Beneath string
	// Class is "same", "up" or "down" for ratios.
	Class string
}

func plain(texts ...string) []field {
	out := make([]field, len(texts))
	for i, s := range texts {
		out[i].Text = s
	}
	return out
}

// rowsOf is what tells the rows of a record's tables apart.
func rowsOf(r *record.Record) string {
	if r.X != "" {
		return "block size"
	}
	return "QD_batch"
}

// figures is one table in the published shape for each lane.
func (g *group) figures() []table {
	unit, per := record.Unit(g.metric)
	var out []table
	for i := range g.lanes {
		l := &g.lanes[i]
		rows, columns := l.own(g)
		t := table{Title: unit + ", " + l.name, Note: "Median, and how far the 95 % interval reaches.", Emulated: l.rec.Emulated, Head: append([]string{rowsOf(l.rec)}, columns...), Left: 1}
		beside := false
		for _, name := range rows {
			r := row{Fields: plain(name)}
			for _, column := range columns {
				c := l.cell(g, name, column, "")
				f := figure(c, per)
				if p, ok := l.rec.Published.Figure(name, column); ok && c != nil && l.rec.X == "" {
					f.Beside, beside = chart.Figure(p.Value/per), true
				}
				r.Fields = append(r.Fields, f)
			}
			t.Rows = append(t.Rows, r)
		}
		if beside {
			t.Note += " In brackets " + l.rec.Published.Name + "."
		}
		out = append(out, t)
	}
	return out
}

func figure(c *record.Cell, per float64) field {
	switch {
	case c == nil:
		return field{Text: "-"}
	case c.NotRun:
		return field{Text: "not run"}
	case c.Median == nil && len(c.Errors) > 0:
		return field{Text: "error"}
	case c.Median == nil:
		return field{Text: "-"}
	}
	f := field{Text: chart.Figure(*c.Median / per)}
	if c.CILow != nil && c.CIHigh != nil && *c.Median > 0 {
		f.Beneath = "\u00b1 " + share(max(*c.CIHigh / *c.Median - 1, 1 - *c.CILow / *c.Median, 0))
	}
	return f
}

// share writes a share in per cent, with a digit after the point below 10 %.
func share(v float64) string {
	switch {
	case v > 9.99:
		return ">999 %"
	case v >= 0.0995:
		return strconv.FormatFloat(100*v, 'f', 0, 64) + " %"
	}
	return strconv.FormatFloat(100*v, 'f', 1, 64) + " %"
}

// ratioTables is one table of ratios for each lane that has them.
func (g *group) ratioTables() []table {
	var out []table
	for i := range g.lanes {
		l := &g.lanes[i]
		rows, columns := l.own(g)
		t := table{Emulated: l.rec.Emulated, Head: append([]string{rowsOf(l.rec)}, columns...), Left: 1}
		reference, some, beside := "", false, false
		for _, name := range rows {
			r := row{Fields: plain(name)}
			for _, column := range columns {
				c := l.cell(g, name, column, "")
				f := field{Text: "-"}
				if c != nil && c.Ratio != nil && c.Ratio.Median != nil {
					f, some, reference = ratio(c), true, c.Reference
				} else if c != nil && column == "block" {
					f.Text = "1"
				}
				if p, ok := l.rec.Published.Figure(name, column); ok && p.Ratio > 0 && p.Ratio != 1 {
					f.Beside, beside = fmt.Sprintf("%.2f", p.Ratio), true
				}
				r.Fields = append(r.Fields, f)
			}
			t.Rows = append(t.Rows, r)
		}
		if !some {
			continue
		}
		t.Title = "Ratio to " + reference + ", " + l.name
		t.Note = "Paired by round; \u201csame\u201d where the interval contains 1."
		if beside {
			t.Note += " In brackets " + l.rec.Published.Name + "."
		}
		out = append(out, t)
	}
	return out
}

func ratio(c *record.Cell) field {
	f := field{Text: fmt.Sprintf("%.2f\u00d7", *c.Ratio.Median)}
	switch c.Ratio.Verdict {
	case stats.VerdictSame:
		f.Class, f.Beneath = "same", "same"
	case stats.VerdictHigher:
		f.Class = "up"
	case stats.VerdictLower:
		f.Class = "down"
	default:
		f.Beneath = "no interval"
	}
	if c.Ratio.CILow != nil && c.Ratio.CIHigh != nil {
		if f.Beneath != "" {
			f.Beneath += ", "
		}
		f.Beneath += fmt.Sprintf("%.2f\u2013%.2f", *c.Ratio.CILow, *c.Ratio.CIHigh)
	}
	return f
}

// costTables say what each cell took.
func (g *group) costTables() []table {
	var out []table
	for i := range g.lanes {
		l := &g.lanes[i]
		t := table{Title: "What each cell took, " + l.name, Note: "Medians: commands per system call, mean in flight, processor time per command.", Emulated: l.rec.Emulated, Left: 2}
		for _, name := range g.rows {
			for _, column := range g.columns {
				c := l.cell(g, name, column, "")
				if c == nil || len(c.Costs) == 0 {
					continue
				}
				if t.Head == nil {
					t.Head = []string{rowsOf(l.rec), "path"}
					for _, cost := range c.Costs {
						t.Head = append(t.Head, cost.Name)
					}
					t.Head = append(t.Head, "rounds")
				}
				r := row{Fields: plain(name, column)}
				for _, cost := range c.Costs {
					f := field{Text: "-"}
					if cost.Value != nil {
						f.Text = chart.Figure(*cost.Value)
					}
					r.Fields = append(r.Fields, f)
				}
				measured := len(c.Rounds)
				if c.Spread != nil {
					measured = c.Spread.N
				}
				r.Fields = append(r.Fields, field{Text: fmt.Sprintf("%d/%d", measured, c.Planned)})
				t.Rows = append(t.Rows, r)
			}
		}
		if len(t.Rows) > 0 {
			out = append(out, t)
		}
	}
	return out
}

// percentileTable lists latencies.
func (g *group) percentileTable() []table {
	t := table{Title: "Latency in us", Emulated: g.emulated(), Left: 1, Head: []string{""}}
	var percents []float64
	each := func(f func(name string, points []record.Percentile)) {
		for i := range g.lanes {
			l := &g.lanes[i]
			for j := range l.rec.Cells {
				if c := &l.rec.Cells[j]; c.Device == l.device && c.Metric == g.metric {
					for _, curve := range c.Latency {
						f(fmt.Sprintf("%s %s %s %s", l.name, c.Row, c.Column, curve.Name), curve.Points)
					}
				}
			}
		}
	}
	each(func(_ string, points []record.Percentile) {
		for _, p := range points {
			if !slices.Contains(percents, p.Percent) && (p.Percent == 1 || p.Percent == 10 || p.Percent == 50 || p.Percent >= 90) {
				percents = append(percents, p.Percent)
			}
		}
	})
	slices.Sort(percents)
	for _, p := range percents {
		t.Head = append(t.Head, strconv.FormatFloat(p, 'f', -1, 64)+" %")
	}
	each(func(name string, points []record.Percentile) {
		r := row{Fields: plain(name)}
		for _, want := range percents {
			f := field{Text: "-"}
			for _, p := range points {
				if p.Percent == want {
					f.Text = chart.Figure(p.NS / 1e3)
				}
			}
			r.Fields = append(r.Fields, f)
		}
		t.Rows = append(t.Rows, r)
	})
	if len(t.Rows) == 0 {
		return nil
	}
	return []table{t}
}

// publishedTables show figures in print that have no place beside ours.
func (g *group) publishedTables() []table {
	p := g.lanes[0].rec.Published
	if p == nil {
		return nil
	}
	unit, per := record.Unit(g.metric)
	t := table{Title: p.Name + ", " + unit, Note: p.Source + ": " + p.Conditions + ".", Left: 1}
	var rows, columns []string
	for _, f := range p.Figures {
		rows, columns = appendNew(rows, f.Row), appendNew(columns, f.Column)
	}
	t.Head = append([]string{""}, columns...)
	for _, name := range rows {
		r := row{Fields: plain(name)}
		for _, column := range columns {
			f := field{Text: "-"}
			if v, ok := p.Figure(name, column); ok {
				f.Text = chart.Figure(v.Value / per)
			}
			r.Fields = append(r.Fields, f)
		}
		t.Rows = append(t.Rows, r)
	}
	return []table{t}
}

// settingTable puts settings of all records side by side.
func settingTable(title string, records []*record.Record, of func(*record.Record) []record.Setting) table {
	t := table{Title: title, Left: 1, Head: []string{"setting"}}
	var names []string
	values := make([]map[string]string, len(records))
	for i, r := range records {
		t.Head = append(t.Head, r.Name)
		values[i] = map[string]string{}
		for _, s := range of(r) {
			names = appendNew(names, s.Name)
			values[i][s.Name] = s.Value
		}
	}
	for _, name := range names {
		r := row{Fields: plain(name)}
		for i := range records {
			v, ok := values[i][name]
			if !ok {
				v = "-"
			}
			r.Fields = append(r.Fields, field{Text: v})
			r.Differs = r.Differs || v != r.Fields[1].Text
		}
		t.Rows = append(t.Rows, r)
	}
	return t
}

// effectiveTables are the modes in which each column really ran; where rows of
// a column differ, each has its own line.
func (g *group) effectiveTables() []table {
	var out []table
	for i := range g.lanes {
		l := &g.lanes[i]
		t := table{Title: "Effective settings, " + l.name, Note: "What took effect, whatever was asked for.", Left: 1}
		for _, column := range g.columns {
			var seen [][]record.Setting
			for _, name := range g.rows {
				c := l.cell(g, name, column, "")
				if c == nil || c.Effective == nil || slices.ContainsFunc(seen, func(s []record.Setting) bool { return slices.Equal(s, c.Effective) }) {
					continue
				}
				label := column
				if len(seen) > 0 {
					label = name + " " + column
				}
				seen = append(seen, c.Effective)
				if t.Head == nil {
					t.Head = []string{"path"}
					for _, s := range c.Effective {
						t.Head = append(t.Head, s.Name)
					}
				}
				r := row{Fields: plain(label)}
				for _, s := range c.Effective {
					r.Fields = append(r.Fields, field{Text: s.Value})
				}
				t.Rows = append(t.Rows, r)
			}
		}
		if len(t.Rows) > 0 {
			out = append(out, t)
		}
	}
	return out
}
