package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/nvmepass/nvmepass/internal/badflag"
	"github.com/nvmepass/nvmepass/internal/compare"
	"github.com/nvmepass/nvmepass/internal/record"
	"github.com/nvmepass/nvmepass/internal/trial"
)

// trialFlags are what commands have in common that run cells in interleaved
// rounds and print or save a record.
type trialFlags struct {
	output, baseline, progress string
	saveFlags                  saveFlags
	command                    string
	baselines                  []string // published figures that --baseline takes
}

// addSettings adds the flags that say how often and how long cells run.
func (f *trialFlags) addSettings(fl *pflag.FlagSet, s *trial.Settings) {
	fl.IntVar(&s.Rounds, "rounds", s.Rounds, "times that every cell is run; intervals need 3")
	fl.Var(timeValue{&s.Runtime}, "runtime", "measured time of a cell in each round, in seconds or with a unit")
	fl.Var(timeValue{&s.Warmup}, "warmup", "time before that, not measured (fio: ramp_time)")
	fl.Var(cpuValue{&s.CPU}, "cpu", "CPU to pin the submitting thread to (default not pinned)")
	fl.Uint64Var(&s.Seed, "seed", s.Seed, "of the order of cells and of the addresses")
}

// addOutput adds the flags that say what becomes of the result.
func (f *trialFlags) addOutput(fl *pflag.FlagSet) {
	addFormat(fl, &f.output, f.command)
	f.saveFlags.add(fl)
	fl.StringVar(&f.baseline, "baseline", "", "show figures beside: "+strings.Join(f.baselines, ", ")+", or a saved JSON record")
	addProgress(fl, &f.progress)
}

// check checks what addOutput added. decode finds out whether a file is a record
// that the baseline can come from.
func (f *trialFlags) check(fl *pflag.FlagSet, decode func(io.Reader) error) error {
	if err := checkFormat(f.output, f.command); err != nil {
		return err
	}
	if err := checkProgress(f.progress); err != nil {
		return err
	}
	if err := f.saveFlags.check(fl); err != nil {
		return err
	}
	if !fl.Changed("baseline") {
		return nil
	}
	if f.output != "text" {
		return usage("--baseline %s: shown in text alone: use -o text", f.baseline)
	}
	if f.published() {
		return nil
	}
	if err := readRecord(f.baseline, decode); err != nil {
		return &badflag.Error{Flag: "--baseline", Value: f.baseline, Problem: err.Error(), Remedy: fmt.Sprintf("give a record saved with --save, or one of %v", f.baselines)}
	}
	return nil
}

// published tells whether the baseline is figures in print.
func (f *trialFlags) published() bool { return slices.Contains(f.baselines, f.baseline) }

func readRecord(path string, decode func(io.Reader) error) (err error) {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return decode(record.Limited(file))
}

// progressTo chooses how progress is shown on stderr.
func (f *trialFlags) progressTo(stderr *os.File) (update func(compare.Progress), finish func()) {
	return (&compareFlags{progress: f.progress}).progressTo(stderr)
}

// trialVerdict is the error that the process ends with once a result is written.
func trialVerdict(ctx context.Context, totals compare.Counts, failedRounds int, err error) error {
	switch {
	case ctx.Err() != nil:
		return &codeError{code: exitInterrupted}
	case err != nil:
		return err
	case failedRounds > 0 || totals.Failed > 0:
		return &codeError{code: exitIO}
	case totals.Cancelled > 0:
		return &codeError{code: exitTimeout}
	}
	return nil
}
