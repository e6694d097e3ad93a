package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/ringtest"
)

// TestTrialRefusals: what nop and sweep find wrong without a drive ends at once
// with its exit code, names flag and value, and prints no result.
func TestTrialRefusals(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	require.NoError(t, os.WriteFile(text, []byte("no record"), 0o600))
	other := filepath.Join(dir, "other")
	require.NoError(t, os.WriteFile(other, []byte(`{"schema":"nvmepass.compare/1"}`), 0o600))
	dev := os.DevNull
	for _, tt := range []struct {
		args []string
		code int
		says []string
	}{
		{[]string{"nop", "x"}, exitUsage, []string{"nop x", "takes no argument"}},
		{[]string{"nop", "--op", "read"}, exitUsage, []string{`--op "read"`, "uring-cmd"}},
		{[]string{"nop", "--depths", "2_3"}, exitUsage, []string{"--depths 2_3"}},
		{[]string{"nop", "--rounds", "0"}, exitUsage, []string{"--rounds 0"}},
		{[]string{"nop", "--runtime", "0"}, exitUsage, []string{"--runtime 0s"}},
		{[]string{"nop", "--warmup", "25h"}, exitUsage, []string{"--warmup 25h"}},
		{[]string{"nop", "--cpu", "8191"}, exitUsage, []string{"--cpu 8191"}},
		{[]string{"nop", "--batch-rule", "x"}, exitUsage, []string{`--batch-rule "x"`}},
		{[]string{"nop", "--registerfiles=false"}, exitUsage, []string{"--registerfiles", "--op uring-cmd"}},
		{[]string{"nop", "--fixedbufs=false"}, exitUsage, []string{"--fixedbufs"}},
		{[]string{"nop", "--vectored"}, exitUsage, []string{"--vectored"}},
		{[]string{"nop", "--sqpoll-idle", "1s"}, exitUsage, []string{"--sqpoll-idle 1s", "add --sqpoll"}},
		{[]string{"nop", "--sqpoll", "--sq-rewind"}, exitUsage, []string{"--sqpoll", "SQ_REWIND"}},
		{[]string{"nop", "-o", "xml"}, exitUsage, []string{`-o "xml"`, "text, json, csv, bench or fio"}},
		{[]string{"nop", "--progress", "x"}, exitUsage, []string{`--progress "x"`}},
		{[]string{"nop", "--save", dir}, exitUsage, []string{"--save", "folder"}},
		{[]string{"nop", "--baseline", text}, exitUsage, []string{text, "not a JSON document", "series-2020"}},
		{[]string{"nop", "--baseline", other}, exitUsage, []string{other, "nvmepass.compare/1"}},
		{[]string{"nop", "--baseline", dir + "/none"}, exitUsage, []string{"no such file"}},
		{[]string{"nop", "--baseline", "series-2020", "-o", "json"}, exitUsage, []string{"series-2020", "-o text"}},

		{[]string{"sweep"}, exitUsage, []string{"no device given", "--lab"}},
		{[]string{"sweep", dev, dev}, exitUsage, []string{"takes one device"}},
		{[]string{"sweep", dev}, exitDevice, []string{dev, "not an NVMe namespace"}},
		{[]string{"sweep", ""}, exitUsage, []string{"DEVICE"}},
		{[]string{"sweep", dev, "--bs-list", "4k,4096"}, exitUsage, []string{"--bs-list 4k", "only once"}},
		{[]string{"sweep", dev, "--bs-list", ""}, exitUsage, []string{`--bs-list ""`}},
		{[]string{"sweep", dev, "--paths", "poll"}, exitUsage, []string{`--paths "poll"`, "sync-poll"}},
		{[]string{"sweep", dev, "--paths", "sync,block", "--qd", "4"}, exitUsage, []string{"--qd 4", "one read in flight"}},
		{[]string{"sweep", dev, "--qd", "4"}, exitDevice, []string{"not an NVMe namespace"}},
		{[]string{"sweep", dev, "--paths", "sync", "--fixedbufs=false"}, exitUsage, []string{"--fixedbufs", "has a ring"}},
		{[]string{"sweep", dev, "--paths", "sync,sync-poll", "--sqpoll", "--sqpoll-cpu", "1"}, exitUsage, []string{"--sqpoll", "has a ring"}},
		{[]string{"sweep", dev, "--paths", "sync", "--hugepages"}, exitDevice, []string{"not an NVMe namespace"}},
		{[]string{"sweep", dev, "--paths", "sync,block", "--hybrid-poll"}, exitUsage, []string{"--hybrid-poll", "block-poll"}},
		{[]string{"sweep", dev, "--qd", "0"}, exitUsage, []string{"--qd 0"}},
		{[]string{"sweep", dev, "--kernel", "x"}, exitUsage, []string{"--kernel", "add --lab"}},
		{[]string{"sweep", dev, "--baseline", "series-2020"}, exitUsage, []string{"series-2020b"}},
		{[]string{"sweep", dev, "-o", "xml"}, exitUsage, []string{`-o "xml"`, "text, json, csv, bench or fio"}},
		{[]string{"sweep", "--lab", "--save", dir + "/no/run.json"}, exitUsage, []string{dir + "/no"}},
		{[]string{"sweep", "--lab", "--cpus", "0"}, exitUsage, []string{"--cpus 0"}},
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

func quick(args ...string) []string {
	return append([]string{"nop", "--rounds", "3", "--runtime", "10ms", "--warmup", "0", "--depths", "8_2", "--progress", "none"}, args...)
}

// needRing skips where io_uring cannot be had.
func needRing(t *testing.T) {
	t.Helper()
	if code, _, errs := command(t, quick()...); code == exitDevice && strings.Contains(errs, "io_uring is not available") {
		ringtest.Missing(t, "io_uring", os.ErrPermission)
	}
}

// TestNop runs the command: what benchmarks read of its JSON is there, and a
// saved record serves as the next run's baseline.
func TestNop(t *testing.T) {
	needRing(t)
	file := filepath.Join(t.TempDir(), "old.json")
	code, out, errs := command(t, quick("-o", "json", "--save", file, "--rounds", "1")...)
	require.Zero(t, code, errs)
	var r struct {
		Schema string `json:"schema"`
		Cells  []struct {
			Op      string `json:"op"`
			QDBatch string `json:"qd_batch"`
			Rounds  []struct {
				Error string  `json:"error"`
				IOPS  float64 `json:"iops"`
			} `json:"rounds"`
			IOPS struct {
				Median float64  `json:"median"`
				Low    *float64 `json:"ci_low"`
			} `json:"iops"`
		} `json:"cells"`
	}
	require.NoError(t, json.Unmarshal([]byte(out), &r))
	require.Equal(t, "nvmepass.nop/1", r.Schema)
	require.Len(t, r.Cells, 1)
	require.Equal(t, "nop", r.Cells[0].Op)
	require.Equal(t, "8_2", r.Cells[0].QDBatch)
	require.Len(t, r.Cells[0].Rounds, 1)
	require.Empty(t, r.Cells[0].Rounds[0].Error)
	require.Positive(t, r.Cells[0].Rounds[0].IOPS)
	require.InDelta(t, r.Cells[0].Rounds[0].IOPS, r.Cells[0].IOPS.Median, 1e-6)
	require.Nil(t, r.Cells[0].IOPS.Low)
	saved, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, out, string(saved))

	code, _, errs = command(t, quick("--save", file)...)
	require.Zero(t, code, errs)
	code, out, errs = command(t, quick("--baseline", file)...)
	require.Zero(t, code, errs)
	require.Regexp(t, `8_2: total ios: \d+, IOPS: \d+\n`, out)
	require.Regexp(t, `(?m)^8_2 +\d+ +\d+ +\d+\.\d{3} +\d+\.\d+ to \d+\.\d+ +(same|faster|slower)`, out)
	code, out, errs = command(t, quick("-o", "bench")...)
	require.Zero(t, code, errs)
	require.Equal(t, 3, strings.Count(out, "BenchmarkNop/op=nop/qd=8/batch=2 "))
}

// TestNopInterrupted: what was measured is printed, marked, with the code of an
// interruption.
func TestNopInterrupted(t *testing.T) {
	needRing(t)
	dir := t.TempDir()
	out, err := os.Create(filepath.Join(dir, "out"))
	require.NoError(t, err)
	errs, err := os.Create(filepath.Join(dir, "errs"))
	require.NoError(t, err)
	defer func() { require.NoError(t, errs.Close()) }()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		for ctx.Err() == nil { // until a round is done, however long that takes
			if b, err := os.ReadFile(errs.Name()); err != nil || strings.Contains(string(b), "round 1 of") {
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	code := run(ctx, append(quick("--rounds", "1000", "--runtime", "20ms"), "--progress", "plain"), out, errs)
	require.Equal(t, exitInterrupted, code)
	b, err := os.ReadFile(out.Name())
	require.NoError(t, err)
	require.NoError(t, out.Close())
	require.Contains(t, string(b), "INTERRUPTED: ")
	require.Regexp(t, `8_2: total ios: [1-9]`, string(b))
	require.NotContains(t, string(b), "nvmepass: ")
}

func TestTrialHelp(t *testing.T) {
	for name, says := range map[string][]string{
		"nop":   {"--op", "--registerring", "--sqpoll-cpu", "--batch-rule", "series-2020", "text, json, csv, bench (for benchstat) or fio", "--sqpoll-idle TIME    idle time after which that thread sleeps (default the kernel's 1s)\n"},
		"sweep": {"--bs-list", "--fixedbufs", "--poll-queues", "series-2020b", "text, json, csv, bench (for benchstat) or fio"},
	} {
		code, out, errs := command(t, name, "--help")
		require.Zero(t, code)
		require.Empty(t, errs)
		for _, s := range says {
			require.Contains(t, out, s)
		}
		require.NotContains(t, out, "first-device")
		for line := range strings.Lines(out) {
			require.Less(t, len(line), 160, line)
		}
	}
	_, out, _ := command(t, "nop", "--help")
	for _, name := range []string{"--fixedbufs", "--vectored", "--hugepages", "--hybrid-poll"} {
		require.NotContains(t, out, name, "means nothing without a device")
	}
}
