package chart

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// nasty is a name that breaks out of anything that does not escape it.
const nasty = "\"><script>alert(1)</script>\x01\xff]]>&amp;'"

func point(v, low, high float64) Point { return Point{&v, &low, &high} }

// odd are points with every kind of gap.
func odd() []Point {
	return []Point{point(10, 8, 13), {Value: new(5.0)}, {}, point(math.NaN(), 1, 2), point(math.Inf(1), 1, 2), point(3, math.NaN(), math.Inf(1)), point(0, 0, 0), point(1e300, 1, 1e308), point(-4, -5, -3)}
}

func scenes() map[string]*Scene {
	names := []string{nasty, "b", "c", "d", "e", "f", "g", "h", "i"}
	var xs []float64
	for i := range names {
		xs = append(xs, float64(i))
	}
	rows := []IntervalRow{}
	for i, p := range odd() {
		rows = append(rows, IntervalRow{Heading: nasty, Label: names[i] + strings.Repeat(" long", i), Points: []Point{p, p}, Reference: new(1.5 * float64(i)), Note: nasty})
	}
	return map[string]*Scene{
		"bars":            (&Bars{Title: nasty, Unit: nasty, Groups: names, Series: []Series{{nasty, odd()}, {"b", odd()[:3]}}}).Draw(),
		"one series":      (&Bars{Groups: names, Series: []Series{{"a", odd()}}}).Draw(),
		"no bars":         (&Bars{}).Draw(),
		"lines":           (&Lines{Title: nasty, XTicks: []Tick{{0, nasty}, {8, "b"}}, Series: []LineSeries{{nasty, xs, odd()}}, Marks: []Tick{{4, nasty}, {99, "out"}}}).Draw(),
		"logarithmic":     (&Lines{XTicks: []Tick{{1, "a"}, {8, "b"}}, LogX: true, LogY: true, Series: []LineSeries{{"a", xs, odd()}}}).Draw(),
		"no lines":        (&Lines{}).Draw(),
		"one place":       (&Lines{XTicks: []Tick{{1, "a"}}, LogX: true, LogY: true, Series: []LineSeries{{"a", []float64{1}, odd()[:1]}}}).Draw(),
		"intervals":       (&Intervals{Title: nasty, Rows: rows, Series: []string{nasty, "b"}, Reference: nasty}).Draw(),
		"no intervals":    (&Intervals{}).Draw(),
		"one interval":    (&Intervals{Rows: []IntervalRow{{Label: "a", Points: []Point{point(1.1, 1, 1.2)}}}, Series: []string{"a"}}).Draw(),
		"a wide interval": (&Intervals{Rows: []IntervalRow{{Label: "a", Points: []Point{point(1.1, 1e-9, 1e9)}}}}).Draw(),
	}
}

// Every drawing is well-formed XML without markup from names, without a number
// that is none, and without anything from outside.
func TestDrawingsAreWellFormed(t *testing.T) {
	for name, s := range scenes() {
		for _, text := range []string{s.SVG(), s.File()} {
			dec := xml.NewDecoder(strings.NewReader(text))
			for {
				tok, err := dec.Token()
				if errors.Is(err, io.EOF) {
					break
				}
				require.NoError(t, err, name)
				if start, ok := tok.(xml.StartElement); ok {
					require.NotEqual(t, "script", start.Name.Local, name)
					for _, a := range start.Attr {
						require.NotContains(t, a.Value, "NaN", name)
						require.NotContains(t, a.Value, "Inf", name)
						require.NotEqual(t, "href", a.Name.Local, name)
					}
				}
			}
			require.NotContains(t, strings.ReplaceAll(text, "http://www.w3.org/2000/svg", ""), "http", name)
			require.NotContains(t, text, "url(", name)
		}
		require.Positive(t, s.Width, name)
		require.Less(t, s.Height, 2000.0, name)
	}
}

// A file has plain colours, since many programs know no custom properties.
func TestFileHasPlainColours(t *testing.T) {
	for name, s := range scenes() {
		require.NotContains(t, s.File(), "var(", name)
	}
	require.Contains(t, CSS, "var(--ink)")
}

func TestTicks(t *testing.T) {
	for top, want := range map[float64][]float64{
		0: {0, 1}, -3: {0, 1}, math.NaN(): {0, 1}, math.Inf(1): {0, 1},
		1: {0, 0.2, 0.4, 0.6, 0.8, 1}, 7.3: {0, 2, 4, 6, 8}, 153: {0, 50, 100, 150, 200}, 10: {0, 2, 4, 6, 8, 10}, 0.011: {0, 0.0025, 0.005, 0.0075, 0.01, 0.0125},
	} {
		got := ticks(top, 5)
		require.Len(t, got, len(want), top)
		require.InDeltaSlice(t, want, got, 1e-9, top)
	}
	for top := 1e-9; top < 1e12; top *= 1.37 {
		got := ticks(top, 5)
		require.LessOrEqual(t, len(got), 6, top)
		require.GreaterOrEqual(t, got[len(got)-1], top*(1-1e-9))
	}
}

func TestFigure(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 1056: "1056", 99.94: "99.9", 99.96: "100", 9.996: "10.0", 1: "1.00", 0.5: "0.5", 0.01234: "0.0123", -2.5: "-2.50"} {
		require.Equal(t, want, Figure(v), v)
	}
}

func TestTick(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 0.25: "0.25", 1e6: "1000000", 2500: "2500", 1. / 3: "0.333333", 1e20: "1e+20"} {
		require.Equal(t, want, tick(v), v)
	}
}

func TestShorten(t *testing.T) {
	require.Equal(t, "short", shorten("short", 100))
	long := shorten(strings.Repeat("a", 50)+strings.Repeat("z", 50), 130)
	require.LessOrEqual(t, textWidth(long), 130.0)
	require.Contains(t, long, "...")
}

// A log scale puts equal factors at equal distances.
func TestLogScale(t *testing.T) {
	c := Lines{XTicks: []Tick{{4096, ""}, {1 << 20, ""}}, LogX: true}
	x := c.xScale(0, 800)
	require.InDelta(t, 0, x(4096), 1e-9)
	require.InDelta(t, 800, x(1<<20), 1e-9)
	require.InDelta(t, x(8192)-x(4096), x(1<<20)-x(1<<19), 1e-9)
}

// An interval that is far wider than all values does not flatten them.
func TestWideIntervalIsCutOff(t *testing.T) {
	require.InDelta(t, 12, highest([]Point{point(10, 9, 12)}), 1e-9)
	require.InDelta(t, 16, highest([]Point{point(10, 9, 12)}, []Point{point(1, 0, 1e6)}), 1e-9)
	require.Zero(t, highest(nil, []Point{{}}))
	c := Lines{Series: []LineSeries{{Y: []Point{point(10, 1, 1e6)}}}}
	y, marks := c.yScale(0, 100)
	require.LessOrEqual(t, marks[len(marks)-1], 20.0)
	require.InDelta(t, 0, y(1e6), 1e-9, "at the top")
	require.InDelta(t, 100, y(-5), 1e-9)
}
