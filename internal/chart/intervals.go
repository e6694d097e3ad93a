package chart

import (
	"fmt"
	"math"
)

// Intervals is a chart of ratios: one line for each, with its interval, around a
// line at 1. The axis is logarithmic, so that a half and a double lie alike.
type Intervals struct {
	Title string
	Rows  []IntervalRow
	// Series are the names of the colours; a single one is not shown.
	Series []string
	// Reference names the hollow marks; empty where there are none.
	Reference string
}

// IntervalRow is one label with a Point for each series.
type IntervalRow struct {
	// Heading begins a group above the row; empty for none.
	Heading string
	Label   string
	Points  []Point
	// Reference is a figure to show beside; nil for none.
	Reference *float64
	// Note stands in the place of points, if there are none.
	Note string
}

const (
	minRatio = 1.0 / 64
	maxRatio = 64
)

// Draw lays the chart out.
func (c *Intervals) Draw() *Scene {
	const right, top, width, lane = 70.0, 12.0, 1100.0, 17.0
	n := max(len(c.Series), 1)
	row := lane*float64(n) + 7
	left := 110.0
	height := top
	for _, r := range c.Rows {
		left = min(max(left, textWidth(r.Label)+18), 300)
		if r.Heading != "" {
			height += 22
		}
		height += row
	}
	plotBottom := height
	legend := make([]Series, 0, n)
	for _, name := range c.Series {
		legend = append(legend, Series{Name: name})
	}
	height += 30 + legendHeight(legend, n > 1)
	if c.Reference != "" {
		height += 20
	}
	s := newScene(width, height, c.Title)
	low, high, marks := c.scale()
	x := func(v float64) float64 {
		v = min(max(v, low), high)
		return left + (width-left-right)*math.Log(v/low)/math.Log(high/low)
	}
	for _, v := range marks {
		class := "grid"
		if v == 1 {
			class = "one"
		}
		s.line(x(v), top, x(v), plotBottom, class)
		s.text(x(v), plotBottom+16, "middle", "muted", tick(v))
	}
	y := top
	for _, r := range c.Rows {
		if r.Heading != "" {
			s.text(8, y+15, "start", "strong", r.Heading)
			y += 22
		}
		s.text(left-10, y+row/2+4, "end", "muted", shorten(r.Label, left-12))
		if r.Note != "" {
			s.text(left+8, y+row/2+4, "start", "small", r.Note)
		}
		for i, p := range r.Points {
			if finite(p.Value) && *p.Value > 0 {
				drawInterval(s, p, x, y+3.5+lane*(float64(i)+0.5), i, width-right+8, r.Label)
			}
		}
		if finite(r.Reference) && *r.Reference > 0 {
			s.diamond(x(*r.Reference), y+row/2, 5, "hollow", c.Reference+": "+Figure(*r.Reference))
		}
		y += row
	}
	y += 44
	if n > 1 {
		drawLegend(s, legend, left, y, width-left-right)
		y += legendHeight(legend, true)
	}
	if c.Reference != "" {
		s.diamond(left+5.5, y-3.5, 5, "hollow", "")
		s.text(left+17, y+1, "start", "muted", c.Reference)
	}
	return s
}

func drawInterval(s *Scene, p Point, x func(float64) float64, y float64, i int, textAt float64, label string) {
	v := *p.Value
	tip := label + ": " + Figure(v)
	if finite(p.Low) && finite(p.High) && *p.Low > 0 {
		s.line(x(*p.Low), y, x(*p.High), y, "l "+stroke(i))
		s.line(x(*p.Low), y-3.5, x(*p.Low), y+3.5, "l "+stroke(i))
		s.line(x(*p.High), y-3.5, x(*p.High), y+3.5, "l "+stroke(i))
		tip += fmt.Sprintf(" (95 %% interval %s to %s)", Figure(*p.Low), Figure(*p.High))
	}
	s.circle(x(v), y, 4, fill(i), tip)
	s.text(textAt, y+4, "start", "small", fmt.Sprintf("%.2fx", v))
}

// scale chooses the ends of the axis and its marks. The ends come from values
// and references, so that one wide interval does not squeeze all others.
func (c *Intervals) scale() (low, high float64, marks []float64) {
	low, high = 0.8, 1.25
	see := func(v *float64, slack float64) {
		if finite(v) && *v > 0 {
			low, high = min(low, *v/slack), max(high, *v*slack)
		}
	}
	for _, r := range c.Rows {
		see(r.Reference, 1.1)
		for _, p := range r.Points {
			see(p.Value, 1.15)
			if finite(p.Value) && *p.Value > 0 && finite(p.Low) && finite(p.High) && *p.Low > 0 && *p.High / *p.Low < 4 {
				see(p.Low, 1.05)
				see(p.High, 1.05)
			}
		}
	}
	low, high = max(low, minRatio), min(high, maxRatio)
	candidates := []float64{1. / 64, 1. / 32, 1. / 16, 0.125, 0.25, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.3, 1.5, 1.75, 2, 2.5, 3, 4, 6, 8, 16, 32, 64}
	last := math.Inf(-1)
	for _, v := range candidates {
		// Marks are kept apart, but 1 is always one.
		at := math.Log(v) / math.Log(high/low)
		if v < low || v > high || v != 1 && (at-last < 0.06 || math.Abs(at) < 0.05) {
			continue
		}
		marks = append(marks, v)
		last = at
	}
	return low, high, marks
}
