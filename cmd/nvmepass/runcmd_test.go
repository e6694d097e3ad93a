package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/compare"
	"github.com/nvmepass/nvmepass/internal/jobs"
	"github.com/nvmepass/nvmepass/uringcmd"
)

// TestRunRefusals: what needs no drive to be found wrong ends at once with the
// exit code of the README, names flag and value, and prints no result.
func TestRunRefusals(t *testing.T) {
	dir := t.TempDir()
	dev := os.DevNull
	for _, tt := range []struct {
		args []string
		code int
		says []string
	}{
		{nil, exitUsage, []string{"no device given", "--lab"}},
		{[]string{dev, dev}, exitUsage, []string{dev, "only once", "--numjobs"}},
		{[]string{dev}, exitDevice, []string{dev, "not an NVMe namespace"}},
		{[]string{dir + "/ng0n1"}, exitDevice, []string{"no such device"}},

		{[]string{dev, "--rw", "randwrit"}, exitUsage, []string{"--rw", `"randwrit"`, "randwrite"}},
		{[]string{dev, "--rw", "randwrite"}, exitUsage, []string{"--allow-write", "randwrite destroys"}},
		{[]string{dev, "--rw", "write", "--force-overwrite"}, exitUsage, []string{"--allow-write"}},
		{[]string{dev, "--allow-write"}, exitUsage, []string{"--allow-write", "writes nothing"}},
		{[]string{dev, "--force-overwrite"}, exitUsage, []string{"--force-overwrite", "writes nothing"}},
		{[]string{dev, "--rw", "trim", "--path", "block", "--allow-write"}, exitUsage, []string{"--rw trim", "passthru"}},

		{[]string{dev, "--path", "polled"}, exitUsage, []string{`--path "polled"`, "block-poll"}},
		{[]string{dev, "--bs", "0"}, exitUsage, []string{"--bs 0"}},
		{[]string{dev, "--bs", "4KB"}, exitUsage, []string{"--bs", `"4KB"`}},
		{[]string{dev, "--qd", "0"}, exitUsage, []string{"--qd 0", "4096"}},
		{[]string{dev, "--iodepth=9999"}, exitUsage, []string{"--qd 9999"}},
		{[]string{dev, "--qd", "8", "--batch", "9"}, exitUsage, []string{"--batch 9", "which is 8"}},
		{[]string{dev, "--batch", "0"}, exitUsage, []string{"--batch 0"}},
		{[]string{dev, "--batch-rule", "x"}, exitUsage, []string{"--batch-rule", "tio"}},
		{[]string{dev, "--numjobs", "0"}, exitUsage, []string{"--numjobs 0"}},
		{[]string{dev, "--numjobs", "-1"}, exitUsage, []string{"--numjobs -1"}},
		{[]string{dev, dir, "--numjobs", "1"}, exitUsage, []string{"--numjobs 1", "--shared-ring"}},
		{[]string{dev, "--shared-ring"}, exitUsage, []string{"--shared-ring", "only one device"}},
		{[]string{dev, "--cpu", "x"}, exitUsage, []string{"--cpu", `"x"`}},
		{[]string{dev, "--cpu", ""}, exitUsage, []string{"--cpu", "0,2-3"}},
		{[]string{dev, "--cpus_allowed=1,1"}, exitUsage, []string{"--cpu 1", "only once"}},
		{[]string{dev, "--runtime", "0"}, exitUsage, []string{"--runtime 0s", "--number-ios"}},
		{[]string{dev, "--ramp_time=-1"}, exitUsage, []string{"--warmup", `"-1"`}},
		{[]string{dev, "--number-ios", "0"}, exitUsage, []string{"--number-ios 0"}},
		{[]string{dev, "--number_ios=5", "--io_size=1m"}, exitUsage, []string{"--io-size", "--number-ios"}},
		{[]string{dev, "--io-size", "0"}, exitUsage, []string{"--io-size 0"}},
		{[]string{dev, "--size", "0"}, exitUsage, []string{"--size 0"}},
		{[]string{dev, "--size", "50%"}, exitUsage, []string{"--size", `"50%"`}},
		{[]string{dev, "--random-distribution", "normal"}, exitUsage, []string{"--random-distribution", `"normal"`, "zipf"}},
		{[]string{dev, "--rw", "read", "--random-distribution", "random"}, exitUsage, []string{"--random-distribution", "no effect"}},
		{[]string{dev, "--rwmixread", "70"}, exitUsage, []string{"--rwmixread 70", "mixes nothing"}},
		{[]string{dev, "--rw", "read", "--seed", "7"}, exitUsage, []string{"--seed 7", "no effect"}},
		{[]string{dev, "--rate-process", "linear"}, exitUsage, []string{"--rate-process linear", "no rate"}},
		{[]string{dev, "--rate-iops", "0"}, exitUsage, []string{"--rate-iops 0"}},
		{[]string{dev, "--rate", "1x"}, exitUsage, []string{"--rate", `"1x"`}},
		{[]string{dev, "--hybrid-poll"}, exitUsage, []string{"--hybrid-poll", "does not poll"}},
		{[]string{dev, "--sqpoll-idle", "1s"}, exitUsage, []string{"--sqpoll-idle", "--sqpoll"}},
		{[]string{dev, "-o", "xml"}, exitUsage, []string{`-o "xml"`, "fio"}},
		{[]string{dev, "--progress", "no"}, exitUsage, []string{`--progress "no"`}},
		{[]string{dev, "--save", dir + "/no/run.json"}, exitUsage, []string{"--save", dir + "/no"}},
		{[]string{dev, "--kernel", "x"}, exitUsage, []string{"--kernel", "add --lab"}},
		{[]string{"--lab", "--cpus", "0"}, exitUsage, []string{"--cpus 0"}},
		{[]string{"--lab", "--rw", "write"}, exitUsage, []string{"--allow-write"}},
		{[]string{"--lab", "--drive", "size=1g", "--drive", "size=1g", "--numjobs", "1"}, exitUsage, []string{"2 devices"}},
	} {
		t.Run(strings.ReplaceAll(strings.Join(tt.args, " "), dir, ""), func(t *testing.T) {
			code, out, errs := command(t, append([]string{"run"}, tt.args...)...)
			require.Equal(t, tt.code, code, errs)
			require.Empty(t, out)
			require.True(t, strings.HasPrefix(errs, "nvmepass: "), errs)
			for _, s := range tt.says {
				require.Contains(t, errs, s)
			}
			require.Less(t, len(errs), 1000)
		})
	}
}

