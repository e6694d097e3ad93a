package main

import (
	"cmp"
	"os"
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
func (o *output) printFailure(cmd *cobra.Command, args []string, code int, text string) error {
	if o.used || code == exitOK || cmd.Flags().Lookup("output") == nil || !asksForJSON(cmd, args) {
		return nil
	}
	return report.Document(o, report.Failure{
		Schema: report.FailureSchema, ToolVersion: toolVersion(), Command: cmd.CommandPath(), Error: cmp.Or(text, "standard error says why"), ExitCode: code,
	})
}

// asksForJSON looks for -o json. A flag that was not understood ends the parsing,
// so that those after it are looked at here.
func asksForJSON(cmd *cobra.Command, args []string) bool {
	if f := cmd.Flags().Lookup("output"); f.Changed {
		return f.Value.String() == "json"
	}
	json := false
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
		case name == "-o", strings.HasPrefix(name, "--") && string(fioNames(cmd.Flags(), name[2:])) == "output":
			json = value == "json"
		}
	}
	return json
}
