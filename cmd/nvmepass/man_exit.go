package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// exitStatus is one meaning of an exit code, in the words of README.md.
type exitStatus struct {
	code  int
	means string
	// only are the commands that it concerns, without the program's name, each with
	// those below it; none means all.
	only []string
}

// working are the commands that do something with a device or a ring.
var working = []string{"admin", "compare", "doctor", "info", "io", "lab", "list", "nop", "run", "smart", "sweep", "verify"}

// allExitStatuses are the exit codes of nvmepass, in order.
var allExitStatuses = []exitStatus{
	{exitOK, "done", nil},
	{exitUsage, "usage", nil},
	{exitUsage, "records that diff cannot compare", []string{"diff"}},
	{exitDevice, "device, permission or unsupported", nil},
	{exitDevice, "a problem that doctor found", []string{"doctor"}},
	{exitIO, "I/O error or NVMe status", nil},
	{exitIO, "a cell that came out without a figure", []string{"compare", "nop", "sweep", "lab"}},
	{exitIO, "a critical warning that smart found", []string{"smart"}},
	{exitIO, "output that cannot be written", nil},
	{exitMismatch, "data mismatch", []string{"verify", "io compare", "lab"}},
	{exitTimeout, "time-out, cancelled, device gone", working},
	{exitChanged, "a difference that diff --fail-on names", []string{"diff"}},
	{exitInterrupted, "interrupted", working},
	{exitNoReader, "nobody reads the output any more", nil},
}

// exitStatuses are those of c, one for each code. On the first page and that of a
// group stand those of all commands below it.
func exitStatuses(c *cobra.Command) []exitStatus {
	path := strings.TrimPrefix(strings.TrimPrefix(c.CommandPath(), c.Root().Name()), " ")
	var found []exitStatus
	for _, s := range allExitStatuses {
		if !s.concerns(path) {
			continue
		}
		if n := len(found); n > 0 && found[n-1].code == s.code {
			found[n-1].means += "; " + s.means
			continue
		}
		found = append(found, s)
	}
	return found
}

func (s exitStatus) concerns(path string) bool {
	return s.only == nil || path == "" || slices.ContainsFunc(s.only, func(name string) bool {
		return path == name || strings.HasPrefix(path, name+" ") || strings.HasPrefix(name, path+" ")
	})
}