func TestRunHelp(t *testing.T) {
	code, out, errs := command(t, "run", "--help")
	require.Zero(t, code)
	require.Empty(t, errs)
	for _, s := range []string{"--shared-ring", "--allow-write", "--rate-process", "t/io_uring -d128", "SIGUSR1"} {
		require.Contains(t, out, s)
	}
	require.NotContains(t, out, "all-devices")
}

// parsed is what run makes of flags, as far as it needs no drive.
func parsed(t *testing.T, args ...string) *runFlags {
	t.Helper()
	f := &runFlags{cfg: jobs.DefaultConfig()}
	cmd := newRun(os.Stdout, os.Stderr)
	cmd.ResetFlags()
	f.add(cmd.Flags())
	require.NoError(t, cmd.ParseFlags(args))
	f.cfg.Devices = cmd.Flags().Args()
	require.NoError(t, f.parse(cmd))
	return f
}

func TestRunDefaults(t *testing.T) {
	f := parsed(t, "/dev/ng0n1")
	require.Equal(t, "128_32", f.cfg.Depth.String(), "t/io_uring's")
	require.Equal(t, 10*time.Second, f.cfg.Runtime)
	require.Equal(t, "4_4", parsed(t, "x", "--qd", "4").cfg.Depth.String())
	require.Zero(t, parsed(t, "x", "--number-ios", "5").cfg.Runtime)
	require.Equal(t, time.Second, parsed(t, "x", "--number-ios", "5", "--runtime", "1").cfg.Runtime)
	f = parsed(t, "x", "--iodepth=16", "--ramp_time=2", "--rate_iops=100", "--blocksize=4k", "--cpus_allowed=0,2-3", "--readwrite=read", "--io_size=1g")
	require.Equal(t, "16_16", f.cfg.Depth.String())
	require.Equal(t, 2*time.Second, f.cfg.Warmup)
	require.EqualValues(t, 100, f.cfg.RateIOPS)
	require.Equal(t, []int{0, 2, 3}, f.cfg.CPUs)
	require.EqualValues(t, 1<<30, f.cfg.IOSize)
}

