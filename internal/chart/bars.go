package chart

import (
	"fmt"
	"math"
	"strings"
)

// Bars is a chart of groups of bars, each with its interval.
type Bars struct {
	Title, Unit string
	// Groups are the names under the bars.
	Groups []string
	// Series has one Point for each group. Of a single series, each group has a
	// colour of its own.
	Series []Series
}

// Series is a set of points of one colour.
type Series struct {
	Name   string
	Points []Point
}

// Draw lays the chart out.
func (c *Bars) Draw() *Scene {
	const left, right, top, plot = 52.0, 12.0, 26.0, 190.0
	n := max(len(c.Series), 1)
	bar := min(46, max(14, 120/float64(n)))
	group := max(float64(n)*bar+24, 96)
	for _, g := range c.Groups {
		group = max(group, textWidth(g)+14)
	}
	legend := legendHeight(c.Series, len(c.Series) > 1)
	width := left + group*float64(max(len(c.Groups), 1)) + right
	s := newScene(width, top+plot+26+legend, c.Title)
	var lists [][]Point
	for _, se := range c.Series {
		lists = append(lists, se.Points)
	}
	marks := ticks(highest(lists...), 5)
	y := func(v float64) float64 { return top + plot - plot*min(max(v/marks[len(marks)-1], 0), 1) }
	for _, v := range marks {
		s.line(left, y(v), width-right, y(v), "grid")
		s.text(left-7, y(v)+4, "end", "muted", tick(v))
	}
	s.text(4, 13, "start", "small", c.Unit)
	for gi, name := range c.Groups {
		x0 := left + group*float64(gi)
		first := x0 + (group-bar*float64(n))/2
		for si, se := range c.Series {
			if gi >= len(se.Points) || !finite(se.Points[gi].Value) {
				s.text(first+bar*(float64(si)+0.5), top+plot-5, "middle", "muted", "-")
				continue
			}
			colour := si
			if len(c.Series) == 1 {
				colour = gi
			}
			c.bar(s, se.Points[gi], first+bar*float64(si), bar, y, fill(colour), name+" "+se.Name)
		}
		s.text(x0+group/2, top+plot+17, "middle", "strong", name)
	}
	s.line(left, top+plot, width-right, top+plot, "axis")
	if len(c.Series) > 1 {
		drawLegend(s, c.Series, left, top+plot+40, width-left-right)
	}
	return s
}

func (c *Bars) bar(s *Scene, p Point, x, width float64, y func(float64) float64, class, name string) {
	v := *p.Value
	tip := fmt.Sprintf("%s: %s %s", strings.TrimSpace(name), Figure(v), c.Unit)
	top := y(v)
	if finite(p.Low) && finite(p.High) {
		tip += fmt.Sprintf(" (95 %% interval %s to %s)", Figure(*p.Low), Figure(*p.High))
		top = min(top, y(*p.High))
	}
	s.rect(x+1.5, y(v), width-3, y(0)-y(v), class, tip)
	if finite(p.Low) && finite(p.High) {
		mid := x + width/2
		s.line(mid, y(*p.Low), mid, y(*p.High), "whisker")
		s.line(mid-4, y(*p.Low), mid+4, y(*p.Low), "whisker")
		if y(*p.High) > y(math.Inf(1)) { // one that is cut off has no end
			s.line(mid-4, y(*p.High), mid+4, y(*p.High), "whisker")
		}
	}
	if width >= 24 {
		s.text(x+width/2, top-5, "middle", "small", Figure(v))
	}
}

// legendHeight is the room that the names of series take under a chart.
func legendHeight(list []Series, shown bool) float64 {
	if !shown {
		return 0
	}
	return 18*float64(len(list)) + 6
}

func drawLegend(s *Scene, list []Series, x, y, width float64) {
	for i, se := range list {
		at := y + 18*float64(i)
		s.rect(x, at-9, 11, 11, fill(i), "")
		s.text(x+17, at+1, "start", "muted", shorten(se.Name, max(width, 200)-20))
	}
}

// shorten cuts a text in the middle so that it is at most so wide.
func shorten(s string, width float64) string {
	runes := []rune(s)
	most := int(width / textWidth("x"))
	if len(runes) <= most || most < 8 {
		return s
	}
	head := most/2 - 1
	return string(runes[:head]) + "..." + string(runes[len(runes)-(most-head-3):])
}
