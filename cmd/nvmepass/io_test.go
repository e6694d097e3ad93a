package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/single"
	"github.com/nvmepass/nvmepass/internal/verify"
	"github.com/nvmepass/nvmepass/nvme"
	"github.com/nvmepass/nvmepass/passthru"
)

// TestSingleRefusals: what is wrong with an option is said before any device is
// opened, with exit code 1.
func TestSingleRefusals(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	dev := os.DevNull
	for _, tt := range []struct {
		args string
		code int
		says []string
	}{
		{"io wirte", exitUsage, []string{`unknown subcommand "wirte"`, "did you mean write?"}},
		{"admin identfy", exitUsage, []string{"did you mean identify?"}},
		{"io read", exitUsage, []string{"io read: no device given"}},
		{"io read a b", exitUsage, []string{"takes one device", `"b"`}},
		{"io read " + dev, exitDevice, []string{"not an NVMe namespace"}},
		{"io read " + dev + " --block-count 7", exitUsage, []string{"--block-count", "zero-based", "--blocks 8 here"}},
		{"io read " + dev + " --nlb 0", exitUsage, []string{"--blocks 0", "must be above 0"}},
		{"io read " + dev + " -n 0", exitUsage, []string{"--namespace-id 0"}},
		{"io read " + dev + " -o xml", exitUsage, []string{`-o "xml"`, "binary"}},
		{"io write " + dev + " -o binary", exitUsage, []string{`-o "binary"`}},
		{"io read " + dev + " --raw-binary -o json", exitUsage, []string{"--raw-binary is -o binary"}},
		{"io read " + dev + " -o json --data -", exitUsage, []string{"--data", "needs standard output"}},
		{"io read " + dev + " --data - --metadata -", exitUsage, []string{"only one of them"}},
		{"io read " + dev + " --layout lba=512", exitUsage, []string{"--layout", "the device itself says it"}},
		{"io read --dry-run", exitUsage, []string{"--namespace-id", "none is named"}},
		{"io read --dry-run -n 1", exitUsage, []string{"--layout"}},
		{"io read --dry-run -n 1 --layout lba=5", exitUsage, []string{`--layout "lba=5"`}},
		{"io read --dry-run -n 1 --layout lba=512 --latency", exitUsage, []string{"--latency", "takes no time"}},
		{"io read --dry-run -n 1 --layout lba=512 --data x", exitUsage, []string{"--data", "reads nothing"}},
		{"io read --dry-run -n 1 --layout lba=512 --prinfo 7", exitUsage, []string{"prinfo"}},
		{"io write " + dev, exitUsage, []string{"--allow-write"}},
		{"io write " + dev + " --force-overwrite", exitUsage, []string{"--force-overwrite"}},
		{"io write " + dev + " --allow-write --dir-spec 1", exitUsage, []string{"--dir-spec", "--dir-type"}},
		{"io write --dry-run -n 1 --layout lba=512 --data " + missing, exitUsage, []string{"--data", "no such file"}},
		{"io read " + dev + " --allow-write", exitUsage, []string{"unknown flag: --allow-write"}},
		{"io read " + dev + " --timeout 0", exitUsage, []string{"must be above 0"}},
		{"io read " + dev + " --timeout x", exitUsage, []string{"need milliseconds"}},
		{"io raw " + dev, exitUsage, []string{"--opcode: raw needs it"}},
		{"io raw " + dev + " --opcode 256", exitUsage, []string{`--opcode "256"`}},
		{"io raw " + dev + " --opcode 2 --flags 1", exitUsage, []string{"--flags", "refuses every value but 0"}},
		{"io raw " + dev + " --opcode 2 --data x", exitUsage, []string{"--data", "--data-len says"}},
		{"io raw " + dev + " --opcode 2 --prefill 256", exitUsage, []string{"need a byte"}},
		{"io zone-reset " + dev + " --select-all -s 1 --allow-write", exitUsage, []string{"--start-block", "--select-all"}},
		{"admin get-log " + dev, exitUsage, []string{"--log-id", "smart"}},
		{"admin get-log " + dev + " --log-id foo", exitUsage, []string{`--log-id "foo"`}},
		{"admin identify " + dev, exitDevice, []string{"not an NVMe namespace"}},
		{"admin set-feature " + dev + " --feature-id 6 --value 1", exitUsage, []string{"--allow-admin-effects"}},
		{"admin get-feature " + dev + " --feature-id 6 --allow-admin-effects", exitUsage, []string{"unknown flag"}},
	} {
		code, out, errs := command(t, strings.Fields(tt.args)...)
		require.Equal(t, tt.code, code, "%s: %s", tt.args, errs)
		requireNoResult(t, out)
		for _, s := range tt.says {
			require.Contains(t, errs, s, tt.args)
		}
	}
}

