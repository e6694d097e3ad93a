// Package readers_test reads what nvmepass writes for other tools with the code of
// those tools. It is a module of its own, so that who imports the library gets
// none of their dependencies.
package readers_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchproc"
)

const golden = "../../internal/report/testdata"

// TestBenchIsRead reads every golden file of -o bench as benchstat does.
func TestBenchIsRead(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(golden, "*bench*.golden"))
	require.NoError(t, err)
	require.Contains(t, paths, filepath.Join(golden, "lab.bench.golden"))
	for _, path := range paths {
		f, err := os.Open(path)
		require.NoError(t, err)
		reader := benchfmt.NewReader(f, path)
		results := 0
		for reader.Scan() {
			switch rec := reader.Result().(type) {
			case *benchfmt.SyntaxError:
				require.Fail(t, "no line of the benchmark format", "%v", rec)
			case *benchfmt.Result:
				results++
				require.Positive(t, rec.Iters)
				iops, ok := rec.Value("IOPS")
				require.True(t, ok, "%s", rec.Name)
				seconds, ok := rec.Value("sec/op")
				require.True(t, ok, "%s: ns/op is read as sec/op", rec.Name)
				require.InEpsilon(t, 1, iops*seconds, 0.01, "%s", rec.Name)
			}
		}
		require.NoError(t, reader.Err())
		require.Positive(t, results, path)
		require.Equal(t, 1, reader.Units().GetBetter("IOPS"), path)
		require.NoError(t, f.Close())
	}
}

// TestBenchPivots makes sure that benchstat -col /path finds its columns.
func TestBenchPivots(t *testing.T) {
	f, err := os.Open(filepath.Join(golden, "lab.bench.golden"))
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	var parser benchproc.ProjectionParser
	byPath, err := parser.Parse("/path", nil)
	require.NoError(t, err)
	reader := benchfmt.NewReader(f, "lab.bench.golden")
	samples := map[string]int{}
	for reader.Scan() {
		if rec, ok := reader.Result().(*benchfmt.Result); ok {
			samples[strings.TrimPrefix(byPath.Project(rec).String(), "/path:")]++
		}
	}
	require.NoError(t, reader.Err())
	require.Equal(t, map[string]int{"block": 20, "passthru": 20, "passthru-poll": 20, "block-poll": 20}, samples)
}
