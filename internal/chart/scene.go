package chart

import (
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"
)

// Scene is a laid-out chart, in pixels from the upper left corner.
type Scene struct {
	Width, Height float64
	// Title says what the chart shows; it is drawn by the caller, and read out by
	// screen readers.
	Title string
	b     strings.Builder
}

func newScene(width, height float64, title string) *Scene {
	return &Scene{Width: width, Height: height, Title: title}
}

// num writes a coordinate to a tenth of a pixel.
func num(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		v = 0
	}
	return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64)
}

func (s *Scene) rect(x, y, w, h float64, class, tip string) {
	fmt.Fprintf(&s.b, `<rect x="%s" y="%s" width="%s" height="%s" rx="1.5" class="%s">%s</rect>`, num(x), num(y), num(max(w, 0)), num(max(h, 0)), class, tipText(tip))
}

func (s *Scene) line(x1, y1, x2, y2 float64, class string) {
	fmt.Fprintf(&s.b, `<line x1="%s" y1="%s" x2="%s" y2="%s" class="%s"/>`, num(x1), num(y1), num(x2), num(y2), class)
}

func (s *Scene) circle(x, y, r float64, class, tip string) {
	fmt.Fprintf(&s.b, `<circle cx="%s" cy="%s" r="%s" class="%s">%s</circle>`, num(x), num(y), num(r), class, tipText(tip))
}

func (s *Scene) diamond(x, y, r float64, class, tip string) {
	fmt.Fprintf(&s.b, `<path d="M%s %sL%s %sL%s %sL%s %sZ" class="%s">%s</path>`, num(x), num(y-r), num(x+r), num(y), num(x), num(y+r), num(x-r), num(y), class, tipText(tip))
}

func (s *Scene) polyline(xs, ys []float64, class string) {
	points := make([]string, len(xs))
	for i := range xs {
		points[i] = num(xs[i]) + "," + num(ys[i])
	}
	fmt.Fprintf(&s.b, `<polyline points="%s" class="%s"/>`, strings.Join(points, " "), class)
}

// text anchors at "start", "middle" or "end".
func (s *Scene) text(x, y float64, anchor, class, text string) {
	fmt.Fprintf(&s.b, `<text x="%s" y="%s" text-anchor="%s" class="%s">%s</text>`, num(x), num(y), anchor, class, html.EscapeString(clean(text)))
}

func tipText(tip string) string {
	if tip == "" {
		return ""
	}
	return "<title>" + html.EscapeString(clean(tip)) + "</title>"
}

// clean drops what XML 1.0 has no way to write.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\n':
			return ' '
		case r < ' ' || r == 0xfffe || r == 0xffff || r == 0x7f:
			return 0xfffd
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd"))
}

// SVG writes the chart for a page that has [CSS].
func (s *Scene) SVG() string {
	return fmt.Sprintf(`<svg class="chart" role="img" viewBox="0 0 %s %s" width="%s" height="%s"><title>%s</title>%s</svg>`,
		num(s.Width), num(s.Height), num(s.Width), num(s.Height), html.EscapeString(clean(s.Title)), s.b.String())
}

// File writes the chart as a file of its own, on white, with its title on top
// and its style inside.
func (s *Scene) File() string {
	const head = 28
	return fmt.Sprintf(`<?xml version="1.0" encoding="UTF-8"?>
<svg xmlns="http://www.w3.org/2000/svg" class="chart" viewBox="0 0 %s %s" width="%s" height="%s"><style>%s</style><rect width="100%%" height="100%%" class="paper"/><text x="10" y="20" class="title">%s</text><g transform="translate(0 %d)">%s</g></svg>
`, num(s.Width), num(s.Height+head), num(s.Width), num(s.Height+head), light.Replace(CSS), html.EscapeString(clean(s.Title)), head, s.b.String())
}

// textWidth estimates how wide a text of the charts' size is.
func textWidth(s string) float64 { return 6.4 * float64(len([]rune(s))) }
