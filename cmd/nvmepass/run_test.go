package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/badflag"
	"github.com/nvmepass/nvmepass/internal/compare"
	"github.com/nvmepass/nvmepass/internal/iosetup"
	"github.com/nvmepass/nvmepass/internal/lab"
	"github.com/nvmepass/nvmepass/passthru"
	"github.com/nvmepass/nvmepass/uringcmd"
)

// command runs nvmepass in this process.
func command(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	dir := t.TempDir()
	out, err := os.Create(filepath.Join(dir, "stdout"))
	require.NoError(t, err)
	errs, err := os.Create(filepath.Join(dir, "stderr"))
	require.NoError(t, err)
	code = run(t.Context(), args, out, errs)
	text := func(f *os.File) string {
		b, err := os.ReadFile(f.Name())
		require.NoError(t, errors.Join(err, f.Close()))
		return string(b)
	}
	return code, text(out), text(errs)
}

// TestRefusals: what needs no drive to be found wrong ends at once with the
// exit code of the README, names flag and value, and prints no result.
func TestRefusals(t *testing.T) {
	dir := t.TempDir()
	notRecord := filepath.Join(dir, "text")
	require.NoError(t, os.WriteFile(notRecord, []byte("no record"), 0o600))
	other := filepath.Join(dir, "other")
	require.NoError(t, os.WriteFile(other, []byte(`{"schema":"nvmepass.compare/0"}`), 0o600))
	dev := os.DevNull
	for _, tt := range []struct {
		args []string
		code int
		says []string
	}{
		{[]string{"compar"}, exitUsage, []string{`unknown command "compar"`, "did you mean compare?"}},
		{[]string{"help", "nope"}, exitUsage, []string{`unknown command "nope"`}},
		{[]string{"--nope"}, exitUsage, []string{"--nope", "nvmepass --help"}},

		{[]string{"compare"}, exitUsage, []string{"no device given", "--lab"}},
		{[]string{"compare", ""}, exitUsage, []string{`DEVICE ""`}},
		{[]string{"compare", dev, dev}, exitUsage, []string{dev, "only once"}},
		{[]string{"compare", dev}, exitDevice, []string{dev, "not an NVMe namespace"}},
		{[]string{"compare", dir}, exitDevice, []string{dir, "a directory"}},
		{[]string{"compare", notRecord}, exitDevice, []string{notRecord, "a regular file"}},
		{[]string{"compare", dir + "/ng0n1"}, exitDevice, []string{"no such device"}},
		{[]string{"compare", dir + "/" + strings.Repeat("ä", 300)}, exitDevice, []string{"file name too long"}},

		{[]string{"compare", dev, "--paths", ""}, exitUsage, []string{`--paths ""`, "block-poll"}},
		{[]string{"compare", dev, "--paths", "block,block"}, exitUsage, []string{"--paths block", "only once"}},
		{[]string{"compare", dev, "--paths", "BLOCK"}, exitUsage, []string{`--paths "BLOCK"`}},
		{[]string{"compare", dev, "--depths", ","}, exitUsage, []string{`--depths ""`, "8_2"}},
		{[]string{"compare", dev, "--depths", "0_0"}, exitUsage, []string{"--depths 0_0", "1 to 4096"}},
		{[]string{"compare", dev, "--depths", "1_2"}, exitUsage, []string{"--depths 1_2"}},
		{[]string{"compare", dev, "--depths", "4097_1"}, exitUsage, []string{"--depths 4097_1", "4096"}},
		{[]string{"compare", dev, "--depths", "１_1"}, exitUsage, []string{"--depths", "whole numbers"}},
		{[]string{"compare", dev, "--depths", "1_1,2_2,1_1"}, exitUsage, []string{"--depths 1_1", "only once"}},
		{[]string{"compare", dev, "--rounds", "0"}, exitUsage, []string{"--rounds 0", "1 to 1000"}},
		{[]string{"compare", dev, "--rounds", "9999999999"}, exitUsage, []string{"--rounds 9999999999", "1000"}},
		{[]string{"compare", dev, "--rounds", "x"}, exitUsage, []string{"--rounds", `"x"`}},
		{[]string{"compare", dev, "--runtime", "0"}, exitUsage, []string{"--runtime 0s"}},
		{[]string{"compare", dev, "--runtime", "-1s"}, exitUsage, []string{"--runtime", `"-1s"`, "500ms"}},
		{[]string{"compare", dev, "--runtime", "25h"}, exitUsage, []string{"--runtime 25h", "24h"}},
		{[]string{"compare", dev, "--warmup", ""}, exitUsage, []string{"--warmup", `""`}},
		{[]string{"compare", dev, "--bs", "0"}, exitUsage, []string{"--bs 0"}},
		{[]string{"compare", dev, "--bs", "4KB"}, exitUsage, []string{"--bs", `"4KB"`, "1024"}},
		{[]string{"compare", dev, "--bs", "1g"}, exitUsage, []string{"--bs 1073741824", "268435456"}},
		{[]string{"compare", dev, "--rw", "randwrite"}, exitUsage, []string{`--rw "randwrite"`, "only reads"}},
		{[]string{"compare", dev, "--batch-rule", "FIO"}, exitUsage, []string{`--batch-rule "FIO"`, "tio"}},
		{[]string{"compare", dev, "--cpu", "-1"}, exitUsage, []string{"--cpu -1"}},
		{[]string{"compare", dev, "--cpu", ""}, exitUsage, []string{"--cpu", `""`}},
		{[]string{"compare", dev, "--seed", "-1"}, exitUsage, []string{"--seed", `"-1"`}},
		{[]string{"compare", dev, "--fixedbufs=perhaps"}, exitUsage, []string{"--fixedbufs", `"perhaps"`}},
		{[]string{"compare", dev, "-o", ""}, exitUsage, []string{`-o ""`, "json"}},
		{[]string{"compare", dev, "--progress", "no"}, exitUsage, []string{`--progress "no"`, "plain"}},
		{[]string{"compare", dev, "--baseline", ""}, exitUsage, []string{"--baseline", "series-2022"}},
		{[]string{"compare", dev, "--baseline", notRecord}, exitUsage, []string{notRecord, "not a JSON document"}},
		{[]string{"compare", dev, "--baseline", other}, exitUsage, []string{other, "nvmepass.compare/0"}},
		{[]string{"compare", dev, "--save", ""}, exitUsage, []string{`--save ""`}},
		{[]string{"compare", dev, "--save", dir}, exitUsage, []string{"--save", dir, "folder"}},
		{[]string{"compare", dev, "--save", "/dev/zero"}, exitUsage, []string{"--save", "/dev/zero", "no regular file"}},
		{[]string{"compare", dev, "--save", dir + "/no/run.json"}, exitUsage, []string{"--save", dir + "/no", "no such file"}},
		{[]string{"compare", dev, "--kernel", "x"}, exitUsage, []string{"--kernel", "add --lab"}},
		// Before any guest boots:
		{[]string{"compare", "--lab", "--save", dir + "/no/run.json"}, exitUsage, []string{"--save", dir + "/no"}},
		{[]string{"compare", "--lab", "--cpus", "0"}, exitUsage, []string{"--cpus 0"}},

		{[]string{"lab"}, exitUsage, []string{"nothing to run", "after --"}},
		{[]string{"lab", "--drive", "lba=513", "--", "x"}, exitUsage, []string{"lba=513", "power of two"}},
		{[]string{"lab", "--cpus", "65", "--", "x"}, exitUsage, []string{"65 CPUs", "64"}},
		{[]string{"lab", "--memory", "0", "--", "x"}, exitUsage, []string{"--memory 0", "MiB"}},
		{[]string{"lab", "--timeout", "0", "--", "x"}, exitUsage, []string{"--timeout 0"}},
		{[]string{"lab", "--poll-queues", "-1", "--", "x"}, exitUsage, []string{"-1 poll queues"}},
		{[]string{"lab", "--accel", "x", "--", "x"}, exitUsage, []string{`"x"`, "tcg"}},
		{[]string{"lab", "--in", "a", "--", "x"}, exitUsage, []string{"--in a", "HOST=GUEST"}},
		{[]string{"lab", "--in", "a=/b", "--in", "a=/c", "--", "x"}, exitUsage, []string{"--in a=/c", "/b already"}},
		{[]string{"lab", "--kernel", dir + "/none", "--", "x"}, exitDevice, []string{dir + "/none", "lab-kernels.sh"}},
		{[]string{"lab", "--kernel", notRecord, "--", "x"}, exitDevice, []string{notRecord, "bzImage"}},
	} {
		t.Run(strings.ReplaceAll(strings.Join(tt.args, " "), dir, ""), func(t *testing.T) {
			code, out, errs := command(t, tt.args...)
			require.Equal(t, tt.code, code, errs)
			requireNoResult(t, out)
			require.True(t, strings.HasPrefix(errs, "nvmepass: "), errs)
			for _, s := range tt.says {
				require.Contains(t, errs, s)
			}
			require.Less(t, len(errs), 1000)
		})
	}
}

