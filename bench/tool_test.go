package main

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRunTool: of a program that fails, both its messages and its record are told.
func TestRunTool(t *testing.T) {
	const record = `{"schema":"nvmepass.nop/1","cells":[{"op":"nop","qd_batch":"1_1","rounds":[{"error":"ring is gone"}]}]}`
	const whole = `{"schema":"nvmepass.nop/1","cells":[{"op":"nop","qd_batch":"1_1","rounds":[{}],"iops":{"median":5},"user_cpu_ns_per_io":1,"system_cpu_ns_per_io":2}]}`
	run := func(script string) (Sample, error) {
		return runTool(t.Context(), "sh", []string{"-c", script}, nopSchema, opNOP, "1_1")
	}
	s, err := run("echo '" + whole + "'")
	require.NoError(t, err)
	require.Equal(t, Sample{metricIOPS: 5, metricCPU: 3}, s)

	exit := (*exec.ExitError)(nil)
	_, err = run("echo '" + record + "'; echo said >&2; exit 3")
	require.ErrorAs(t, err, &exit)
	require.ErrorContains(t, err, "exit status 3: said")
	require.ErrorContains(t, err, "ring is gone")

	_, err = run("echo '" + whole + "'; exit 4")
	require.ErrorContains(t, err, "exit status 4", "a whole record does not excuse a failure")

	_, err = run("echo said >&2; exit 3")
	require.ErrorContains(t, err, "exit status 3: said")
	require.NotContains(t, err.Error(), "output of nvmepass")

	_, err = runTool(t.Context(), "./no-such-program", nil, nopSchema, opNOP, "1_1")
	require.Error(t, err)
}
