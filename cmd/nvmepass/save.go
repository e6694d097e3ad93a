package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/nvmepass/nvmepass/internal/badflag"
	"github.com/nvmepass/nvmepass/internal/compare"
	"github.com/nvmepass/nvmepass/internal/report"
)

// checkSave finds out before the run whether a record can be saved: only to a
// regular file, new or old, in a folder that lets files be made. The rename of
// saveJSON would put a file in the place of a device node.
func checkSave(path string) error {
	refuse := func(problem, remedy string) error {
		return &badflag.Error{Flag: "--save", Value: strconv.Quote(path), Problem: problem, Remedy: remedy}
	}
	if path == "" {
		return refuse("no file is named", "give the path of a file, such as run.json")
	}
	if fi, err := os.Stat(path); err == nil && !fi.Mode().IsRegular() {
		return refuse("it is there and is no regular file", "give the path of a file, such as run.json")
	}
	tmp, err := tempBeside(path)
	if err != nil {
		return refuse(err.Error(), "give a file in a folder where this user can write")
	}
	return errors.Join(tmp.Close(), os.Remove(tmp.Name()))
}

func tempBeside(path string) (*os.File, error) {
	return os.CreateTemp(filepath.Dir(path), ".nvmepass-save.*")
}

// saveJSON writes a comparison's record; see saveRecord.
func saveJSON(path string, res *compare.Result) error {
	return saveRecord(path, func(w io.Writer) error { return report.JSON(w, res) })
}

// saveRecord writes a record whole or not at all: into a temporary file beside
// the target, then renamed.
func saveRecord(path string, write func(io.Writer) error) (err error) {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target // the rename would replace the link
	}
	tmp, err := tempBeside(path)
	if err != nil {
		return fmt.Errorf("save record: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("save record to %s: %w", path, err), os.Remove(tmp.Name()))
		}
	}()
	if err := errors.Join(tmp.Chmod(0o644), write(tmp), tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}

// checkBaseline finds out before the run whether the baseline can be had.
func (f *compareFlags) checkBaseline() error {
	if slices.Contains(compare.BaselineNames(), f.baseline) {
		return nil
	}
	if _, err := f.baselineRecord(); err != nil {
		return &badflag.Error{Flag: "--baseline", Value: f.baseline, Problem: err.Error(), Remedy: fmt.Sprintf("give a record saved with --save, or one of %v", compare.BaselineNames())}
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
