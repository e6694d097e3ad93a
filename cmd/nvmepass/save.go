package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/nvmepass/nvmepass/internal/compare"
	"github.com/nvmepass/nvmepass/internal/report"
)

// saveJSON writes a record whole or not at all: into a temporary file beside
// the target, then renamed.
func saveJSON(path string, res *compare.Result) (err error) {
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("save record: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("save record to %s: %w", path, err), os.Remove(tmp.Name()))
		}
	}()
	if err := errors.Join(tmp.Chmod(0o644), report.JSON(tmp, res), tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}

// checkBaseline finds out before the run whether the baseline can be had.
func (f *compareFlags) checkBaseline() error {
	if f.baseline == "" {
		return nil
	}
	if slices.Contains(compare.BaselineNames(), f.baseline) {
		return nil
	}
	if _, err := f.baselineRecord(); err != nil {
		return &compare.UsageError{Flag: "--baseline", Value: f.baseline, Problem: err.Error(), Remedy: fmt.Sprintf("give a record saved with --save, or one of %v", compare.BaselineNames())}
	}
	return nil
}

func (f *compareFlags) baselineRecord() (res *compare.Result, err error) {
	file, err := os.Open(f.baseline)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return compare.Decode(file)
}

// baselineOf is the table to show beside one device's figures.
func (f *compareFlags) baselineOf(device string) *compare.BaselineTable {
	if f.baseline == "" {
		return nil
	}
	if b, err := compare.Baseline(f.baseline); err == nil {
		return b
	}
	rec, err := f.baselineRecord()
	if err != nil {
		return nil
	}
	for _, d := range append([]string{device}, rec.Config.Devices...) {
		if b, ok := compare.BaselineOf(rec, f.baseline, d); ok {
			return b
		}
	}
	return nil
}
