package htmlreport

import (
	"encoding/xml"
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/compare"
	"github.com/nvmepass/nvmepass/internal/record"
	"github.com/nvmepass/nvmepass/internal/stats"
)

// nasty is a model name that breaks out of anything that does not escape it.
const nasty = `"><script>alert(1)</script><img src=http://evil.example/x>{{.}}`

func ratioOf(v float64, verdict stats.Verdict) *compare.Ratio {
	return &compare.Ratio{Estimate: compare.Estimate{Median: &v, CILow: new(v * 0.9), CIHigh: new(v * 1.1)}, Pairs: 5, Verdict: verdict}
}

func estimate(v float64) compare.Estimate {
	return compare.Estimate{Median: &v, CILow: new(v * 0.95), CIHigh: new(v * 1.04)}
}

// fullRecord has everything that the kinds of records have.
func fullRecord(name string, emulated bool) *record.Record {
	r := &record.Record{
		Name: name, Kind: "compare", Schema: compare.Schema, ToolVersion: "v1", Started: time.Unix(1e9, 0).UTC(), Title: "512 B randread",
		Emulated: emulated, Devices: []record.Device{{Path: "/dev/ng0n1", Description: nasty}},
		Config:      []record.Setting{{Name: "rw", Value: "randread"}},
		Environment: []record.Setting{{Name: "kernel", Value: "7.3 on " + name}, {Name: "governor", Value: "performance"}},
		Warnings:    []string{nasty},
		Published: &record.Published{Name: "series-2022", Source: "a list", Conditions: "one job", Figures: []record.PublishedFigure{
			{Row: "1_1", Column: "block", Value: 80e3, Ratio: 1}, {Row: "1_1", Column: "passthru", Value: 81e3, Ratio: 1.0125},
		}},
	}
	for _, row := range []string{"1_1", "128_32"} {
		for i, column := range []string{"block", "passthru"} {
			c := record.Cell{
				Key:      record.Key{Device: "/dev/ng0n1", Row: row, Column: column, Metric: record.IOPS},
				Estimate: estimate(1000 * float64(i+1)), Rounds: []float64{1, 2, 3}, Planned: 3, Reference: "block",
				Costs: []record.Cost{{Name: "submit/call", Value: new(1.5)}, {Name: "in flight"}}, Effective: []record.Setting{{Name: "polled", Value: "false"}},
			}
			if column == "passthru" {
				c.Ratio = ratioOf(1.3, stats.VerdictHigher)
			}
			v := c
			v.Variant, v.Ratio, v.Reference = "--fixedbufs=false", ratioOf(0.9, stats.VerdictLower), "as asked for"
			w := v
			w.Variant, w.WithoutEffect = "--vectored=true", true
			f := w
			f.Variant, f.Ratio, f.Rounds, f.Errors = "--hugepages=true", nil, nil, []string{"no memory"}
			r.Cells = append(r.Cells, c, v, w, f)
		}
	}
	r.Cells = append(r.Cells, record.Cell{Key: record.Key{Device: "/dev/ng0n1", Row: "1_1", Column: "block-poll", Metric: record.IOPS}, Errors: []string{nasty}, Planned: 2})
	return r
}

func sweepRecord(name string) *record.Record {
	r := &record.Record{Name: name, Kind: "sweep", X: "bytes", Marks: []record.Mark{{At: 131072, Label: "one command: 128k"}}}
	for i, size := range []int{65536, 131072, 262144} {
		r.Cells = append(r.Cells, record.Cell{Key: record.Key{Row: fmt.Sprint(size), Column: "block-poll", Metric: record.BytesPerSecond}, Estimate: estimate(1e9 / float64(i+1)), X: float64(size)})
	}
	return r
}

func runRecord(name string) *record.Record {
	r := &record.Record{Name: name, Kind: "run", Interrupted: true, StopReason: "a signal", Emulated: true}
	r.Cells = []record.Cell{{
		Key: record.Key{Row: "128_32", Column: "passthru", Metric: record.IOPS}, Estimate: estimate(5),
		Latency: []record.LatencyCurve{{Name: "read", Points: []record.Percentile{{Percent: 50, NS: 5e3}, {Percent: 99, NS: 9e4}, {Percent: 100, NS: 1e6}}}},
	}}
	return r
}

func render(t *testing.T, records ...*record.Record) (*Report, string) {
	t.Helper()
	r, err := New(records, Options{ToolVersion: "v2", Generated: time.Unix(1e9, 0)})
	require.NoError(t, err)
	var b strings.Builder
	require.NoError(t, r.Write(&b))
	return r, b.String()
}

