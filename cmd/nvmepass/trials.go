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
	"github.com/nvmepass/nvmepass/internal/trial"
)

// trialFlags are what commands have in common that run cells in interleaved
// rounds and print or save a record.
type trialFlags struct {
	output, save, baseline, progress string
	outputs                          []string // that -o takes
	baselines                        []string // published figures that --baseline takes
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
	fl.StringVarP(&f.output, "output", "o", "text", "format on standard output: "+alternatives(f.outputs))
	fl.StringVar(&f.save, "save", "", "write the JSON record to this file as well")
	fl.StringVar(&f.baseline, "baseline", "", "show figures beside: "+strings.Join(f.baselines, ", ")+", or a saved JSON record")
	fl.StringVar(&f.progress, "progress", "auto", "progress on standard error: auto, line (for terminals), plain or none")
}

// alternatives writes a list as "a, b or c".
func alternatives(list []string) string {
	last := len(list) - 1
	return strings.Join(list[:last], ", ") + " or " + list[last]
}

// check checks what addOutput added. decode finds out whether a file is a record
// that the baseline can come from.
func (f *trialFlags) check(fl *pflag.FlagSet, decode func(io.Reader) error) error {
	if !slices.Contains(f.outputs, f.output) {
		return usage("-o %q: need %s", f.output, alternatives(f.outputs))
	}
	if !slices.Contains([]string{"auto", "line", "plain", "none"}, f.progress) {
		return usage("--progress %q: need auto, line, plain or none", f.progress)
	}
	if fl.Changed("save") {
		if err := checkSave(f.save); err != nil {
			return err
		}
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
	return decode(file)
}

// progressTo chooses how progress is shown on stderr.
func (f *trialFlags) progressTo(stderr *os.File) (update func(compare.Progress), finish func()) {
	return (&compareFlags{progress: f.progress}).progressTo(stderr)
}

// write saves the record where asked and prints it. A record that cannot be
// saved does not keep the figures from standard output.
func (f *trialFlags) write(stdout io.Writer, json func(io.Writer) error, print func(io.Writer) error) error {
	var saved error
	if f.save != "" {
		saved = saveRecord(f.save, json)
	}
	return errors.Join(saved, print(stdout))
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
