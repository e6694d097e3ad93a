package main

import (
	"slices"
	"strings"
)

// checkOutput refuses a value of -o that a command does not have.
func checkOutput(output string, allowed ...string) error {
	if slices.Contains(allowed, output) {
		return nil
	}
	last := len(allowed) - 1
	return usage("-o %q: need %s or %s", output, strings.Join(allowed[:last], ", "), allowed[last])
}

// needDevices refuses a command without a device.
func needDevices(command string, devices []string) error {
	if len(devices) > 0 {
		return nil
	}
	return usage("%s: no device given: name a node such as /dev/ng0n1 or /dev/nvme0; nvmepass list shows them", command)
}
