package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestDecodeTool(t *testing.T) {
	const good = `{"schema":"nvmepass.nop/1","cells":[{"op":"uring-cmd","qd_batch":"8_2","rounds":[{"error":""}],"iops":{"median":1000},"submit_per_call":2,"user_cpu_ns_per_io":300,"system_cpu_ns_per_io":700}]}`
	want := Sample{metricIOPS: 1000, metricCPU: 1000, metricPerCall: 2}
	s, err := decodeTool([]byte(good), nopSchema, opURINGCmd, "8_2")
	require.NoError(t, err)
	require.Equal(t, want, s)
	compared := strings.NewReplacer("nop/1", "compare/1", `"op":"uring-cmd"`, `"device":"/dev/ng0n1","path":"block"`).Replace(good)
	s, err = decodeTool([]byte(compared), compareSchema, "block", "8_2")
	require.NoError(t, err)
	require.Equal(t, want, s)

	for change, want := range map[[2]string]string{
		{"nop/1", "nop/2"}:                     `schema "nvmepass.nop/2"`,
		{`"8_2"`, `"16_4"`}:                    "cell 16_4 uring-cmd",
		{"uring-cmd", "nop"}:                   "cell 8_2 nop",
		{`{"error":""}`, ``}:                   "need one with one round",
		{`{"error":""}`, `{"error":"gone"}`}:   "gone",
		{`{"median":1000}`, `{}`}:              "no rate",
		{`"user_cpu_ns_per_io":300,`, ``}:      "no processor time",
		{`"rounds":[{"error":""}]`, `"rounds`}: "output of nvmepass",
	} {
		_, err := decodeTool([]byte(strings.Replace(good, change[0], change[1], 1)), nopSchema, opURINGCmd, "8_2")
		require.ErrorContains(t, err, want)
	}
}

func TestDecodeLoop(t *testing.T) {
	const good = `{"loop":"floor","op":"nop","qd":128,"batch":32,"seconds":0.5,"commands":640,"calls":20,"iops":1280,"cpu_seconds":0.00064}` + "\n"
	s, err := decodeLoop([]byte(good), sideFloor, opNOP, "128_32")
	require.NoError(t, err)
	require.Equal(t, Sample{metricIOPS: 1280, metricCPU: 1000, metricPerCall: 32}, s)
	for change, want := range map[[2]string]string{
		{`"qd":128`, `"qd":64`}:     "it ran floor nop 64_32",
		{`"floor"`, `"liburing"`}:   "it ran liburing nop",
		{`"calls":20`, `"calls":0`}: "640 commands by 0 system calls",
		{`"iops"`, `"kiops"`}:       `unknown field "kiops"`,
		{`"op":"nop"`, `"op":`}:     "output of the loop floor",
	} {
		_, err := decodeLoop([]byte(strings.Replace(good, change[0], change[1], 1)), sideFloor, opNOP, "128_32")
		require.ErrorContains(t, err, want)
	}
}

func TestDecodeFio(t *testing.T) {
	const good = "fio: a note {\n" // fio writes notes before its JSON, which have no brace
	const doc = `{"fio version":"fio-3.33","jobs":[{"error":0,"read":{"io_bytes":5120,"total_ios":10,"short_ios":0,"iops":100},"usr_cpu":30,"sys_cpu":50}]}`
	s, err := decodeFio([]byte("note: something\n"+doc), 1)
	require.NoError(t, err)
	require.Equal(t, Sample{metricIOPS: 100, metricCPU: 8e6}, s)
	s, err = decodeFio([]byte(strings.Replace(doc, "5120", "6144", 1)), 2)
	require.NoError(t, err)
	require.Equal(t, 100.0, s[metricIOPS], "two commands of the warm-up are in the bytes alone")

	for change, want := range map[[2]string]string{
		{`"error":0`, `"error":95`}:         "error 95",
		{`"short_ios":0`, `"short_ios":1`}:  "1 of them short",
		{"5120", "40960"}:                   "40960 bytes in all",
		{"5120", "5121"}:                    "5121 bytes in all",
		{`"total_ios":10`, `"total_ios":0`}: "0 reads",
		{`"jobs":[`, `"jobs":[{},`}:         "2 jobs",
		{doc, "fio: failed"}:                "no JSON",
		{doc, good}:                         "output of fio",
	} {
		_, err := decodeFio([]byte(strings.Replace(doc, change[0], change[1], 1)), 2)
		require.ErrorContains(t, err, want)
	}
}

// TestFioArgs: an engine's options stand behind it, and each path has its node.
func TestFioArgs(t *testing.T) {
	cfg := driveConfig{Warmup: 200 * time.Millisecond, Runtime: time.Second, CPU: 1}
	for path, want := range map[string][]string{
		"block":         {"--ioengine=io_uring", "--direct=1", "--filename=/dev/nvme0n1", "--fixedbufs=1", "--registerfiles=1"},
		"block-poll":    {"--ioengine=io_uring", "--direct=1", "--filename=/dev/nvme0n1", "--fixedbufs=1", "--registerfiles=1", "--hipri=1"},
		"passthru":      {"--ioengine=io_uring_cmd", "--cmd_type=nvme", "--filename=/dev/ng0n1", "--fixedbufs=1", "--registerfiles=1"},
		"passthru-poll": {"--ioengine=io_uring_cmd", "--cmd_type=nvme", "--filename=/dev/ng0n1", "--fixedbufs=1", "--registerfiles=1", "--hipri=1"},
	} {
		args := fioArgs(cfg, "/dev/ng0n1", "/dev/nvme0n1", path, "16_4")
		engine := slices.Index(args, want[0])
		require.Positive(t, engine, path)
		require.Equal(t, want, args[engine:])
		for _, a := range []string{"--iodepth=16", "--iodepth_batch_submit=4", "--iodepth_batch_complete_min=1", "--iodepth_batch_complete_max=4", "--runtime=1000ms", "--ramp_time=200ms", "--cpus_allowed=1", "--readonly"} {
			require.Contains(t, args, a)
		}
	}
}

func TestTargets(t *testing.T) {
	require.Equal(t, Target{Bound: 1.03}, ringTargets(sideLiburing)("nop 128_32"))
	require.Equal(t, Target{Bound: 0.97}, ringTargets(sideLiburing)("uring-cmd 1_1"))
	require.Equal(t, Target{Bound: 0.95}, ringTargets(sideFloor)("uring-cmd 128_32"))
	require.Equal(t, Target{}, ringTargets(sideFloor)("uring-cmd 1_1"))
	require.Equal(t, Target{Bound: 1, BeyondNoise: true}, deviceTargets(metricIOPS)("1"))
	require.Equal(t, Target{}, deviceTargets(metricIOPS)("8"))
	require.Equal(t, Target{Bound: 1.5}, deviceTargets(metricIOPS)("64"))
	require.Equal(t, Target{Bound: 1.5}, deviceTargets(metricIOPS)("512"))
	require.Equal(t, Target{Bound: 1, AtMost: true}, deviceTargets(metricCPU)("8"))
	require.Equal(t, Target{}, deviceTargets(metricP99)("512"))
}