// The page holds no script, and neither it nor its style reaches out.
func TestPageIsSelfContained(t *testing.T) {
	_, out := render(t, fullRecord(nasty, true), fullRecord("new.json", false), sweepRecord("sweep.json"), runRecord("run.json"))
	require.NotContains(t, out, "<script")
	require.NotContains(t, out, "<img")
	require.NotContains(t, out, "@import")
	require.NotContains(t, out, "url(")
	require.Contains(t, out, `content="default-src 'none'; style-src 'unsafe-inline'; img-src data:"`)
	for _, attribute := range regexp.MustCompile(`(?:href|src)="[^"]*"`).FindAllString(out, -1) {
		require.Equal(t, `href="data:,"`, attribute, "the icon, so that none is asked for")
	}
	require.Contains(t, out, "prefers-color-scheme:dark")
	require.Contains(t, out, "@media print")
	require.Contains(t, out, "&lt;script&gt;")
}

// The page is also well-formed XML, but for its void elements.
func TestPageIsWellFormed(t *testing.T) {
	_, out := render(t, fullRecord("a.json", true), sweepRecord("sweep.json"), runRecord("run.json"))
	out = regexp.MustCompile(`<(meta|link)([^>]*)>`).ReplaceAllString(out, "<$1$2/>")
	out = strings.TrimPrefix(out, "<!DOCTYPE html>")
	dec := xml.NewDecoder(strings.NewReader(strings.NewReplacer("&middot;", ".", "&rsquo;", "'").Replace(out[strings.Index(out, "<html"):])))
	for {
		if _, err := dec.Token(); err != nil {
			require.ErrorContains(t, err, "EOF")
			require.NotContains(t, err.Error(), "unexpected")
			break
		}
	}
}

func TestPageHasEverything(t *testing.T) {
	r, out := render(t, fullRecord("old.json", true), fullRecord("new.json", false), sweepRecord("sweep.json"), runRecord("run.json"))
	for _, text := range []string{
		"Paths compared", "By queue depth and batch", "Ratio to the reference", "What each switch is worth", "no effect here", "no figure", "series-2022",
		"Block sizes across the limit of one command", "one command: 128k", "Latency by percentile", "99 %", "INTERRUPTED: a signal",
		"Cost", "submit/call", "Effective settings, old.json", "Environment", "7.3 on new.json", "Configuration as asked for", "Warnings",
		`<tr class="differs">`, "nvmepass v2", "2001-09-09 01:46 UTC",
	} {
		require.Contains(t, out, text)
	}
	names := map[string]bool{}
	for _, c := range r.Charts() {
		require.Regexp(t, `^s\d+-[a-z0-9_-]+$`, c.Name)
		require.False(t, names[c.Name], c.Name)
		names[c.Name] = true
	}
	require.Len(t, names, 8, "%v", names)
}

// Figures of an emulated drive are marked at the head, at their table and in
// their charts; others are not.
func TestEmulatedIsMarked(t *testing.T) {
	_, out := render(t, fullRecord("real.json", false))
	require.NotContains(t, out, "EMULATED")
	r, out := render(t, fullRecord("lab.json", true))
	require.Contains(t, out, `class="banner"`)
	for _, c := range r.Charts() {
		require.Contains(t, c.Scene.File(), "EMULATED", c.Name)
	}
	for figure := range strings.SplitSeq(out, "<figure class=\"table\">") {
		if caption, _, ok := strings.Cut(figure, "</figcaption>"); ok && strings.Contains(caption, "KIOPS, lab.json") {
			require.Contains(t, caption, "EMULATED")
		}
	}
	r, _ = render(t, fullRecord("lab.json", true), fullRecord("real.json", false))
	for _, c := range r.Charts() {
		if strings.Contains(c.Name, "bars") {
			require.Contains(t, c.Scene.SVG(), "lab.json (EMULATED)")
			require.NotContains(t, c.Scene.SVG(), "real.json (EMULATED)")
		}
	}
}

func TestNoRecord(t *testing.T) {
	_, err := New(nil, Options{})
	require.ErrorContains(t, err, "--save")
}

func TestEmptyRecord(t *testing.T) {
	_, out := render(t, &record.Record{Name: "empty.json", Kind: "compare"})
	require.Contains(t, out, "empty.json")
}

func TestSlug(t *testing.T) {
	require.Equal(t, "compare-bars-128_32", slug("compare bars 128_32"))
	require.Equal(t, "a-b", slug("../A//b.."))
	require.Empty(t, slug("///"))
	require.LessOrEqual(t, len(slug(strings.Repeat("x", 500))), 80)
}

func TestNine(t *testing.T) {
	require.InDelta(t, 0, nine(0), 1e-9)
	require.InDelta(t, 2, nine(99), 1e-9)
	require.InDelta(t, nineMax, nine(100), 1e-9)
	require.False(t, math.IsNaN(nine(200)))
}

// A record that has fewer cells than its neighbour has a smaller table, not one
// with empty rows.
func TestTablesHaveTheirOwnCells(t *testing.T) {
	small := fullRecord("small.json", false)
	small.Cells = small.Cells[:1]
	g := groups([]*record.Record{fullRecord("large.json", false), small})
	require.Len(t, g, 1)
	tables := g[0].figures()
	require.Len(t, tables[0].Rows, 2)
	require.Len(t, tables[1].Rows, 1)
	require.Equal(t, []string{"QD_batch", "block"}, tables[1].Head)
	require.Len(t, g[0].ratioTables(), 1, "small has none")
}
