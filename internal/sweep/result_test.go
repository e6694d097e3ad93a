package sweep

import (
	"bytes"
	"encoding/json"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/badflag"
	"github.com/nvmepass/nvmepass/internal/compare"
	"github.com/nvmepass/nvmepass/internal/iosetup"
	"github.com/nvmepass/nvmepass/internal/trial"
)

// rounds repeats a bandwidth in MiB/s with a scatter of so many per cent.
func rounds(mibps, scatter float64, n int, e iosetup.Effective) []trial.Round {
	out := []trial.Round{}
	for i := range n {
		v := mibps * (1 + scatter/100*float64(i%3-1))
		out = append(out, trial.Round{
			Round: i + 1, Rates: compare.Rates{IOPS: compare.Float(v), BytesPerSecond: compare.Float(v * (1 << 20))},
			Sample: &compare.Sample{WindowNS: 1e9, OK: uint64(v), Settings: e},
		})
	}
	return out
}

var whole = iosetup.Effective{Polled: true, FixedBuffers: iosetup.FixedWhole, RegisteredFiles: true, RegisteredRing: true, RingFlags: []string{"IOPOLL"}}

// resultOf is a sweep of one path, limit 128 KiB, with a figure for each size.
func resultOf(p Path, sizes []int, rows ...[]trial.Round) *Result {
	r := &Result{Schema: Schema, Config: DefaultConfig(), Limits: Limits{OneCommand: 128 << 10, Unsplit: 128 << 10}}
	r.Config.Paths, r.Config.Sizes = []Path{p}, sizes
	for i, size := range sizes {
		r.Cells = append(r.Cells, CellResult{Cell: Cell{size, p}, Commands: r.Limits.Pieces(size), Rounds: rows[i]})
	}
	r.Summarize()
	return r
}

func TestCliff(t *testing.T) {
	plainBuffers := whole
	plainBuffers.FixedBuffers = "plain (ENOMEM)"
	sizes := []int{64 << 10, 128 << 10, 144 << 10, 256 << 10}
	for _, tt := range []struct {
		name  string
		path  Path
		rows  [][]trial.Round
		cliff map[int]string // size in KiB and its cause
	}{
		{"as published", BlockPoll, [][]trial.Round{rounds(2000, 2, 5, whole), rounds(3167, 2, 5, whole), rounds(898, 2, 5, whole), rounds(1576, 2, 5, whole)},
			map[int]string{144: "polls for no part", 256: "polls for no part"}},
		{"as published, synchronous", SyncPoll, [][]trial.Round{rounds(2000, 2, 5, whole), rounds(2705, 2, 5, whole), rounds(2901, 2, 5, whole), rounds(4194, 2, 5, whole)}, nil},
		{"by interrupt", Block, [][]trial.Round{rounds(100, 1, 5, whole), rounds(200, 1, 5, whole), rounds(100, 1, 5, whole), rounds(210, 1, 5, whole)}, map[int]string{144: "the block layer splits it"}},
		{"a slope", Block, [][]trial.Round{rounds(100, 1, 5, whole), rounds(90, 1, 5, whole), rounds(80, 1, 5, whole), rounds(76, 1, 5, whole)}, nil},
		{"below the limit", Passthru, [][]trial.Round{rounds(100, 1, 5, whole), rounds(50, 1, 5, whole), nil, nil}, map[int]string{128: "not the transfer limit"}},
		{"more and more commands", Block, [][]trial.Round{nil, nil, rounds(100, 1, 5, whole), rounds(50, 1, 5, whole)}, map[int]string{256: "not the transfer limit"}},
		{"buffers", Passthru, [][]trial.Round{rounds(100, 1, 5, whole), rounds(50, 1, 5, plainBuffers), nil, nil}, map[int]string{128: "fixed buffers alike: whole at 64k, plain (ENOMEM) here"}},
		{"noise", BlockPoll, [][]trial.Round{rounds(100, 60, 5, whole), rounds(60, 60, 5, whole), nil, nil}, nil},
		{"too few rounds", BlockPoll, [][]trial.Round{rounds(100, 1, 2, whole), rounds(10, 1, 2, whole), nil, nil}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := resultOf(tt.path, sizes, tt.rows...)
			found := 0
			for i := range r.Cells {
				c := &r.Cells[i]
				want, ok := tt.cliff[c.BlockSize>>10]
				require.Equal(t, ok, c.Cliff != nil, "%s", c)
				if ok {
					found++
					require.Contains(t, c.Cliff.Cause, want)
					require.Less(t, c.Cliff.Ratio, CliffShare)
				}
			}
			require.Equal(t, found, strings.Count(strings.Join(r.Warnings, "\n"), "cliff: "))
		})
	}
	many := resultOf(Block, []int{256 << 10, 1 << 20}, rounds(100, 1, 5, whole), rounds(50, 1, 5, whole))
	require.Contains(t, many.Cells[1].Cliff.Cause, "more commands for each read, 8 after 2")
}

