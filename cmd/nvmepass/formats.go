package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// formats are what -o takes, by command. Those of io and admin have binary as well
// where data comes from the drive.
var formats = map[string][]string{
	"compare": {"text", "json", "csv", "bench", "fio"},
	"run":     {"text", "json", "csv", "bench", "fio"},
	"sweep":   {"text", "json", "csv", "bench", "fio"},
	"nop":     {"text", "json", "csv", "bench", "fio"},
	"diff":    {"text", "json", "csv"},
	"list":    {"text", "json", "csv"},
	"info":    {"text", "json"},
	"smart":   {"text", "json"},
	"doctor":  {"text", "json"},
	"verify":  {"text", "json"},
	"io":      {"text", "json"},
	"admin":   {"text", "json"},
}

// addFormat adds -o to a command.
func addFormat(fl *pflag.FlagSet, output *string, command string) {
	usage := "`FORMAT` of the result on standard output: " + alternatives(formats[command])
	usage = strings.Replace(usage, "bench or fio", "bench (for benchstat) or fio (its JSON)", 1)
	fl.StringVarP(output, "output", "o", "text", usage)
}

// checkFormat refuses a value of -o that a command does not have.
func checkFormat(output, command string) error { return checkOutput(output, formats[command]...) }

// checkOutput refuses a value of -o that is not allowed.
func checkOutput(output string, allowed ...string) error {
	if slices.Contains(allowed, output) {
		return nil
	}
	return usage("-o %q: need %s", output, alternatives(allowed))
}

// alternatives writes a list as "a, b or c".
func alternatives(list []string) string {
	last := len(list) - 1
	return strings.Join(list[:last], ", ") + " or " + list[last]
}

// formatsOf are those of a command of the tree.
func formatsOf(cmd *cobra.Command) []string {
	name, parent := cmd.Name(), cmd.Parent()
	if parent != nil && formats[parent.Name()] != nil {
		name = parent.Name()
	}
	of := slices.Clone(formats[name])
	if cmd.Flags().Lookup("raw-binary") != nil {
		of = append(of, "binary")
	}
	return of
}
