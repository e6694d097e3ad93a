package iosetup

import (
	"fmt"

	"github.com/nvmepass/nvmepass/internal/badflag"
)

// BatchRule says when a cell waits for completions, and for how many. The two rules give different figures wherever the
// batch is above one and below the queue depth, so a table names its rule.
type BatchRule string

// The two batching rules.
const (
	// RuleFio submits up to the batch, then reaps what is there: at least 1, at most the batch. It is fio's
	// iodepth_batch_submit=B, iodepth_batch_complete_min=1, iodepth_batch_complete_max=B, and the rule of the published table.
	RuleFio BatchRule = "fio"
	// RuleTIOUring submits up to the batch and waits for a whole batch once the queue is full, then reaps all there is: fio's
	// t/io_uring with -s and -c set to the batch.
	RuleTIOUring BatchRule = "t/io_uring"
)

// ParseBatchRule reads the value of the flag --batch-rule: "fio" or "tio". Errors are [*badflag.Error].
func ParseBatchRule(s string) (BatchRule, error) {
	switch s {
	case "fio":
		return RuleFio, nil
	case "tio":
		return RuleTIOUring, nil
	}
	return "", BadRule(s)
}

// BadRule is the error of a batching rule that does not exist.
func BadRule(value string) error {
	return &badflag.Error{
		Flag: "--batch-rule", Value: fmt.Sprintf("%q", value), Problem: "no such batching rule",
		Remedy: "give fio (reap 1 up to the batch) or tio (t/io_uring: wait for a whole batch)",
	}
}