func TestCliffCompares(t *testing.T) {
	r := resultOf(BlockPoll, []int{64 << 10, 128 << 10, 144 << 10}, rounds(4000, 1, 5, whole), rounds(3500, 1, 5, whole), rounds(1000, 1, 5, whole))
	require.Equal(t, 64<<10, r.Cells[2].Cliff.BestSize, "with the best, not the last")
	require.InEpsilon(t, 0.25, r.Cells[2].Cliff.Ratio, 1e-9)
	require.Equal(t, 144<<10, r.FirstAbove())
	require.Zero(t, resultOf(Block, []int{512}, nil).FirstAbove())
}

func TestWarnings(t *testing.T) {
	unpolled := iosetup.Effective{FixedBuffers: iosetup.FixedOff}
	r := resultOf(SyncPoll, []int{4096}, rounds(10, 1, 3, unpolled))
	require.Contains(t, strings.Join(r.Warnings, "\n"), "NOT polled: from Linux 5.19 on")
	require.NotContains(t, strings.Join(r.Warnings, "\n"), "did not take effect", "what a ring is asked for is not asked of preadv2")
	r = resultOf(BlockPoll, []int{144 << 10}, rounds(10, 1, 3, whole))
	require.Contains(t, strings.Join(r.Warnings, "\n"), "144k block-poll")
	r = resultOf(PassthruPoll, []int{4096}, rounds(10, 1, 3, unpolled))
	require.Contains(t, strings.Join(r.Warnings, "\n"), "NOT polled: the figure is one of interrupts: 4k passthru-poll")
	require.Contains(t, strings.Join(r.Warnings, "\n"), "fixed buffers were asked for and did not take effect: 4k passthru-poll")
	failed := []trial.Round{{Round: 1, Error: syscall.EIO.Error()}}
	r = resultOf(Block, []int{4096}, failed)
	require.Equal(t, 1, r.FailedRounds())
	require.Contains(t, strings.Join(r.Warnings, "\n"), "1 cells have no figure")
	require.Contains(t, strings.Join(r.Warnings, "\n"), "input/output error: 4k block")
}

func TestDecode(t *testing.T) {
	r := resultOf(BlockPoll, []int{64 << 10, 144 << 10}, rounds(4000, 1, 5, whole), rounds(1000, 1, 5, whole))
	r.SetEnvironment(compare.Environment{Kernel: "k"})
	var b bytes.Buffer
	require.NoError(t, json.NewEncoder(&b).Encode(r))
	back, err := Decode(&b)
	require.NoError(t, err)
	require.Equal(t, r, back)
	_, err = Decode(strings.NewReader(`{"schema":"nvmepass.nop/1"}`))
	require.ErrorContains(t, err, Schema)
}

func TestBaseline(t *testing.T) {
	p, err := Baseline("series-2020b")
	require.NoError(t, err)
	require.Len(t, p.MiBps, len(p.Sizes))
	for _, row := range p.MiBps {
		require.Len(t, row, len(p.Paths))
	}
	for size, want := range map[int]int{128 << 10: 512 << 10, 144 << 10: 528 << 10, 256 << 10: 1 << 20} {
		require.Equal(t, want, p.At(size, 512<<10))
		require.Equal(t, size, p.At(size, 128<<10))
	}
	_, err = Baseline("series-2020")
	var bad *badflag.Error
	require.ErrorAs(t, err, &bad)
	require.Contains(t, bad.Remedy, "series-2020b")
}
