package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/test/faults"
)

func TestRow(t *testing.T) {
	d := document{columns: []column{
		{kernel: "6.1.0", results: map[string]faults.Result{
			"a": {Result: faults.Pass, Seconds: 1.26, Outcome: faults.Outcome{Issued: 1, OK: 1}},
			"b": {Result: faults.Skip, Reason: "6.1 has none"},
		}},
		{kernel: "7.3.4", results: map[string]faults.Result{
			"a": {Result: faults.Pass, Seconds: 61, Outcome: faults.Outcome{Issued: 9, OK: 4, Failed: 3, Cancelled: 2, Note: "x|y"}},
			"b": {Result: faults.Pass, Seconds: 2, Outcome: faults.Outcome{Nothing: true}},
			"c": {Result: faults.Fail, Outcome: faults.Outcome{Issued: 5, OK: 1, Lost: 4}},
		}},
	}}
	require.Equal(t, "| a | f | m | 1m0s | 3 | pass, 1.3s | pass, 1m1s | 9 = 4 + 3 + 2 | x\\|y |\n", d.row(faults.Case{Name: "a", Fault: "f", Must: "m", Bound: 60e9, Exit: 3}))
	require.Contains(t, d.row(faults.Case{Name: "b", Exit: faults.LibraryOnly}), "| library | not there: 6.1 has none | pass, 2s | nothing is sent |")
	require.Contains(t, d.row(faults.Case{Name: "c", Must: "m", Leaks: true}), "| m (*stays mapped*) | 0s | 0 | not run | fail, 0s | 5 = 1 + 0 + 0 + 4 given up |")
	require.Contains(t, d.ranNowhere(faults.Cases()).Error(), "ran on no kernel")
	all := column{results: map[string]faults.Result{}}
	for _, c := range faults.Cases() {
		all.results[c.Name] = faults.Result{Result: faults.Pass}
	}
	require.NoError(t, (&document{columns: []column{all}}).ranNowhere(faults.Cases()))
}

// TestTableIsOfTheseCases: docs/reliability.md was written by a whole run of the
// cases as they are, and each ran, and none failed.
func TestTableIsOfTheseCases(t *testing.T) {
	b, err := os.ReadFile("../../../docs/reliability.md")
	require.NoError(t, err)
	text := string(b)
	require.True(t, strings.HasPrefix(text, head))
	rows := 0
	for _, c := range faults.Cases() {
		d := document{}
		cells := strings.SplitAfterN(d.row(c), " | ", 6) // name, fault, must, bound, exit code
		require.Contains(t, text, strings.Join(cells[:5], ""), "run `make faults`")
		rows++
	}
	require.Equal(t, rows, strings.Count(text, "\n| ")-len(faults.Groups()))
	require.NotContains(t, text, "| not run |")
	require.NotContains(t, text, "| fail, ")
}