func TestHelp(t *testing.T) {
	for _, tt := range []struct {
		args []string
		says []string
	}{
		{nil, []string{"compare", "lab", "Usage:"}},
		{[]string{"--help"}, []string{"compare", "lab"}},
		{[]string{"help", "compare"}, []string{"--depths", "--help", "/dev/ng0n1"}},
		{[]string{"compare", "--help"}, []string{"--depths", "series-2022"}},
		{[]string{"help", "lab"}, []string{"--drive", "--out"}},
		{[]string{"--version"}, []string{"nvmepass version"}},
	} {
		code, out, errs := command(t, tt.args...)
		require.Zero(t, code)
		require.Empty(t, errs)
		for _, s := range tt.says {
			require.Contains(t, out, s, tt.args)
		}
		require.NotContains(t, out, "first-device")
	}
}

// TestB18ExitCodes: each kind of error has the README's code.
func TestB18ExitCodes(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct {
		ctx  context.Context
		err  error
		code int
	}{
		{t.Context(), nil, exitOK},
		{t.Context(), usage("x"), exitUsage},
		{t.Context(), &badflag.Error{}, exitUsage},
		{t.Context(), lab.ErrConfig, exitUsage},
		{t.Context(), os.ErrPermission, exitDevice},
		{t.Context(), uringcmd.ErrStalled, exitTimeout},
		{t.Context(), compare.ErrStop, exitTimeout},
		{t.Context(), lab.ErrTimeout, exitTimeout},
		{t.Context(), &passthru.OpError{Op: "make queue on", Path: "/dev/ng0n1", Err: &passthru.KernelError{Op: "read", Errno: syscall.EINTR}}, exitTimeout},
		{cancelled, context.Canceled, exitInterrupted},
	} {
		require.Equal(t, tt.code, exitCode(tt.ctx, tt.err), "%v", tt.err)
	}
}

