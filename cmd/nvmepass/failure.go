package main

import (
	"cmp"
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nvmepass/nvmepass/internal/report"
)

// output is standard output that knows whether anything was printed.
type output struct {
	file *os.File
	used bool
}

func (o *output) Write(p []byte) (int, error) {
	o.used = true
	return o.file.Write(p)
}

// Fd lets colour and tables look at the terminal.
func (o *output) Fd() uintptr { return o.file.Fd() }

// printFailure prints the document of a command that failed with code and has
// printed nothing, if its user asked for JSON.
func (o *output) printFailure(cmd *cobra.Command, args []string, err error, code int, text string) error {
	if o.used || code == exitOK || !slices.Contains(formatsOf(cmd), "json") || !asksForJSON(cmd, args, err) {
		return nil
	}
	return report.Document(o, report.Failure{
		Schema: report.FailureSchema, ToolVersion: toolVersion(), Command: cmd.CommandPath(), Error: cmp.Or(text, "standard error says why"), ExitCode: code,
	})
}

// flagError is one of the parser of flags, which ends at the first.
type flagError struct{ error }

func (e flagError) Unwrap() error { return e.error }

// asksForJSON looks for -o json. What stands behind a flag that was not
// understood, the parser has not seen: it is looked at here.
func asksForJSON(cmd *cobra.Command, args []string, err error) bool {
	f := cmd.Flags().Lookup("output")
	if f == nil { // of a group of commands
		return false
	}
	if f.Changed || !errors.As(err, new(flagError)) {
		return f.Value.String() == "json"
	}
	json, normal := false, cmd.Flags().GetNormalizeFunc()
	for i, arg := range args {
		if arg == "--" {
			break
		}
		name, value, inline := strings.Cut(arg, "=")
		if !inline && i+1 < len(args) {
			value = args[i+1]
		}
		switch {
		case arg == "-ojson":
			json = true
		case name == "-o", strings.HasPrefix(name, "--") && normal(cmd.Flags(), name[2:]) == "output":
			json = value == "json"
		}
	}
	return json
}
