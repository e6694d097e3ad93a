package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/nvmepass/nvmepass/internal/badflag"
	"github.com/nvmepass/nvmepass/internal/htmlreport"
	"github.com/nvmepass/nvmepass/internal/outfile"
	"github.com/nvmepass/nvmepass/internal/record"
)

// reportFlags are the flags of nvmepass report as given.
type reportFlags struct {
	output, charts, title string
}

func newReport(stdout, stderr io.Writer) *cobra.Command {
	f := &reportFlags{}
	cmd := &cobra.Command{
		Use:   "report FILE...",
		Short: "One HTML file from recorded runs: tables, charts, environment",
		Long: `report writes one HTML file from one or more records of compare, run, sweep and
nop: tables, bar charts with intervals, ratios, what each switch is worth, curves
over block size, latency, environment and settings. It needs nothing beside
itself, neither a network nor scripts, and prints well.

Records are JSON files that --save or -o json wrote. Several of the same kind stand
side by side.`,
		Example: `  nvmepass report run.json -o report.html
  nvmepass report 6.1.json 7.3.json -o kernels.html --title "6.1 against 7.3"
  nvmepass report run.json -o report.html --charts figures/    and each chart as an SVG file`,
		RunE: func(cmd *cobra.Command, paths []string) error {
			if len(paths) == 0 {
				return usage("report: no record given: name files written with --save, as in: nvmepass report run.json -o report.html")
			}
			if f.output == "" && !cmd.Flags().Changed("charts") {
				return usage("report: no output named: give -o report.html, or -o - for standard output")
			}
			return f.run(cmd, paths, stdout, stderr)
		},
	}
	fl := cmd.Flags()
	fl.StringVarP(&f.output, "output", "o", "", "HTML `FILE` to write; - is standard output")
	fl.StringVar(&f.charts, "charts", "", "`FOLDER` to write each chart to as an SVG file; it is made if need be")
	fl.StringVar(&f.title, "title", "", "title of the page")
	return cmd
}

func (f *reportFlags) run(cmd *cobra.Command, paths []string, stdout, stderr io.Writer) error {
	var records []*record.Record
	for i, path := range paths {
		if slices.Contains(paths[:i], path) {
			return &badflag.Error{Flag: "FILE", Value: path, Problem: "a record may be given only once", Remedy: "remove the second " + path}
		}
		r, err := loadRecord(cmd.Context(), path)
		if err != nil {
			return err
		}
		records = append(records, r)
	}
	shortNames(records)
	rep, err := htmlreport.New(records, htmlreport.Options{Title: f.title, ToolVersion: toolVersion(), Generated: time.Now()})
	if err != nil {
		return err
	}
	if cmd.Flags().Changed("charts") {
		if err := saveCharts(f.charts, rep, stderr); err != nil {
			return err
		}
	}
	switch f.output {
	case "":
		return nil
	case "-":
		if err := rep.Write(stdout); err != nil {
			return &codeError{exitIO, err}
		}
		return nil
	}
	if err := checkFile("-o", f.output, "report.html"); err != nil {
		return err
	}
	if err := outfile.Write(f.output, rep.Write); err != nil {
		return err
	}
	fmt.Fprintf(stderr, "nvmepass: wrote %s: %s, %s\n", f.output, counted(len(records), "record"), counted(len(rep.Charts()), "chart"))
	return nil
}

// shortNames leaves the folders out where files are told apart without.
func shortNames(records []*record.Record) {
	var names []string
	for _, r := range records {
		name := filepath.Base(r.Name)
		if slices.Contains(names, name) {
			return
		}
		names = append(names, name)
	}
	for i, r := range records {
		r.Name = names[i]
	}
}

func saveCharts(dir string, rep *htmlreport.Report, stderr io.Writer) error {
	if dir == "" {
		return &badflag.Error{Flag: "--charts", Value: strconv.Quote(dir), Problem: "no folder is named", Remedy: "give the path of a folder, such as figures"}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return &badflag.Error{Flag: "--charts", Value: strconv.Quote(dir), Problem: err.Error(), Remedy: "give a folder where this user can write"}
	}
	for _, c := range rep.Charts() {
		path := filepath.Join(dir, c.Name+".svg")
		if err := outfile.Write(path, func(w io.Writer) error { _, err := io.WriteString(w, c.Scene.File()); return err }); err != nil {
			return err
		}
		fmt.Fprintln(stderr, "nvmepass: wrote "+path)
	}
	return nil
}

// counted is a number of things.
func counted(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}
