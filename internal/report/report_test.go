package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/compare"
)

func render(t *testing.T, r *compare.Result, opt TextOptions) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, Text(&b, r, opt))
	return b.String()
}

func series2022(t *testing.T) func(string) *compare.BaselineTable {
	t.Helper()
	base, err := compare.Baseline("series-2022")
	require.NoError(t, err)
	return func(string) *compare.BaselineTable { return base }
}

func TestTextGolden(t *testing.T) {
	requireGolden(t, "lab.txt", render(t, labResult(t), TextOptions{}))
	requireGolden(t, "lab-baseline.txt", render(t, labResult(t), TextOptions{Baseline: series2022(t)}))
	requireGolden(t, "troubled.txt", render(t, troubledResult(t), TextOptions{}))
	requireGolden(t, "troubled-narrow.txt", render(t, troubledResult(t), TextOptions{Width: 60, Baseline: series2022(t)}))
	requireGolden(t, "one-cell.txt", render(t, narrowResult(t), TextOptions{}))
}

// Any result fits a terminal of 100 columns, in plain ASCII, with no spaces at the ends of lines.
func TestTextIsPlain(t *testing.T) {
	for _, r := range []*compare.Result{labResult(t), troubledResult(t), narrowResult(t), {}} {
		for _, opt := range []TextOptions{{}, {Baseline: series2022(t)}} {
			require.NotContains(t, render(t, r, opt), fixedSpace)
			for line := range strings.Lines(render(t, r, opt)) {
				line = strings.TrimSuffix(line, "\n")
				require.LessOrEqual(t, len(line), DefaultWidth, line)
				require.Equal(t, strings.TrimRight(line, " "), line)
				for _, c := range []byte(line) {
					require.True(t, c >= ' ' && c < 0x7f, "%q", line)
				}
			}
		}
	}
}

// No table of emulated figures may be quoted without the mark.
func TestTextMarksEmulatedFigures(t *testing.T) {
	out := render(t, labResult(t), TextOptions{Baseline: series2022(t)})
	require.Contains(t, out, "EMULATED: figures compare paths on this machine only, not drives")
	titles := 0
	for block := range strings.SplitSeq(out, "\n\n") {
		title, rest, _ := strings.Cut(block, "\nQD_batch")
		if rest == "" || strings.HasPrefix(title, "series-2022") {
			continue
		}
		titles++
		require.Contains(t, title, "EMULATED")
	}
	require.Equal(t, 4, titles)
	require.NotContains(t, render(t, troubledResult(t), TextOptions{}), "EMULATED")
}

func TestTextMarksEmulatedBaseline(t *testing.T) {
	lab := labResult(t)
	base, ok := compare.BaselineOf(lab, "old.json", "/dev/ng0n1")
	require.True(t, ok)
	out := render(t, troubledResult(t), TextOptions{Baseline: func(device string) *compare.BaselineTable {
		if device == "/dev/ng0n1" {
			return base
		}
		return nil
	}})
	require.Equal(t, 1, strings.Count(out, "old.json, KIOPS (EMULATED): recorded 2026-03-01"))
}

func TestTextShowsAllThreeStates(t *testing.T) {
	r := troubledResult(t)
	out := render(t, r, TextOptions{})
	require.Contains(t, out, "error[2]")
	require.Contains(t, out, "passthru-poll*")
	require.Contains(t, out, "INTERRUPTED: interrupt")

	r.Cells[0].IOPS, r.Cells[0].Rounds = compare.Estimate{}, nil // never started
	require.Regexp(t, `(?m)^1_1 +- `, render(t, r, TextOptions{}))
}

func TestJSONRoundTrip(t *testing.T) {
	for name, r := range map[string]*compare.Result{"lab": labResult(t), "troubled": troubledResult(t), "one cell": narrowResult(t)} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			require.NoError(t, JSON(&b, r))
			require.True(t, strings.HasSuffix(b.String(), "}\n"))
			dec := json.NewDecoder(bytes.NewReader(b.Bytes()))
			dec.DisallowUnknownFields()
			var strict compare.Result
			require.NoError(t, dec.Decode(&strict))
			require.Equal(t, *r, strict)
			back, err := compare.Decode(&b)
			require.NoError(t, err)
			require.Equal(t, r, back)
		})
	}
}

func TestJSONGolden(t *testing.T) {
	var b strings.Builder
	require.NoError(t, JSON(&b, narrowResult(t)))
	requireGolden(t, "one-cell.json", b.String())
}

func TestJSONKeepsLargeIntegers(t *testing.T) {
	r := narrowResult(t)
	r.Totals = compare.Counts{Issued: math.MaxUint64, OK: 1<<53 + 1}
	r.Config.Seed = math.MaxUint64
	var b strings.Builder
	require.NoError(t, JSON(&b, r))
	require.Contains(t, b.String(), `"issued": 18446744073709551615`)
	require.Contains(t, b.String(), `"ok": 9007199254740993`)
	require.Contains(t, b.String(), `"seed": 18446744073709551615`)
	back, err := compare.Decode(strings.NewReader(b.String()))
	require.NoError(t, err)
	require.Equal(t, r, back)
}

