package lab

import (
	"os"
	"slices"
	"strings"
)

// insideArg is the kernel argument that marks an emulated guest.
const insideArg = "nvmepass.lab=1"

// Inside reports whether this process runs in a guest that [Run] started, so that its figures come from an emulated drive.
func Inside() bool {
	b, err := os.ReadFile("/proc/cmdline")
	return err == nil && insideIn(string(b))
}

func insideIn(cmdline string) bool {
	return slices.Contains(strings.Fields(cmdline), insideArg)
}
