package chart

import (
	"fmt"
	"math"
)

// Lines is a chart of points over an axis, joined by lines.
type Lines struct {
	Title, Unit string
	// XTicks are the axis's labelled places, ascending; the axis runs from the
	// first to the last. LogX makes equal factors equal distances.
	XTicks []Tick
	LogX   bool
	// LogY does the same for values, which are then above 0.
	LogY   bool
	Series []LineSeries
	// Marks are vertical lines.
	Marks []Tick
}

// Tick is a labelled place on an axis.
type Tick struct {
	At    float64
	Label string
}

// LineSeries is one line.
type LineSeries struct {
	Name string
	X    []float64
	Y    []Point
}

// Draw lays the chart out.
func (c *Lines) Draw() *Scene {
	const left, right, top, plot, width = 64.0, 24.0, 30.0, 260.0, 1100.0
	legend := make([]Series, len(c.Series))
	for i, se := range c.Series {
		legend[i].Name = se.Name
	}
	s := newScene(width, top+plot+34+legendHeight(legend, true), c.Title)
	x := c.xScale(left, width-right)
	y, marks := c.yScale(top, plot)
	for _, v := range marks {
		s.line(left, y(v), width-right, y(v), "grid")
		s.text(left-7, y(v)+4, "end", "muted", tick(v))
	}
	s.text(4, 13, "start", "small", c.Unit)
	last := math.Inf(-1)
	for _, t := range c.XTicks {
		at := x(t.At)
		s.line(at, top+plot, at, top+plot+4, "axis")
		if w := textWidth(t.Label); at-w/2 > last+4 {
			s.text(at, top+plot+18, "middle", "muted", t.Label)
			last = at + w/2
		}
	}
	s.line(left, top+plot, width-right, top+plot, "axis")
	for _, m := range c.Marks {
		at := x(m.At)
		if at < left-0.5 || at > width-right+0.5 {
			continue
		}
		s.line(at, top-8, at, top+plot, "mark")
		anchor, dx := "start", 5.0
		if at > width*0.6 {
			anchor, dx = "end", -5
		}
		s.text(at+dx, top-1, anchor, "small", m.Label)
	}
	for i, se := range c.Series {
		c.drawLine(s, se, i, x, y)
	}
	drawLegend(s, legend, left, top+plot+44, width-left-right)
	return s
}

func (c *Lines) drawLine(s *Scene, se LineSeries, i int, x, y func(float64) float64) {
	var xs, ys []float64
	flush := func() {
		if len(xs) > 1 {
			s.polyline(xs, ys, stroke(i))
		}
		xs, ys = nil, nil
	}
	for j := range min(len(se.X), len(se.Y)) {
		p := se.Y[j]
		if !finite(p.Value) || c.LogY && *p.Value <= 0 {
			flush() // a gap is no measurement
			continue
		}
		xs, ys = append(xs, x(se.X[j])), append(ys, y(*p.Value))
	}
	flush()
	for j := range min(len(se.X), len(se.Y)) {
		p := se.Y[j]
		if !finite(p.Value) || c.LogY && *p.Value <= 0 {
			continue
		}
		at := x(se.X[j])
		tip := fmt.Sprintf("%s: %s %s", se.Name, Figure(*p.Value), c.Unit)
		if finite(p.Low) && finite(p.High) && (!c.LogY || *p.Low > 0) {
			s.line(at, y(*p.Low), at, y(*p.High), "l faint "+stroke(i))
			tip += fmt.Sprintf(" (95 %% interval %s to %s)", Figure(*p.Low), Figure(*p.High))
		}
		s.circle(at, y(*p.Value), 3.2, fill(i), tip)
	}
}

func (c *Lines) xScale(from, to float64) func(float64) float64 {
	if len(c.XTicks) == 0 {
		return func(float64) float64 { return from }
	}
	f := func(v float64) float64 { return v }
	if c.LogX {
		f = math.Log
	}
	low, high := f(c.XTicks[0].At), f(c.XTicks[len(c.XTicks)-1].At)
	if !(high > low) {
		high = low + 1
	}
	return func(v float64) float64 { return from + (to-from)*(f(v)-low)/(high-low) }
}

// yScale returns the scale and the values of its grid lines.
func (c *Lines) yScale(top, plot float64) (func(float64) float64, []float64) {
	var lists [][]Point
	lowest := math.Inf(1)
	for _, se := range c.Series {
		lists = append(lists, se.Y)
		for _, p := range se.Y {
			if finite(p.Value) && *p.Value > 0 {
				lowest = min(lowest, *p.Value)
			}
		}
	}
	highest := highest(lists...)
	if !c.LogY || highest <= 0 || math.IsInf(lowest, 0) {
		marks := ticks(highest, 6)
		return func(v float64) float64 { return top + plot - plot*min(max(v/marks[len(marks)-1], 0), 1) }, marks
	}
	low, high := math.Floor(math.Log10(lowest)), math.Ceil(math.Log10(highest))
	if high <= low {
		high = low + 1
	}
	var marks []float64
	for e := low; e <= high; e++ {
		marks = append(marks, math.Pow(10, e))
	}
	return func(v float64) float64 { return top + plot - plot*min(max((math.Log10(v)-low)/(high-low), 0), 1) }, marks
}