// TestRunFlagsReachTheGuest: what guestArgs repeats is read as the same.
func TestRunFlagsReachTheGuest(t *testing.T) {
	args := []string{
		"--rw=randrw", "--rwmixread=30", "--bs=4k", "--qd=16", "--batch=2", "--batch-rule=fio", "--path=passthru-poll", "--numjobs=2", "--cpu=0-1",
		"--runtime=1500ms", "--warmup=3", "--offset=1m", "--size=10m", "--random-distribution=zipf:1.1", "--rate-iops=10", "--rate=3m", "--rate-process=poisson",
		"--latency", "--seed=9", "--allow-write", "--force-overwrite", "--fixedbufs=false", "--sqpoll", "--sqpoll-idle=10ms", "--number-ios=7",
	}
	f := parsed(t, append(args, "x")...)
	cmd := newRun(os.Stdout, os.Stderr)
	cmd.ResetFlags()
	g := &runFlags{cfg: jobs.DefaultConfig()}
	g.add(cmd.Flags())
	require.NoError(t, cmd.ParseFlags(append(args, "x")))
	again := parsed(t, append(g.labFlags.guestArgs(cmd.Flags()), "x")...)
	require.Equal(t, f.cfg, again.cfg)
	require.Equal(t, []any{f.allowWrite, f.force}, []any{again.allowWrite, again.force})
	given := 0
	cmd.Flags().Visit(func(*pflag.Flag) { given++ })
	require.Equal(t, len(args), given)
}

func TestRunVerdict(t *testing.T) {
	res := func(failed, cancelled uint64) *jobs.Result {
		return &jobs.Result{Total: jobs.Figures{Run: compare.Counts{Failed: failed, Cancelled: cancelled}}}
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct {
		ctx  context.Context
		res  *jobs.Result
		err  error
		code int
	}{
		{t.Context(), res(0, 0), nil, exitOK},
		{t.Context(), res(1, 1), nil, exitIO},
		{t.Context(), res(0, 1), nil, exitTimeout},
		{done, res(1, 0), context.Canceled, exitInterrupted},
		{t.Context(), res(9, 0), fmt.Errorf("job 1: %w", syscall.ENODEV), exitTimeout},
		{t.Context(), res(0, 0), uringcmd.ErrStalled, exitTimeout},
		{t.Context(), res(0, 0), errors.New("other"), exitDevice},
	} {
		require.Equal(t, tt.code, exitCode(tt.ctx, runVerdict(tt.ctx, tt.res, tt.err)))
	}
}

// TestRunWritesEveryFormat, and a record that reads back with its page.
func TestRunWritesEveryFormat(t *testing.T) {
	res := &jobs.Result{Schema: jobs.Schema, Config: jobs.DefaultConfig()}
	for _, format := range formats["run"] {
		dir := t.TempDir()
		f := &runFlags{output: format, saveFlags: saveFlags{filepath.Join(dir, "run.json"), filepath.Join(dir, "run.html")}}
		var out strings.Builder
		require.NoError(t, f.write(res, &out))
		require.NotEmpty(t, out.String(), format)
		page, err := os.ReadFile(f.saveFlags.html)
		require.NoError(t, err)
		require.Contains(t, string(page), "<h2>run.json</h2>")
		saved, err := os.Open(f.saveFlags.save)
		require.NoError(t, err)
		back, err := jobs.Decode(saved)
		require.NoError(t, errors.Join(err, saved.Close()))
		require.Equal(t, jobs.Schema, back.Schema)
	}
}
