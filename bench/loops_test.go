package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/ringtest"
	"github.com/nvmepass/nvmepass/uringcmd"
)

// build compiles the loops as the Makefile does.
func build(t *testing.T) string {
	t.Helper()
	for _, tool := range []string{"gcc", "make"} {
		if _, err := exec.LookPath(tool); err != nil {
			ringtest.Missing(t, tool, err)
		}
	}
	if _, err := os.Stat("/usr/include/liburing.h"); err != nil {
		ringtest.Missing(t, "liburing-dev", err)
	}
	dir := t.TempDir()
	cmd := exec.Command("make", "-C", "loops", "OUT="+dir)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return dir
}

// TestLoops compiles both loops and runs each operation for a moment.
func TestLoops(t *testing.T) {
	dir := build(t)
	if _, err := uringcmd.ProbeKernel(); err != nil {
		ringtest.Missing(t, "io_uring", err)
	}
	for _, loop := range []string{sideLiburing, sideFloor} {
		for _, op := range []string{opNOP, opURINGCmd} {
			for _, depth := range []string{"1_1", "8_2", "128_32"} {
				qd, batch, _ := strings.Cut(depth, "_")
				out, err := output(t.Context(), filepath.Join(dir, loop), qd, batch, "0.05", op, "0")
				require.NoError(t, err)
				s, err := decodeLoop(out, loop, op, depth)
				require.NoError(t, err)
				require.NoError(t, s.check())
				want, err := strconv.ParseFloat(batch, 64)
				require.NoError(t, err)
				require.InDelta(t, want, s[metricPerCall], 0.01*want, "%s %s %s: one call for a batch", loop, op, depth)
			}
		}
	}
}

// TestLoopsRefuse what they cannot do, and say why.
func TestLoopsRefuse(t *testing.T) {
	dir := build(t)
	for _, tt := range []struct{ args, want string }{
		{"8 2 0.05 nop", "need five arguments"},
		{"8 9 0.05 nop 0", "BATCH"},
		{"0 1 0.05 nop 0", "QD"},
		{"12 4 0.05 nop 0", "power of two"},
		{"8 2 0.05 read 0", `operation "read"`},
		{"8 2 soon nop 0", "SECONDS"},
		{"8 2 0.05 nop 1023", "pin to CPU 1023"},
	} {
		for _, loop := range []string{sideLiburing, sideFloor} {
			_, err := output(t.Context(), filepath.Join(dir, loop), strings.Fields(tt.args)...)
			require.ErrorContains(t, err, tt.want)
			exit := (*exec.ExitError)(nil)
			require.True(t, errors.As(err, &exit))
		}
	}
}
