package readers_test

import (
	"encoding/csv"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFioJSONIsRead gives every golden file of -o fio to the program that fio
// itself comes with for its JSON. It looks up each direction's times of each job,
// and makes a table of each job.
func TestFioJSONIsRead(t *testing.T) {
	reader, err := exec.LookPath("fio_jsonplus_clat2csv")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("needs Debian's package fio: %v", err)
		}
		t.Skipf("needs Debian's package fio: %v", err)
	}
	paths, err := filepath.Glob(filepath.Join(golden, "*fio*.golden"))
	require.NoError(t, err)
	require.Contains(t, paths, filepath.Join(golden, "run-one.fio.golden"))
	for _, path := range paths {
		document, err := os.ReadFile(path)
		require.NoError(t, err)
		var ours struct{ Jobs []json.RawMessage }
		require.NoError(t, json.Unmarshal(document, &ours))
		dir := t.TempDir()
		out, err := exec.Command(reader, path, filepath.Join(dir, "x.csv")).CombinedOutput()
		require.NoError(t, err, "%s: %s", path, out)
		require.NotContains(t, string(out), "Traceback")
		tables, err := filepath.Glob(filepath.Join(dir, "*.csv"))
		require.NoError(t, err)
		require.Len(t, tables, len(ours.Jobs), "%s: %s", path, out)
		for _, table := range tables {
			b, err := os.ReadFile(table)
			require.NoError(t, err)
			rows, err := csv.NewReader(strings.NewReader(string(b))).ReadAll()
			require.NoError(t, err)
			for _, column := range []string{"read_clat_ns_count", "write_clat_ns_count", "trim_clat_ns_count"} {
				require.Contains(t, strings.Join(rows[0], ""), column)
			}
		}
	}
}