// TestDryRunNeedsNoDevice: the entry is printed in text and JSON, and the names
// of nvme-cli mean the same command.
func TestDryRunNeedsNoDevice(t *testing.T) {
	document := func(args string) single.Document {
		t.Helper()
		code, out, errs := command(t, strings.Fields(args+" --dry-run -o json")...)
		require.Zero(t, code, errs)
		var d single.Document
		require.NoError(t, json.Unmarshal([]byte(out), &d))
		require.True(t, d.DryRun)
		return d
	}
	a := document("io read -n 1 --layout lba=4096 --start-block 0x10 --blocks 8 --timeout 5000")
	b := document("io read --namespace-id=1 --layout lba=4096 --slba=16 --data-size=32768 --timeout 5s")
	require.Equal(t, a, b)
	require.EqualValues(t, 8, *a.Command.Blocks)
	raw := document("io raw -n 1 --opcode 2 --cdw10 0x10 --cdw12 7 --data-len 32768 --timeout 5000")
	require.Equal(t, a.Encoding.Bytes, raw.Encoding.Bytes)
	require.Equal(t, a.Encoding.Bytes, document("io passthru -n 1 -O 0x02 --cdw10=16 --cdw12=7 -l 32768 -r --timeout=5000").Encoding.Bytes)
	require.Equal(t, document("admin identify --cns controller").Encoding.Bytes, document("admin raw --opcode 6 --cdw10 1 --data-len 4096").Encoding.Bytes)
	require.Equal(t, document("admin get-log --lid 2").Encoding.Bytes, document("admin get-log --log-id smart --log-len 512").Encoding.Bytes)
	require.Equal(t, "IORING_OP_URING_CMD", a.Encoding.Fields[0].Meaning)

	code, out, errs := command(t, "io", "zone-finish", "--dry-run", "-n", "1", "--layout", "lba=512", "-s", "0x8000")
	require.Zero(t, code, errs)
	require.Contains(t, out, "zone-finish nsid=1: dry run, nothing was sent")
	require.Contains(t, out, "finish")
}

// TestSingleVerdict: each kind of failure has its exit code.
func TestSingleVerdict(t *testing.T) {
	for want, err := range map[int]error{
		exitMismatch:    fmt.Errorf("x: %w", &nvme.StatusError{Status: 0x285}),
		exitIO:          &nvme.StatusError{Status: 0x80},
		exitUsage:       &nvme.CommandError{},
		exitTimeout:     &passthru.KernelError{Errno: syscall.EINTR},
		exitDevice:      &passthru.PermissionError{Err: &passthru.KernelError{Errno: syscall.EACCES}},
		exitInterrupted: &codeError{exitInterrupted, errors.New("x")},
	} {
		require.Equal(t, want, exitCode(t.Context(), singleVerdict(t.Context(), err)), "%v", err)
	}
	require.Equal(t, exitIO, exitCode(t.Context(), singleVerdict(t.Context(), &passthru.KernelError{Errno: syscall.EIO})))
	require.NoError(t, singleVerdict(t.Context(), nil))
}

// TestB18StatusIsNoExitCode: a failure never ends with 0, whatever the low byte
// of its status.
func TestB18StatusIsNoExitCode(t *testing.T) {
	for _, status := range []nvme.Status{0x100, 0x286, 0x300, 0x4000 | 0x100} {
		require.Equal(t, exitIO, exitCode(t.Context(), singleVerdict(t.Context(), &nvme.StatusError{Status: status})), "%#x", uint16(status))
	}
}