// result is a comparison of one cell whose run gave s.
func result(t *testing.T, s compare.Sample) *compare.Result {
	t.Helper()
	cfg := compare.DefaultConfig()
	cfg.Devices, cfg.Rounds = []string{"/dev/ng0n1"}, 1
	cfg.Paths, cfg.Depths = []iosetup.Path{iosetup.Passthru}, []iosetup.Depth{{QD: 1, Batch: 1}}
	res, err := compare.Run(t.Context(), cfg, func(context.Context, compare.Step) (compare.Sample, error) { return s, nil }, nil)
	require.NoError(t, err)
	return res
}

// TestVerdict: commands that failed or were cancelled are no success.
func TestVerdict(t *testing.T) {
	second := int64(time.Second)
	good := result(t, compare.Sample{WindowNS: second, OK: 9, Run: compare.Counts{Issued: 9, OK: 9}})
	failed := result(t, compare.Sample{WindowNS: second, OK: 8, Run: compare.Counts{Issued: 10, OK: 8, Failed: 1, Cancelled: 1}})
	gone := result(t, compare.Sample{WindowNS: second, OK: 8, Run: compare.Counts{Issued: 9, OK: 8, Cancelled: 1}})
	empty := result(t, compare.Sample{})
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct {
		name string
		ctx  context.Context
		res  *compare.Result
		err  error
		code int
		says string
	}{
		{"good", t.Context(), good, nil, exitOK, ""},
		{"failed", t.Context(), failed, nil, exitIO, ""},
		{"cancelled by the driver", t.Context(), gone, nil, exitTimeout, ""},
		{"no window", t.Context(), empty, nil, exitIO, ""},
		{"stopped", t.Context(), good, compare.ErrStop, exitTimeout, compare.ErrStop.Error()},
		{"interrupted", cancelled, good, context.Canceled, exitInterrupted, ""},
	} {
		v := verdict(tt.ctx, tt.res, tt.err)
		require.Equal(t, tt.code, exitCode(tt.ctx, v), tt.name)
		require.Equal(t, tt.says, message(v), tt.name)
		both := withCode(errors.New("disk full"), v)
		require.Contains(t, message(both), "disk full", tt.name)
		if v != nil {
			require.Equal(t, tt.code, exitCode(tt.ctx, both), tt.name)
		} else {
			require.Equal(t, exitIO, exitCode(tt.ctx, both))
		}
	}
}

// TestSave: the record is whole, replaces an older one, follows a link, leaves
// nothing beside it, and a failure keeps nothing from standard output.
func TestSave(t *testing.T) {
	dir := t.TempDir()
	res := result(t, compare.Sample{WindowNS: int64(time.Second), OK: 9, Run: compare.Counts{Issued: 9, OK: 9}})
	file, link := filepath.Join(dir, "run.json"), filepath.Join(dir, "link")
	require.NoError(t, os.WriteFile(file, []byte("old"), 0o600))
	require.NoError(t, os.Symlink(file, link))
	require.NoError(t, checkFile("--save", link, "run.json"))
	f := &compareFlags{output: "csv", saveFlags: saveFlags{save: link}}
	require.NoError(t, f.write(res, io.Discard))
	fi, err := os.Lstat(link)
	require.NoError(t, err)
	require.NotZero(t, fi.Mode()&os.ModeSymlink)
	back, err := os.Open(file)
	require.NoError(t, err)
	again, err := compare.Decode(back)
	require.NoError(t, errors.Join(err, back.Close()))
	require.Equal(t, res.Totals, again.Totals)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 2)

	f.saveFlags.save = filepath.Join(dir, "none", "run.json")
	var out strings.Builder
	require.ErrorContains(t, f.write(res, &out), "none")
	require.Contains(t, out.String(), "qd_batch")
}
