package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nvmepass/nvmepass/internal/badflag"
	"github.com/nvmepass/nvmepass/internal/diff"
	"github.com/nvmepass/nvmepass/internal/record"
	"github.com/nvmepass/nvmepass/internal/report"
)

// exitChanged says that diff found what --fail-on names. It is a code of its own
// so that a script can tell a slower drive from records that could not be read.
const exitChanged = 6

// diffFlags are the flags of nvmepass diff as given.
type diffFlags struct {
	opt    diff.Options
	margin string
	failOn string
	fails  []diff.FailOn
	output string
	color  colorFlag
}

func newDiff(stdout io.Writer) *cobra.Command {
	f := &diffFlags{}
	cmd := &cobra.Command{
		Use:   "diff OLD NEW",
		Short: "Compare two recorded runs: changed or not, and how sure",
		Long: `diff compares two records of the same command, cell by cell: the change with its
95 % interval, and a verdict. What differs in environment and configuration is
told first.

  faster, slower   the change is not chance
  same             the whole interval lies within the margin
  too noisy        neither can be said; in brackets, about how many rounds each
                   run needs to see a change of 5/3 of the margin

Verdicts allow for the number of cells: of two runs that do not differ, any cell
at all is called faster or slower in 2 of 100 cases. Runs that were not made alike
(block size, pattern, rule, mode) are refused.

Records are JSON files that --save or -o json wrote.

Exit codes: 0 done, 1 usage or records that do not compare, 2 a file that cannot
be read, 6 found what --fail-on names.`,
		Example: `  nvmepass diff old.json new.json
  nvmepass diff old.json new.json --fail-on slower:3%          for CI: exit code 6 where a cell lost 3 % or more
  nvmepass diff old.json new.json --fail-on slower:3%,noisy    and where a cell cannot be judged
  nvmepass diff old.json new.json --margin 1% -o json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usage("diff: need two records, OLD and NEW, not %d: see nvmepass diff --help", len(args))
			}
			if err := f.parse(); err != nil {
				return err
			}
			return f.run(cmd.Context(), args[0], args[1], stdout)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.margin, "margin", "", "largest change that counts as none (default 3%, or the size in --fail-on if that is less)")
	fl.StringVar(&f.failOn, "fail-on", "", "exit with 6 where a cell is slower, faster, changed or noisy, with a size if it matters: slower:3%")
	fl.BoolVar(&f.opt.Force, "force", false, "compare also runs that were not made alike")
	addFormat(fl, &f.output, "diff")
	f.color.add(fl)
	return cmd
}

func (f *diffFlags) parse() (err error) {
	if err := errors.Join(checkFormat(f.output, "diff"), f.color.check()); err != nil {
		return err
	}
	if f.failOn != "" {
		if f.fails, err = diff.ParseFailOn(f.failOn); err != nil {
			return err
		}
	}
	f.opt.Margin = diff.DefaultMargin
	if f.margin != "" {
		if f.opt.Margin, err = diff.ParseShare(f.margin); err != nil {
			return &badflag.Error{Flag: "--margin", Problem: err.Error(), Remedy: "changes up to the margin count as none"}
		}
	}
	for _, fail := range f.fails {
		if fail.Least == 0 || fail.Least >= f.opt.Margin {
			continue
		}
		if f.margin != "" {
			return &badflag.Error{
				Flag: "--fail-on", Value: strconv.Quote(f.failOn), Problem: fmt.Sprintf("changes up to the margin of %s count as none", f.margin),
				Remedy: "give a smaller --margin, or leave it out",
			}
		}
		f.opt.Margin = fail.Least
	}
	return nil
}

func (f *diffFlags) run(ctx context.Context, oldPath, newPath string, stdout io.Writer) error {
	old, err := loadRecord(ctx, oldPath)
	if err != nil {
		return err
	}
	updated, err := loadRecord(ctx, newPath)
	if err != nil {
		return err
	}
	res, err := diff.Compare(old, updated, f.opt)
	if err != nil {
		return &codeError{exitUsage, err}
	}
	res.ToolVersion = toolVersion()
	if err := f.print(res, stdout); err != nil {
		return &codeError{exitIO, err}
	}
	return f.verdict(res)
}

func (f *diffFlags) print(res *diff.Result, stdout io.Writer) error {
	switch f.output {
	case "json":
		return report.DiffJSON(stdout, res)
	case "csv":
		return report.DiffCSV(stdout, res)
	}
	return report.DiffText(f.color.on(stdout), res)
}

// verdict is the error of a comparison that found what --fail-on names.
func (f *diffFlags) verdict(res *diff.Result) error {
	var errs []error
	for _, fail := range f.fails {
		cells := res.Failing(fail)
		if len(cells) == 0 {
			continue
		}
		const most = 8
		var names []string
		for _, c := range cells[:min(most, len(cells))] {
			name := strings.TrimSpace(c.Row + " " + c.Column + " " + c.Variant)
			if c.Change != nil {
				name += fmt.Sprintf(" %+.1f%%", 100**c.Change)
			}
			names = append(names, name)
		}
		if len(cells) > most {
			names = append(names, fmt.Sprintf("and %d more", len(cells)-most))
		}
		errs = append(errs, fmt.Errorf("diff: --fail-on %s: %d of %d cells: %s", fail, len(cells), len(res.Cells), strings.Join(names, ", ")))
	}
	if len(errs) == 0 {
		return nil
	}
	return &codeError{exitChanged, errors.Join(errs...)}
}

// loadRecord reads a record of any command. A file that is no record is a wrong
// argument, one that cannot be read is not.
func loadRecord(ctx context.Context, path string) (*record.Record, error) {
	return untilDone(ctx, func() (*record.Record, error) { return openRecord(path) })
}

func openRecord(path string) (r *record.Record, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read record: %w; give a file written with --save", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if fi, err := file.Stat(); err == nil && fi.IsDir() {
		return nil, usage("read record %s: it is a folder; give a file written with --save", path)
	}
	r, err = record.Read(path, file)
	if err != nil {
		return nil, &codeError{exitUsage, err}
	}
	return r, nil
}
