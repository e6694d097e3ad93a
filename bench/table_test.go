package main

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"testing"

	"os"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/compare"
)

func examplePart() *Part {
	return &Part{
		Name: "drive", Title: "Drive: something", Rounds: 3, Settings: []string{"how it was run"}, Repeated: []string{"it failed"}, LoadBefore: "0.10", LoadAfter: "2.00",
		Environment: compare.Environment{Kernel: "6.12.0", CPUModel: "CPU", CPUCount: 2, GoVersion: "go1.26", Emulated: true, EmulatedReason: "ran in the lab", Accelerator: "tcg"},
		Cells:       []Cell{cellOf("x", []float64{110, 220, 330}, []float64{100, 100, 100})},
		Comparisons: []Comparison{
			{Cell: "x", Metric: metricIOPS, Ours: 1234567, Theirs: 1000, Against: "b", Ratio: 1.1, Low: 1.05, High: 1.15, Target: Target{Bound: 1}, Outcome: Met},
			{Cell: "x", Metric: metricP99, Ours: 123456, Theirs: 12, Against: "b", Ratio: 2, Outcome: NoTarget},
			{Cell: "y", Metric: metricIOPS, Ratio: 0.5, Low: 0.4, High: 0.6, Against: "b", Target: Target{Bound: 1}, Outcome: Missed},
			{Cell: "z", Metric: metricIOPS, Ratio: 0.5, Against: "b", Target: Target{Bound: 1}, Outcome: Undecided},
		},
	}
}

func TestPrint(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, examplePart().print(&b))
	const want = `
Drive: something
EMULATED (ran in the lab): the figures compare the sides with each other and do not measure a drive
CPU x 2, kernel 6.12.0, governor not known, go1.26, accelerator tcg
how it was run
a run was repeated: it failed
load of the machine: 0.10 before, 2.00 after
spread of the rounds, (highest-lowest)/median of iops, over the cells: a 100-100 %, b 0-0 %

cell (EMULATED)  metric  ours   theirs  against  ratio  95 % interval  target  outcome
x                iops    1.23M  1.0k    b        1.100  1.050-1.150    >=1.00  met
x                p99_ns  123k   12      b        2.000  -              -       -
y                iops    0      0       b        0.500  0.400-0.600    >=1.00  MISSED
z                iops    0      0       b        0.500  -              >=1.00  UNDECIDED, too noisy

1 of 3 targets met, 1 missed, 1 undecided
`
	require.Equal(t, want, b.String())
}

// TestSave: the record can be read back as it was.
func TestSave(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bench.json")
	rec := Record{Schema: Schema, Command: []string{"bench"}, Parts: []Part{*examplePart()}}
	require.NoError(t, rec.save(path))
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	var back Record
	require.NoError(t, json.Unmarshal(b, &back))
	require.Equal(t, rec, back)
}
