package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"github.com/nvmepass/nvmepass/internal/badflag"
	"github.com/nvmepass/nvmepass/internal/compare"
	"github.com/nvmepass/nvmepass/internal/htmlreport"
	"github.com/nvmepass/nvmepass/internal/outfile"
	"github.com/nvmepass/nvmepass/internal/record"
)

// saveFlags say what becomes of a result besides standard output, the same for
// every command that measures.
type saveFlags struct {
	save, html string
}

func (f *saveFlags) add(fl *pflag.FlagSet) {
	fl.StringVar(&f.save, "save", "", "write the JSON record to this `FILE` as well")
	fl.StringVar(&f.html, "html", "", "write an HTML report to this `FILE` as well")
}

// check finds out before the run whether the files can be written.
func (f *saveFlags) check(fl *pflag.FlagSet) error {
	if fl.Changed("save") {
		if err := checkFile("--save", f.save, "run.json"); err != nil {
			return err
		}
	}
	if fl.Changed("html") {
		return checkFile("--html", f.html, "report.html")
	}
	return nil
}

// checkFile finds out whether a file can be written that a flag names.
func checkFile(flag, path, example string) error {
	err := outfile.Check(path)
	if err == nil {
		return nil
	}
	return &badflag.Error{Flag: flag, Value: strconv.Quote(path), Problem: err.Error(), Remedy: "give the path of a file, such as " + example + ", in a folder where this user can write"}
}

// write writes the files: the record by json, and its page, on which the record
// has the name of its file. kind is the command.
func (f *saveFlags) write(kind string, result any, json func(io.Writer) error) error {
	var saved error
	name := kind
	if f.save != "" {
		name = filepath.Base(f.save)
		saved = outfile.Write(f.save, json)
	}
	if f.html != "" {
		saved = errors.Join(saved, savePage(f.html, name, result))
	}
	return saved
}

func savePage(path, name string, result any) error {
	rec, err := record.Of(name, result)
	if err != nil {
		return err
	}
	rep, err := htmlreport.New([]*record.Record{rec}, htmlreport.Options{ToolVersion: toolVersion(), Generated: time.Now()})
	if err != nil {
		return err
	}
	return outfile.Write(path, rep.Write)
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
	return compare.Decode(record.Limited(file))
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