// TestSingleFlagsAllMean: every option that a verb lists is one that the command
// line has, and has a text.
func TestSingleFlagsAllMean(t *testing.T) {
	for _, c := range []*cobra.Command{newIO(os.Stdout, os.Stderr), newAdmin(os.Stdout, os.Stderr)} {
		verbs := map[string]*single.Verb{}
		for _, v := range append(single.IOVerbs(), single.AdminVerbs()...) {
			verbs[v.Name] = v
		}
		for _, sub := range c.Commands() {
			require.NotEmpty(t, sub.Example, sub.Name())
			if c.Name() == "admin" && sub.Name() == "raw" {
				continue // has the name of another
			}
			for _, flag := range verbs[sub.Name()].Flags {
				if flag == "cdw" {
					flag = "cdw10"
				}
				f := sub.Flags().Lookup(flag)
				require.NotNil(t, f, "%s --%s", sub.Name(), flag)
				require.NotEmpty(t, f.Usage, "%s --%s", sub.Name(), flag)
			}
		}
	}
}

// TestVerifyRefusals: as TestSingleRefusals.
func TestVerifyRefusals(t *testing.T) {
	dev := os.DevNull
	for _, tt := range []struct {
		args string
		code int
		says []string
	}{
		{"verify", exitUsage, []string{"verify: no device given"}},
		{"verify a b", exitUsage, []string{"takes one device"}},
		{"verify " + dev, exitDevice, []string{"not an NVMe namespace"}},
		{"verify " + dev + " --do both", exitUsage, []string{"--allow-write: verify --do both destroys data"}},
		{"verify " + dev + " --allow-write", exitUsage, []string{"--allow-write", "--do read writes nothing"}},
		{"verify " + dev + " --do erase", exitUsage, []string{`--do "erase"`, "read, write or both"}},
		{"verify " + dev + " --path nvme", exitUsage, []string{`--path "nvme"`, "ioctl"}},
		{"verify " + dev + " --path ioctl --qd 2", exitUsage, []string{"--qd 2", "one command at a time"}},
		{"verify " + dev + " --path block --metadata", exitUsage, []string{"--metadata", "no metadata"}},
		{"verify " + dev + " --order zigzag", exitUsage, []string{`--order "zigzag"`}},
		{"verify " + dev + " --size 0", exitUsage, []string{"--size 0"}},
		{"verify " + dev + " --bs 4ki", exitUsage, []string{"--bs"}},
		{"verify " + dev + " -o csv", exitUsage, []string{`-o "csv"`}},
		{"verify " + dev + " --progress x", exitUsage, []string{`--progress "x"`}},
		{"verify " + dev + " --loops 0", exitUsage, []string{"--loops 0"}},
	} {
		code, out, errs := command(t, strings.Fields(tt.args)...)
		require.Equal(t, tt.code, code, "%s: %s", tt.args, errs)
		requireNoResult(t, out)
		for _, s := range tt.says {
			require.Contains(t, errs, s, tt.args)
		}
	}
}

// TestVerifyVerdict: the exit code says what matters most.
func TestVerifyVerdict(t *testing.T) {
	for want, r := range map[int]verify.Result{
		exitOK:          {Verified: 1},
		exitMismatch:    {Mismatched: 1, Failed: 1},
		exitIO:          {Failed: 1},
		exitInterrupted: {Interrupted: true, Mismatched: 1},
	} {
		require.Equal(t, want, exitCode(t.Context(), verifyVerdict(&r, nil)))
	}
	require.Equal(t, exitDevice, exitCode(t.Context(), verifyVerdict(&verify.Result{}, errors.New("x"))))
	require.Equal(t, exitTimeout, exitCode(t.Context(), verifyVerdict(&verify.Result{Failed: 1}, &passthru.KernelError{Errno: syscall.ENODEV})))
}
