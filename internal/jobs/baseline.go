package jobs

import (
	"fmt"

	"github.com/nvmepass/nvmepass/internal/badflag"
)

// Published is a pair of figures in print: one change of the kernel, measured
// before and after with a workload that a run can repeat.
type Published struct {
	// Name is how it is asked for.
	Name string
	// Source says where and when it was published, Conditions how measured.
	Source, Conditions string
	// Before and After are IOPS of all devices together, one figure for each
	// run that was published.
	Before, After []float64
}

var published = []Published{
	{
		Name: "series-2021", Source: "io-uring mailing list, Aug 2021",
		Conditions: "512 B random reads by polled block I/O, depth 128, batches of 32, one drive, one processor; before and after bios were recycled",
		Before:     []float64{3111520}, After: []float64{3417120},
	},
	{
		Name: "series-2021b", Source: "io-uring mailing list, Oct 2021",
		Conditions: "512 B random reads by interrupt, depth 1, two drives; before and after completions were batched",
		Before:     []float64{254820, 251174, 250806}, After: []float64{255972, 251920, 251794},
	},
}

// BaselineNames returns the names that [Baseline] knows.
func BaselineNames() []string {
	var names []string
	for _, p := range published {
		names = append(names, p.Name)
	}
	return names
}

// Baseline returns published figures by name. Errors are [*badflag.Error].
func Baseline(name string) (*Published, error) {
	for _, p := range published {
		if p.Name == name {
			return &p, nil
		}
	}
	return nil, &badflag.Error{
		Flag: "--baseline", Value: fmt.Sprintf("%q", name), Problem: "no such published figures",
		Remedy: fmt.Sprintf("give one of %q; nvmepass diff compares with a record saved with --save", BaselineNames()),
	}
}
