package nopbench

import (
	"fmt"

	"github.com/nvmepass/nvmepass/internal/badflag"
)

// Published is a pair of figures in print: one change of the kernel, measured
// before and after.
type Published struct {
	// Name is how it is asked for.
	Name string
	// Source says where and when it was published, Conditions how measured.
	Source, Conditions string
	// Before and After are in commands per second.
	Before, After float64
	// TotalAfter is the number of commands that After rests on.
	TotalAfter uint64
}

// series2020 is the request cache of io_uring. Queue depth and batch are not
// told in it.
var series2020 = Published{
	Name: "series-2020", Source: "io-uring mailing list, May 2020", Conditions: "no-op stress run on one CPU, before and after a cache of requests",
	Before: 5362579, After: 5589702, TotalAfter: 1676910736,
}

// BaselineNames returns the names that [Baseline] knows.
func BaselineNames() []string { return []string{series2020.Name} }

// Baseline returns published figures by name. Errors are [*badflag.Error].
func Baseline(name string) (*Published, error) {
	if name != series2020.Name {
		return nil, &badflag.Error{Flag: "--baseline", Value: fmt.Sprintf("%q", name), Problem: "no such published figures", Remedy: fmt.Sprintf("give one of %q, or a record saved with --save", BaselineNames())}
	}
	p := series2020
	return &p, nil
}
