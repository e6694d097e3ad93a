package main

import (
	"slices"

	"github.com/spf13/pflag"
)

// progressModes are what --progress takes.
var progressModes = []string{"auto", "line", "plain", "none"}

func addProgress(fl *pflag.FlagSet, progress *string) {
	fl.StringVar(progress, "progress", "auto", "`HOW` progress is shown on standard error: auto, line (rewritten, for terminals), plain (line by line) or none")
}

func checkProgress(progress string) error {
	if slices.Contains(progressModes, progress) {
		return nil
	}
	return usage("--progress %q: need %s", progress, alternatives(progressModes))
}
