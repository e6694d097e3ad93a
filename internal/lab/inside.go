package lab

import (
	"os"
	"slices"
	"strings"
)

// insideArg is the kernel argument that marks an emulated guest.
const insideArg = "nvmepass.lab=1"

// accelArg is the kernel argument that tells the guest how it is emulated.
const accelArg = "nvmepass.accel="

// Inside reports whether this process runs in a guest that [Run] started, so that its figures come from an emulated drive.
func Inside() bool {
	b, err := os.ReadFile("/proc/cmdline")
	return err == nil && insideIn(string(b))
}

// GuestAccel is the accelerator that runs this guest, AccelKVM or AccelTCG; empty outside of one.
func GuestAccel() string {
	b, err := os.ReadFile("/proc/cmdline")
	if err != nil {
		return ""
	}
	return accelIn(string(b))
}

func accelIn(cmdline string) string {
	for arg := range strings.FieldsSeq(cmdline) {
		if v, ok := strings.CutPrefix(arg, accelArg); ok {
			return v
		}
	}
	return ""
}

func insideIn(cmdline string) bool {
	return slices.Contains(strings.Fields(cmdline), insideArg)
}
