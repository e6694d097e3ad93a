package htmlreport

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/nvmepass/nvmepass/internal/chart"
	"github.com/nvmepass/nvmepass/internal/compare"
	"github.com/nvmepass/nvmepass/internal/record"
	"github.com/nvmepass/nvmepass/internal/units"
)

// maxBarCharts bounds the number of bar charts of one kind of record.
const maxBarCharts = 32

// NamedChart is a drawing with the name of its file, without the ending.
type NamedChart struct {
	Name  string
	Scene *chart.Scene
}

func (g *group) mark() string {
	if g.emulated() {
		return " (EMULATED)"
	}
	return ""
}

func (g *group) named(what string, s *chart.Scene) NamedChart {
	return NamedChart{slug(g.kind + " " + what), s}
}

// slug makes a name that every file system takes.
func slug(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '_':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}, s)
	for strings.Contains(s, "--") {
		s = strings.ReplaceAll(s, "--", "-")
	}
	return strings.Trim(s, "-")[:min(len(strings.Trim(s, "-")), 80)]
}

// point scales an estimate to the unit in which people read it.
func point(e compare.Estimate, per float64) chart.Point {
	scale := func(v *float64) *float64 {
		if v == nil {
			return nil
		}
		return new(*v / per)
	}
	return chart.Point{Value: scale(e.Median), Low: scale(e.CILow), High: scale(e.CIHigh)}
}

// bars is one chart for each row.
func (g *group) bars() []NamedChart {
	if g.lanes[0].rec.X != "" {
		return nil
	}
	unit, per := record.Unit(g.metric)
	var out []NamedChart
	for _, row := range g.rows[:min(len(g.rows), maxBarCharts)] {
		c := chart.Bars{Title: "QD_batch " + row + ", " + unit + g.mark(), Unit: unit, Groups: g.columns}
		for _, l := range g.lanes {
			s := chart.Series{Name: l.label}
			for _, column := range g.columns {
				var p chart.Point
				if cell := l.cell(g, row, column, ""); cell != nil {
					p = point(cell.Estimate, per)
				}
				s.Points = append(s.Points, p)
			}
			c.Series = append(c.Series, s)
		}
		out = append(out, g.named("bars "+row, c.Draw()))
	}
	return out
}

// ratios is one chart of the ratios to the reference cell, if there are any.
func (g *group) ratios() []NamedChart {
	c := chart.Intervals{}
	reference := ""
	var lanes []lane
	for _, l := range g.lanes {
		if l.hasRatios(g) {
			lanes = append(lanes, l)
			c.Series = append(c.Series, l.label)
		}
	}
	if len(lanes) == 0 {
		return nil
	}
	published := lanes[0].rec.Published
	for _, row := range g.rows {
		heading := "QD_batch " + row
		for _, column := range g.columns {
			r := chart.IntervalRow{Heading: heading, Label: column}
			some := false
			for _, l := range lanes {
				var p chart.Point
				if cell := l.cell(g, row, column, ""); cell != nil && cell.Ratio != nil {
					p, some, reference = point(cell.Ratio.Estimate, 1), true, cell.Reference
				}
				r.Points = append(r.Points, p)
			}
			if !some {
				continue
			}
			if f, ok := published.Figure(row, column); ok && f.Ratio > 0 {
				r.Reference, c.Reference = &f.Ratio, published.Name+": "+published.Source
			}
			heading = ""
			c.Rows = append(c.Rows, r)
		}
	}
	c.Title = "Ratio to " + reference + " with 95 % interval" + g.mark()
	return []NamedChart{g.named("ratio", c.Draw())}
}

