package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/compare"
	"github.com/nvmepass/nvmepass/internal/trial"
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

// realFio are outputs of fio itself: one that is kept, and that of the fio which is
// installed, if one is.
func realFio(t *testing.T) (docs []map[string]any) {
	t.Helper()
	kept, err := os.ReadFile("testdata/fio-3.33.json")
	require.NoError(t, err)
	outputs := [][]byte{kept}
	if fio, err := exec.LookPath("fio"); err == nil {
		cmd := exec.CommandContext(t.Context(), fio, "--output-format=json", "-")
		cmd.Stdin = strings.NewReader("[global]\nioengine=null\nsize=64k\nrw=randread\n[a]\nbs=512\niodepth=4\n")
		out, err := cmd.Output()
		require.NoError(t, err)
		outputs = append(outputs, out)
	}
	for _, b := range outputs {
		var doc map[string]any
		require.NoError(t, json.Unmarshal(b, &doc))
		docs = append(docs, doc)
	}
	return docs
}

// TestFioHasFiosShape: whatever a reader of fio's own output finds there, it finds in
// ours with the same type, and what fio does not have is told apart.
func TestFioHasFiosShape(t *testing.T) {
	noSamples := nopResult(1, true)
	noSamples.Cells[0].Rounds = []trial.Round{{Round: 1, Error: "EIO"}}
	for name, ours := range map[string]string{
		"compare": rendered(t, Fio, labResult(t)), "compare, troubled": rendered(t, Fio, troubledResult(t)), "compare, narrow": rendered(t, Fio, narrowResult(t)),
		"run": rendered(t, RunFio, oneRun()), "run, two devices": rendered(t, RunFio, twoRun()), "run, troubled": rendered(t, RunFio, troubledRun()),
		"sweep": rendered(t, SweepFio, sweepResult(1)), "nop": rendered(t, NopFio, nopResult(1, true)), "nop, troubled": rendered(t, NopFio, noSamples),
	} {
		var got any
		require.NoError(t, json.Unmarshal([]byte(ours), &got))
		for _, real := range realFio(t) {
			requireShape(t, name, real, got)
		}
	}
}

// ownKeys are the keys that fio 3.33 does not have: job_start is of later
// versions, and disk_util it writes where the engine used a disk.
var ownKeys = []string{"nvmepass", "job_start", "disk_util"}

// requireShape checks that got has the keys of want, each with a value of the same
// type, and no others.
func requireShape(t *testing.T, at string, want, got any) {
	t.Helper()
	require.Equal(t, fmt.Sprintf("%T", want), fmt.Sprintf("%T", got), at)
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		require.True(t, ok, at)
		if strings.HasSuffix(at, "options") || strings.HasSuffix(at, "percentile") {
			return // free keys
		}
		for key, value := range w {
			if key == "percentile" && g["N"] == 0.0 {
				continue // fio, too, leaves it out then
			}
			require.Contains(t, g, key, at)
			requireShape(t, at+"/"+key, value, g[key])
		}
		for key := range g {
			if _, ok := w[key]; !ok && key != "percentile" {
				require.Contains(t, ownKeys, key, at)
			}
		}
	case []any:
		g, ok := got.([]any)
		require.True(t, ok, at)
		require.NotEmpty(t, w, at)
		for _, item := range g {
			requireShape(t, at+"[]", w[0], item)
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
