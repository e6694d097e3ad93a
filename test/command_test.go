package test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/compare"
)

// nvmepass runs the command and returns its exit code and output.
func nvmepass(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	bin := tool(t)
	cmd := exec.Command(bin, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if _, ok := errors.AsType[*exec.ExitError](err); !ok {
		require.NoError(t, err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// TestCompareCommand: 16 cells, none of them empty, in every format.
func TestCompareCommand(t *testing.T) {
	d := device(t, want{lba: 512, ms: 0, poll: 1})
	args := []string{"compare", d.Path(), "--rounds", "3", "--runtime", "150ms", "--warmup", "30ms", "--progress", "none"}
	code, out, errs := nvmepass(t, append(args, "-o", "json")...)
	require.Zero(t, code, errs)
	res, err := compare.Decode(strings.NewReader(out))
	require.NoError(t, err)
	require.Len(t, res.Cells, 16)
	for _, c := range res.Cells {
		require.Equal(t, 3, c.Measured, "%v: %+v", c.Cell, c.Rounds)
		require.Positive(t, *c.IOPS.Median)
		require.LessOrEqual(t, *c.IOPS.CILow, *c.IOPS.CIHigh)
		for _, r := range c.Rounds {
			require.Equal(t, c.Path.Polled(), r.Sample.Settings.Polled)
		}
	}
	require.Equal(t, res.Totals.Issued, res.Totals.OK)
	require.Equal(t, d.Controller().SN, res.Environment.Devices[0].Serial)
	require.NotEmpty(t, res.Environment.Kernel)
	if strings.HasPrefix(d.Controller().MN, "QEMU") {
		require.True(t, res.Environment.Emulated)
	}
	var raw map[string]any
	require.NoError(t, json.Unmarshal([]byte(out), &raw))

	code, out, errs = nvmepass(t, append(args, "-o", "csv")...)
	require.Zero(t, code, errs)
	rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 1+16*3)

	code, out, errs = nvmepass(t, append(args, "--batch-rule", "tio", "--fixedbufs=false", "--registerfiles=false", "--cpu", "0", "--rw", "read", "--bs", "4k")...)
	require.Zero(t, code, errs)
	for _, s := range []string{"QD_batch", "128_32", "passthru-poll", "Ratio to block", "4096 B read"} {
		require.Contains(t, out, s)
	}
}

// TestB04CommandWithoutPollQueues: refused within a second, exit code 2, with
// the boot option in the message.
func TestB04CommandWithoutPollQueues(t *testing.T) {
	d := device(t, want{poll: -1, ms: 0})
	for _, args := range [][]string{{}, {"--paths", "block-poll"}, {"--paths", "passthru-poll"}} {
		fastest := time.Hour // of at most ten, since the machine may be busy
		for try := 0; try < 10 && fastest >= time.Second; try++ {
			began := time.Now()
			code, out, errs := nvmepass(t, append([]string{"compare", d.Path()}, args...)...)
			fastest = min(fastest, time.Since(began))
			require.Equal(t, 2, code, errs)
			require.Empty(t, out)
			require.Contains(t, errs, "nvme.poll_queues=")
		}
		require.Less(t, fastest, time.Second)
	}
	code, out, errs := nvmepass(t, "compare", d.Path(), "--paths", "block,passthru", "--depths", "1_1", "--rounds", "1", "--runtime", "50ms", "--warmup", "0")
	require.Zero(t, code, errs)
	require.Contains(t, out, "QD_batch")
}

// TestInterruptedCommand: SIGINT ends the run, prints what was measured and
// marks it; exit code 130.
func TestInterruptedCommand(t *testing.T) {
	d := device(t, want{lba: 512, ms: 0})
	bin := tool(t)
	cmd := exec.Command(bin, "compare", d.Path(), "--paths", "passthru", "--depths", "1_1,8_2", "--rounds", "3", "--runtime", "2s", "-o", "json")
	var out bytes.Buffer
	cmd.Stdout = &out
	require.NoError(t, cmd.Start())
	time.Sleep(3 * time.Second)
	require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
	_ = cmd.Wait()
	require.Equal(t, 130, cmd.ProcessState.ExitCode())
	res, err := compare.Decode(&out)
	require.NoError(t, err)
	require.True(t, res.Interrupted)
	require.Equal(t, res.Totals.Issued, res.Totals.OK+res.Totals.Failed+res.Totals.Cancelled)
}
