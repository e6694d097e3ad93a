package compare

import (
	"fmt"
	"slices"

	"github.com/nvmepass/nvmepass/internal/badflag"
	"github.com/nvmepass/nvmepass/internal/iosetup"
)

// BaselineTable is a table of figures to show beside a result.
type BaselineTable struct {
	// Name is how it is asked for.
	Name string
	// Source says who published it, where and when.
	Source string
	// Conditions say how it was measured.
	Conditions string
	// Emulated says that its figures come from an emulated drive.
	Emulated bool
	// Paths and Depths are its columns and rows.
	Paths  []iosetup.Path
	Depths []iosetup.Depth
	iops   map[Cell]float64
}

// IOPS returns the figure of one cell in I/Os per second, and whether the table has it.
func (b *BaselineTable) IOPS(p iosetup.Path, d iosetup.Depth) (float64, bool) {
	v, ok := b.iops[Cell{Path: p, Depth: d}]
	return v, ok
}

// RatioToBlock returns the figure of one cell divided by that of the block path at the same depth, and whether there is one.
func (b *BaselineTable) RatioToBlock(p iosetup.Path, d iosetup.Depth) (float64, bool) {
	v, ok := b.IOPS(p, d)
	block, okBlock := b.IOPS(iosetup.Block, d)
	if !ok || !okBlock || block <= 0 {
		return 0, false
	}
	return v / block, true
}

// BaselineNames returns the names that [Baseline] knows.
func BaselineNames() []string { return []string{"series-2022"} }

// Baseline returns a published table by its name. Errors are [*badflag.Error].
func Baseline(name string) (*BaselineTable, error) {
	if !slices.Contains(BaselineNames(), name) {
		return nil, &badflag.Error{
			Flag: "--baseline", Value: fmt.Sprintf("%q", name), Problem: "no such published table",
			Remedy: fmt.Sprintf("give one of %q, or a file written with -o json", BaselineNames()),
		}
	}
	b := &BaselineTable{
		Name:       name,
		Source:     "Joshi, io-uring mailing list, 2022-08-05",
		Conditions: "512 B random reads, one job, one device, one poll queue, fio",
		Paths:      iosetup.AllPaths(),
		Depths:     iosetup.DefaultDepths(),
		iops:       map[Cell]float64{},
	}
	kiops := [][]float64{
		{80, 81, 158, 157},
		{406, 470, 680, 700},
		{620, 656, 931, 920},
		{879, 1056, 1120, 1132},
	}
	for i, d := range b.Depths {
		for j, p := range b.Paths {
			b.iops[Cell{Path: p, Depth: d}] = kiops[i][j] * 1000
		}
	}
	return b, nil
}

// BaselineOf returns the medians that a recorded result has for one of its devices, under the given name. The second
// result is false when it has none.
func BaselineOf(r *Result, name, device string) (*BaselineTable, bool) {
	b := &BaselineTable{
		Name:       name,
		Source:     "recorded " + r.Started.Format("2006-01-02 15:04:05 MST"),
		Conditions: fmt.Sprintf("%d B %s, rule %s, %d rounds of %v, %s", r.Config.BlockSize, r.Config.RW, r.Config.Rule, r.Config.Rounds, r.Config.Runtime, device),
		Emulated:   r.Environment.Emulated,
		Paths:      slices.Clone(r.Config.Paths),
		Depths:     slices.Clone(r.Config.Depths),
		iops:       map[Cell]float64{},
	}
	for i := range r.Cells {
		c := &r.Cells[i]
		if c.Device == device && c.IOPS.Median != nil {
			b.iops[Cell{Path: c.Path, Depth: c.Depth}] = *c.IOPS.Median
		}
	}
	return b, len(b.iops) > 0
}
