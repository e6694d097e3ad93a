package main

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/nvmepass/nvmepass/internal/lab"
)

// job is one shape of guest on one kernel.
type job struct {
	kernel lab.Kernel
	shape  shape
	got    results
}

// runJobs runs so many jobs at a time and ends with the first error. Shapes that
// leave out the fewest tests take longest and go first.
func runJobs(ctx context.Context, jobs []*job, parallel int, run func(context.Context, *job) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	todo := make(chan *job, len(jobs))
	for _, j := range slices.SortedStableFunc(slices.Values(jobs), func(a, b *job) int { return cmp.Compare(len(a.shape.run), len(b.shape.run)) }) {
		todo <- j
	}
	close(todo)
	var workers sync.WaitGroup
	for range max(1, parallel) {
		workers.Go(func() {
			for j := range todo {
				if ctx.Err() != nil {
					return
				}
				if err := run(ctx, j); err != nil {
					cancel(err)
				}
			}
		})
	}
	workers.Wait()
	return context.Cause(ctx)
}

// byKernel merges the results of the shapes of each kernel.
func byKernel(jobs []*job) map[string]results {
	all := map[string]results{}
	for _, j := range jobs {
		if all[j.kernel.Version] == nil {
			all[j.kernel.Version] = results{}
		}
		all[j.kernel.Version].merge(j.got)
	}
	return all
}
