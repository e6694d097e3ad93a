package sweep

import (
	"fmt"

	"github.com/nvmepass/nvmepass/internal/badflag"
)

// Published is a table in print: bandwidth around the transfer limit.
type Published struct {
	// Name is how it is asked for.
	Name string
	// Source says where and when it was published, Conditions how measured.
	Source, Conditions string
	// Limit is the most that one command moved there, in bytes.
	Limit int
	// Sizes are the rows in bytes, Paths the columns; MiBps has a row of
	// figures in MiB/s for each size.
	Sizes []int
	Paths []Path
	MiBps [][]float64
}

var series2020b = Published{
	Name: "series-2020b", Source: "io-uring mailing list, March 2020",
	Conditions: "random reads with O_DIRECT, fixed buffers, io_uring polled against preadv2 with RWF_HIPRI",
	Limit:      128 << 10,
	Sizes:      []int{128 << 10, 144 << 10, 256 << 10},
	Paths:      []Path{BlockPoll, SyncPoll},
	MiBps:      [][]float64{{3167, 2705}, {898, 2901}, {1576, 4194}},
}

// BaselineNames returns the names that [Baseline] knows.
func BaselineNames() []string { return []string{series2020b.Name} }

// Baseline returns a published table by name. Errors are [*badflag.Error].
func Baseline(name string) (*Published, error) {
	if name != series2020b.Name {
		return nil, &badflag.Error{Flag: "--baseline", Value: fmt.Sprintf("%q", name), Problem: "no such published table", Remedy: fmt.Sprintf("give one of %q, or a record saved with --save", BaselineNames())}
	}
	p := series2020b
	return &p, nil
}

// At is the size that lies to limit as a size of the table lies to its own
// limit: the limit itself, as much above it, or as many times it.
func (p *Published) At(size int, limit uint64) int {
	if size%p.Limit == 0 {
		return int(limit) * (size / p.Limit)
	}
	return int(limit) + size - p.Limit
}