func TestJSONRefusesNaNWhole(t *testing.T) {
	r := narrowResult(t)
	r.Cells[0].IOPS.Median = new(math.NaN())
	var b strings.Builder
	require.ErrorContains(t, JSON(&b, r), "render comparison as JSON")
	require.Empty(t, b.String(), "half a document is worse than none")
}

func TestCSV(t *testing.T) {
	r := troubledResult(t)
	var b strings.Builder
	require.NoError(t, CSV(&b, r))
	rows, err := csv.NewReader(strings.NewReader(b.String())).ReadAll()
	require.NoError(t, err)
	require.Equal(t, csvHeader, rows[0])
	require.Len(t, rows, 1+60, "one row for each step that was started")

	column := map[string]int{}
	for i, name := range rows[0] {
		column[name] = i
	}
	require.Len(t, column, len(csvHeader), "no name twice")
	var issued uint64
	orders := map[string]bool{}
	for _, row := range rows[1:] {
		at := func(name string) string { return row[column[name]] }
		require.Equal(t, at("qd")+"_"+at("batch"), at("qd_batch"))
		require.Equal(t, "false", at("emulated"))
		orders[at("order")] = true
		if at("window_ns") == "" {
			require.Contains(t, at("error"), "EACCES")
			require.Empty(t, at("iops"))
			continue
		}
		n, err := strconv.ParseUint(at("run_issued"), 10, 64)
		require.NoError(t, err)
		issued += n
		ok, err := strconv.ParseFloat(at("ok"), 64)
		require.NoError(t, err)
		window, err := strconv.ParseFloat(at("window_ns"), 64)
		require.NoError(t, err)
		iops, err := strconv.ParseFloat(at("iops"), 64)
		require.NoError(t, err)
		require.InDelta(t, ok/window*1e9, iops, 1e-6)
		if ok == 0 {
			require.Empty(t, at("user_cpu_ns_per_io"))
			require.Equal(t, "EINVAL=1|LBA Out of Range (0x80)=1", at("command_errors"))
		}
		require.NotContains(t, strings.ToLower(b.String()), "nan")
	}
	require.Len(t, orders, 60)
	require.Equal(t, r.Totals.Issued, issued)
}

func TestCSVGolden(t *testing.T) {
	var b strings.Builder
	require.NoError(t, CSV(&b, narrowResult(t)))
	requireGolden(t, "one-cell.csv", b.String())
}

type brokenWriter struct{}

var errBroken = errors.New("no space left on device")

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }

func TestWriterErrorsAreReturned(t *testing.T) {
	r := narrowResult(t)
	require.ErrorIs(t, Text(brokenWriter{}, r, TextOptions{}), errBroken)
	require.ErrorIs(t, JSON(brokenWriter{}, r), errBroken)
	require.ErrorIs(t, CSV(brokenWriter{}, r), errBroken)
	p := NewProgress(brokenWriter{}, true, 80)
	p.Update(compare.Progress{}) // ignored on purpose
	p.Finish()
}

// A file that a user edited is rendered or refused, in bounded lines, and never crashes.
func FuzzRenderDecoded(f *testing.F) {
	var b strings.Builder
	if err := JSON(&b, &compare.Result{Schema: compare.Schema}); err != nil {
		f.Fatal(err)
	}
	f.Add(b.String())
	head := `{"schema":"nvmepass.compare/1","config":{"devices":["d"],"paths":["block","passthru"],"depths":["8_2"],"rounds":3},"cells":[`
	f.Add(head + `{"device":"d","path":"block","qd_batch":"8_2","rounds":[{"round":1,"sample":{"ok":1}}],"iops":{"median":0}}]}`)
	f.Add(head + `{"device":"d","path":"passthru","qd_batch":"8_2","rounds":null,"iops":{"median":1e308,"ci_low":-1e308,"ci_high":1e308},` +
		`"ratio_to_block":{"median":-1,"verdict":"same"}}]}`)
	f.Add(head + `{"device":"d","path":"passthru","qd_batch":"8_2","rounds":[{"error":"\u0000\n\uffff","rates":null}]}]}`)
	f.Fuzz(func(t *testing.T, in string) {
		r, err := compare.Decode(strings.NewReader(in))
		if err != nil {
			return
		}
		base, _ := compare.BaselineOf(r, "x", "d")
		var text strings.Builder
		require.NoError(t, Text(&text, r, TextOptions{Baseline: func(string) *compare.BaselineTable { return base }}))
		requirePrintable(t, text.String())
		require.NoError(t, CSV(&strings.Builder{}, r))
		require.NoError(t, JSON(&strings.Builder{}, r))
	})
}