// ablation is one chart for each lane that turned switches over.
func (g *group) ablation() []NamedChart {
	var out []NamedChart
	for i := range g.lanes {
		l := &g.lanes[i]
		variants := l.variants(g)
		if len(variants) == 0 {
			continue
		}
		c := chart.Intervals{Title: "What each switch is worth: IOPS with it turned over, as a ratio to the same cell as asked for"}
		if len(g.lanes) > 1 {
			c.Title += ", " + l.label
		} else {
			c.Title += g.mark()
		}
		for _, row := range g.rows {
			for _, column := range g.columns {
				heading := "QD_batch " + row + ", " + column
				for _, v := range variants {
					cell := l.cell(g, row, column, v)
					if cell == nil || len(cell.Rounds) == 0 && len(cell.Errors) == 0 {
						continue
					}
					r := chart.IntervalRow{Heading: heading, Label: v}
					switch {
					case cell.Ratio == nil:
						r.Note = "no figure"
					case cell.WithoutEffect:
						r.Note = "no effect here"
					default:
						r.Points = []chart.Point{point(cell.Ratio.Estimate, 1)}
					}
					heading = ""
					c.Rows = append(c.Rows, r)
				}
			}
		}
		if len(c.Rows) > 0 {
			out = append(out, g.named("ablation "+strconv.Itoa(i+1), c.Draw()))
		}
	}
	return out
}

// curves is one chart for each lane whose cells lie on an axis.
func (g *group) curves() []NamedChart {
	unit, per := record.Unit(g.metric)
	var out []NamedChart
	for i := range g.lanes {
		l := &g.lanes[i]
		if l.rec.X == "" {
			continue
		}
		c := chart.Lines{Title: "By block size: " + l.label, Unit: unit, LogX: true}
		for _, column := range g.columns {
			s := chart.LineSeries{Name: column}
			for _, row := range g.rows {
				if cell := l.cell(g, row, column, ""); cell != nil && cell.X > 0 {
					s.X, s.Y = append(s.X, cell.X), append(s.Y, point(cell.Estimate, per))
				}
			}
			c.Series = append(c.Series, s)
		}
		c.XTicks = sizeTicks(c.Series)
		for _, m := range l.rec.Marks {
			c.Marks = append(c.Marks, chart.Tick{At: m.At, Label: m.Label})
		}
		out = append(out, g.named("curve "+strconv.Itoa(i+1), c.Draw()))
	}
	return out
}

// sizeTicks are all sizes that the series have.
func sizeTicks(list []chart.LineSeries) []chart.Tick {
	var xs []float64
	for _, s := range list {
		xs = append(xs, s.X...)
	}
	slices.Sort(xs)
	var out []chart.Tick
	for _, x := range slices.Compact(xs) {
		out = append(out, chart.Tick{At: x, Label: units.FormatSize(int64(min(x, 1<<62)))})
	}
	return out
}

// nines are the labelled places of a percentile axis.
var nines = []float64{0, 50, 90, 99, 99.9, 99.99}

// latency is one chart for all curves of a group.
func (g *group) latency() []NamedChart {
	c := chart.Lines{Title: "Latency by percentile" + g.mark(), Unit: "us", LogY: true}
	for _, p := range nines {
		c.XTicks = append(c.XTicks, chart.Tick{At: nine(p), Label: strconv.FormatFloat(p, 'f', -1, 64) + " %"})
	}
	for i := range g.lanes {
		l := &g.lanes[i]
		for j := range l.rec.Cells {
			cell := &l.rec.Cells[j]
			if cell.Device != l.device || cell.Metric != g.metric {
				continue
			}
			for _, curve := range cell.Latency {
				s := chart.LineSeries{Name: fmt.Sprintf("%s, %s %s %s", l.label, cell.Row, cell.Column, curve.Name)}
				for _, p := range curve.Points {
					s.X, s.Y = append(s.X, nine(p.Percent)), append(s.Y, chart.Point{Value: new(p.NS / 1e3)})
				}
				c.Series = append(c.Series, s)
			}
		}
	}
	if len(c.Series) == 0 {
		return nil
	}
	return []NamedChart{g.named("latency", c.Draw())}
}

// nine spreads percentiles so that 90, 99 and 99.9 lie evenly.
func nine(percent float64) float64 {
	return min(-math.Log10(max(1-percent/100, 1e-9)), nineMax)
}

const nineMax = 4
