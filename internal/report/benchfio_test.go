package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/compare"
)

func bench(t *testing.T, r *compare.Result) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, Bench(&b, r))
	return b.String()
}

// The golden file is what test/readers reads with golang.org/x/perf/benchfmt.
func TestBenchGolden(t *testing.T) {
	requireGolden(t, "lab.bench", bench(t, labResult(t)))
}

func TestBenchLeavesOutWhatWasNotMeasured(t *testing.T) {
	r := troubledResult(t)
	lines := 0
	for line := range strings.Lines(bench(t, r)) {
		if strings.HasPrefix(line, "Benchmark") {
			lines++
			require.Regexp(t, `^BenchmarkCompare/dev=ng[01]n1/path=[a-z-]+/rw=randread/bs=512/qd=\d+/batch=\d+ [1-9]\d* [\d.]+ ns/op [\d.]+ IOPS [\d.]+ MiB/s [\d.]+ user-ns/op [\d.]+ system-ns/op\n$`, line)
		}
	}
	used := 0
	for i := range r.Cells {
		for j := range r.Cells[i].Rounds {
			if round := &r.Cells[i].Rounds[j]; round.Error == "" && round.Rates != nil && *round.Rates.IOPS > 0 {
				used++
			}
		}
	}
	require.Equal(t, used, lines)
}

func fioDocument(t *testing.T, r *compare.Result) map[string]any {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, Fio(&b, r))
	var doc map[string]any
	require.NoError(t, json.Unmarshal(b.Bytes(), &doc))
	return doc
}

func TestFioGolden(t *testing.T) {
	var b strings.Builder
	require.NoError(t, Fio(&b, narrowResult(t)))
	requireGolden(t, "one-cell.fio.json", b.String())
}

// Whatever a reader of fio 3.33's own output finds there, it finds in ours with
// the same type, but for what is told here: times of single commands,
// which a comparison does not take.
func TestFioHasFiosShape(t *testing.T) {
	raw, err := os.ReadFile("testdata/fio-3.33.json")
	require.NoError(t, err)
	var real map[string]any
	require.NoError(t, json.Unmarshal(raw, &real))
	absent := map[string]bool{"sync": true, "percentile": true, "latency_ns": true, "latency_us": true, "latency_ms": true, "latency_depth": true, "latency_target": true, "latency_percentile": true, "latency_window": true}
	for _, r := range []*compare.Result{labResult(t), troubledResult(t), narrowResult(t)} {
		requireShape(t, "", real, fioDocument(t, r), absent)
	}
}

// requireShape checks that got has every key of want with a value of the same type.
func requireShape(t *testing.T, at string, want, got any, absent map[string]bool) {
	t.Helper()
	require.Equal(t, fmt.Sprintf("%T", want), fmt.Sprintf("%T", got), at)
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		require.True(t, ok, at)
		if strings.HasSuffix(at, "options") || strings.Contains(at, "iodepth_") || strings.HasSuffix(at, "percentile") {
			return // free keys
		}
		for key, value := range w {
			if !absent[key] {
				require.Contains(t, g, key, at)
				requireShape(t, at+"/"+key, value, g[key], absent)
			}
		}
	case []any:
		g, ok := got.([]any)
		require.True(t, ok, at)
		if len(w) > 0 {
			for _, item := range g {
				requireShape(t, at+"[]", w[0], item, absent)
			}
		}
	}
}

func TestFioSumsAddUp(t *testing.T) {
	r := labResult(t)
	doc := fioDocument(t, r)
	list, ok := doc["jobs"].([]any)
	require.True(t, ok)
	require.Len(t, list, len(r.Cells))
	for i, item := range list {
		job, ok := item.(map[string]any)
		require.True(t, ok)
		read, ok := job["read"].(map[string]any)
		require.True(t, ok)
		require.Equal(t, string(r.Cells[i].Path)+"-"+r.Cells[i].Depth.String(), job["jobname"])
		require.InEpsilon(t, *r.Cells[i].IOPS.Median, read["iops"], 0.05)
		require.InEpsilon(t, read["total_ios"].(float64)*512, read["io_bytes"], 1e-9)
		require.InEpsilon(t, read["iops"].(float64)*512, read["bw_bytes"], 1e-3)
		require.LessOrEqual(t, read["iops_min"], read["iops_mean"])
		require.GreaterOrEqual(t, read["iops_max"].(float64)+1, read["iops_mean"])
		require.InDelta(t, 5, read["iops_samples"], 0)
		require.InDelta(t, 0, job["error"], 0)
	}
	for _, item := range fioDocument(t, troubledResult(t))["jobs"].([]any) {
		if job := item.(map[string]any); strings.HasPrefix(job["jobname"].(string), "passthru-1_1-ng1n1") {
			require.InDelta(t, 0, job["read"].(map[string]any)["total_ios"], 0)
		}
	}
}

func TestMoments(t *testing.T) {
	least, most, mean, deviation := moments([]float64{2, 4, 4, 4, 5, 5, 7, 9})
	require.Equal(t, []float64{2, 9, 5, 2}, []float64{least, most, mean, deviation})
	least, most, mean, deviation = moments(nil)
	require.Equal(t, []float64{0, 0, 0, 0}, []float64{least, most, mean, deviation})
}
