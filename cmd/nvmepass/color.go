package main

import (
	"io"
	"os"
	"slices"

	"github.com/spf13/pflag"

	"github.com/nvmepass/nvmepass/internal/report"
	"github.com/nvmepass/nvmepass/internal/sys"
)

// colorModes are what --color takes.
var colorModes = []string{"auto", "always", "never"}

// colorFlag is --color of the commands whose text has verdicts.
type colorFlag struct{ mode string }

func (f *colorFlag) add(fl *pflag.FlagSet) {
	fl.StringVar(&f.mode, "color", "auto", "`WHEN` verdicts are coloured: auto (on a terminal, unless NO_COLOR is set or TERM is dumb), always or never")
}

func (f *colorFlag) check() error {
	if slices.Contains(colorModes, f.mode) {
		return nil
	}
	return usage("--color %q: need %s", f.mode, alternatives(colorModes))
}

// on is stdout for text, with colour or without.
func (f *colorFlag) on(stdout io.Writer) io.Writer {
	if f.mode == "always" || f.mode == "auto" && takesColor(stdout) {
		return report.Coloured(stdout)
	}
	return stdout
}

// takesColor tells whether w is a terminal whose user did not ask for plain text,
// as https://no-color.org has it.
func takesColor(w io.Writer) bool {
	file, ok := w.(interface{ Fd() uintptr })
	if !ok || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return false
	}
	_, tty := sys.TerminalWidth(int(file.Fd()))
	return tty
}
