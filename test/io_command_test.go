package test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/single"
	"github.com/nvmepass/nvmepass/nvme"
	"github.com/nvmepass/nvmepass/passthru"
)

// nvmepassIn is nvmepass with data on standard input.
func nvmepassIn(t *testing.T, stdin []byte, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	bin := tool(t)
	cmd := exec.Command(bin, args...)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(stdin), &out, &errs
	if err := cmd.Run(); cmd.ProcessState == nil {
		require.NoError(t, err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// commandDocument runs one command and decodes what it prints as JSON.
func commandDocument(t *testing.T, code int, args ...string) single.Document {
	t.Helper()
	got, out, errs := nvmepass(t, append(args, "-o", "json")...)
	require.Equal(t, code, got, errs)
	var d single.Document
	require.NoError(t, json.Unmarshal([]byte(out), &d), "%s%s", out, errs)
	require.Equal(t, single.Schema, d.Schema)
	return d
}

// TestIOCommandData: data goes in by a pipe and a file, comes out the same by a
// pipe, a file, JSON and a dump, and compare tells a difference by its exit code.
func TestIOCommandData(t *testing.T) {
	d := plainDrive(t)
	data := stampedBlocks(4096, 8, 77)
	file := filepath.Join(t.TempDir(), "data")
	require.NoError(t, os.WriteFile(file, data, 0o600))

	code, out, errs := nvmepassIn(t, data, "io", "write", d.Path(), "--slba", "0x1000", "--allow-write")
	require.Zero(t, code, errs)
	require.Contains(t, out, "slba=0x1000 blocks=8: Success, result 0x0000000000000000")
	require.Contains(t, errs, "write will overwrite "+d.Path())
	require.Equal(t, data, readBlocks(t, d, 4096, 8))

	code, out, errs = nvmepass(t, "io", "read", d.Path(), "--start-block", "4096", "--blocks", "8", "--data", "-", "--latency")
	require.Zero(t, code, errs)
	require.Equal(t, string(data), out)
	require.Contains(t, errs, "latency ")
	code, out, errs = nvmepass(t, "io", "read", d.Path(), "--start-block", "4096", "--data-size", "4096", "--data", file+".out")
	require.Zero(t, code, errs)
	require.Contains(t, out, "data: 4096 bytes to "+file+".out")
	got, err := os.ReadFile(file + ".out")
	require.NoError(t, err)
	require.Equal(t, data, got)
	code, out, errs = nvmepass(t, "io", "read", d.Path(), "--start-block", "4096")
	require.Zero(t, code, errs)
	require.Contains(t, out, "data, 512 bytes:\n00000000  ")
	doc := commandDocument(t, 0, "io", "read", d.Path(), "--start-block", "4096", "--show-command")
	require.Equal(t, fmt.Sprintf("%x", data[:512]), doc.Data.Hex)
	require.NotNil(t, doc.Encoding)
	require.Equal(t, "Success", doc.Status.Name)

	code, _, errs = nvmepass(t, "io", "compare", d.Path(), "--start-block", "4096", "--input-file", file)
	require.Zero(t, code, errs)
	code, out, errs = nvmepass(t, "io", "compare", d.Path(), "--start-block", "4097", "--data", file)
	require.Equal(t, 4, code, errs)
	require.Contains(t, out, "Compare Failure (sct=2 sc=0x85")
	require.Contains(t, errs, "Compare Failure")
	doc = commandDocument(t, 4, "io", "compare", d.Path(), "--start-block", "4097", "--data", file)
	require.Equal(t, []uint8{2, 0x85}, []uint8{doc.Status.SCT, doc.Status.SC})
	require.NotEmpty(t, doc.Status.Description)
}

// TestIOCommandOthers: the commands without data do what they say.
func TestIOCommandOthers(t *testing.T) {
	d := plainDrive(t)
	fill(t, d, 512, 16, 5)
	ok := func(args ...string) single.Document {
		t.Helper()
		return commandDocument(t, 0, append([]string{"io", args[0], d.Path()}, args[1:]...)...)
	}
	ok("flush")
	ok("verify", "--start-block", "512", "--blocks", "16")
	ok("write-zeroes", "--start-block", "512", "--blocks", "4", "--allow-write")
	require.Equal(t, make([]byte, 4*512), readBlocks(t, d, 512, 4))
	require.Equal(t, stampedBlocks(516, 12, 5), readBlocks(t, d, 516, 12))
	doc := ok("trim", "--range", "516:2", "--range", "520:1", "--allow-write", "--show-command")
	require.Len(t, doc.Encoding.Payload, 64)
	require.Equal(t, stampedBlocks(521, 7, 5), readBlocks(t, d, 521, 7))
	if d.Controller().ONCS.Copy() {
		ok("copy", "--range", "522:2", "--range", "526:1", "--dest-block", "600", "--allow-write")
		require.Equal(t, append(stampedBlocks(522, 2, 5), stampedBlocks(526, 1, 5)...), readBlocks(t, d, 600, 3))
	}
	code, out, errs := nvmepass(t, "io", "raw", d.Path(), "--opcode", "2", "--cdw10", "522", "--cdw12", "1", "--data-len", "1024", "--raw-binary")
	require.Zero(t, code, errs)
	require.Equal(t, string(stampedBlocks(522, 2, 5)), out)
	code, out, errs = nvmepass(t, "io", "read", d.Path(), "--dry-run", "--blocks", "2")
	require.Zero(t, code, errs)
	require.Contains(t, out, "dry run, nothing was sent")
	require.Contains(t, out, "1024 bytes")
}

// TestIOCommandMetadata: separate metadata has files of its own, extended one
// lies in the data.
func TestIOCommandMetadata(t *testing.T) {
	d := device(t, want{lba: 512, ms: 64, write: true})
	dir := t.TempDir()
	data, meta := stampedBlocks(8, 2, 9), bytes.Repeat([]byte{0xa5, 0x5a}, 64)
	in, md := filepath.Join(dir, "data"), filepath.Join(dir, "meta")
	require.NoError(t, os.WriteFile(in, data, 0o600))
	require.NoError(t, os.WriteFile(md, meta, 0o600))
	code, _, errs := nvmepass(t, "io", "write", d.Path(), "--start-block", "8", "--data", in, "--metadata", md, "--allow-write")
	require.Zero(t, code, errs)
	code, out, errs := nvmepass(t, "io", "read", d.Path(), "--start-block", "8", "--blocks", "2", "--data", in+".out", "--metadata", md+".out", "--metadata-size", "128")
	require.Zero(t, code, errs)
	require.Contains(t, out, "metadata: 128 bytes to ")
	for file, want := range map[string][]byte{in + ".out": data, md + ".out": meta} {
		got, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	code, _, errs = nvmepass(t, "io", "write", d.Path(), "--start-block", "8", "--data", in, "--allow-write")
	require.Equal(t, 1, code)
	require.Contains(t, errs, "--metadata: 0 bytes of metadata for a command that moves 128")
}

// TestIOCommandAdmin: structures, logs and features come decoded and as they
// are; what changes the controller needs its flag.
func TestIOCommandAdmin(t *testing.T) {
	d := plainDrive(t)
	c, err := passthru.OpenController(d.Path(), nil)
	require.NoError(t, err)
	path := c.Path()
	require.NoError(t, c.Close())
	decoded := func(args ...string) map[string]any {
		t.Helper()
		doc := commandDocument(t, 0, append([]string{"admin"}, args...)...)
		m, ok := doc.Decoded.(map[string]any)
		require.True(t, ok, "%v", doc.Decoded)
		return m
	}
	require.Equal(t, d.Controller().SN, decoded("identify", path)["sn"])
	require.InDelta(t, float64(d.Limits().Blocks), decoded("identify", d.Path())["nsze"], 0)
	require.Contains(t, decoded("identify", path, "--cns", "active-namespaces")["nsids"], float64(d.NSID()))
	decoded("identify", d.Path(), "--cns", "descriptors")
	require.Greater(t, decoded("get-log", path, "--log-id", "smart")["temperature"], 200.0)
	decoded("get-log", path, "--lid", "error")
	require.NotEmpty(t, decoded("get-log", path, "--log-id", "effects")["io"])
	code, out, errs := nvmepass(t, "admin", "get-log", path, "--log-id", "2", "--log-len", "4", "--offset", "508", "-o", "binary")
	require.Zero(t, code, errs)
	require.Len(t, out, 4)
	code, out, errs = nvmepass(t, "admin", "raw", path, "--opcode", "6", "--cdw10", "1", "--data-len", "4096", "--raw-binary")
	require.Zero(t, code, errs)
	id, err := nvme.DecodeIdentifyController([]byte(out))
	require.NoError(t, err)
	require.Equal(t, d.Controller().SN, id.SN)

	code, out, errs = nvmepass(t, "admin", "get-feature", path, "--feature-id", "queues")
	require.Zero(t, code, errs)
	require.Contains(t, out, "submission queues")
	threshold := commandDocument(t, 0, "admin", "get-feature", path, "--feature-id", "temperature").Result
	var v uint32
	_, err = fmt.Sscanf(threshold, "0x%x", &v)
	require.NoError(t, err)
	commandDocument(t, 0, "admin", "set-feature", path, "--feature-id", "temperature", "--value", fmt.Sprint(v+1), "--allow-admin-effects")
	require.Equal(t, fmt.Sprintf("0x%016x", v+1), commandDocument(t, 0, "admin", "get-feature", path, "--feature-id", "temperature").Result)
	commandDocument(t, 0, "admin", "set-feature", path, "--feature-id", "temperature", "--value", fmt.Sprint(v), "--allow-admin-effects")

	// A format reaches the namespace, so that a signature on it stops it.
	signed := make([]byte, 4096)
	binary.LittleEndian.PutUint16(signed[1024+56:], 0xef53) // ext4
	_, err = d.WriteAt(signed, 0)
	require.NoError(t, err)
	format := []string{"admin", "raw", d.Path(), "--opcode", "0x80", "-n", fmt.Sprint(d.NSID()), "--cdw10", fmt.Sprint(d.Namespace().FormatIndex()), "--allow-admin-effects", "--allow-write"}
	code, _, errs = nvmepass(t, format...)
	require.Equal(t, 2, code, errs)
	require.Contains(t, errs, "refused")
	code, _, errs = nvmepass(t, append(format, "--force-overwrite")...)
	require.Zero(t, code, errs)
}

// TestZoneIOCommand: a zone's life by single commands.
func TestZoneIOCommand(t *testing.T) {
	d := device(t, want{lba: 4096, ms: 0, serial: "zns4k", write: true})
	zone := func(name string, args ...string) single.Document {
		t.Helper()
		return commandDocument(t, 0, append([]string{"io", name, d.Path()}, args...)...)
	}
	state := func() any {
		t.Helper()
		return zone("zone-report", "--descs", "1").Decoded.(map[string]any)["zones"].([]any)[0].(map[string]any)["zs"]
	}
	zone("zone-reset", "--start-block", "0", "--allow-write")
	require.Equal(t, "0x0000000000000000", zone("append", "--prefill", "1", "--allow-write").Result)
	require.Equal(t, "0x0000000000000001", zone("append", "--prefill", "2", "--blocks", "3", "--allow-write").Result)
	zone("zone-close", "--allow-write")
	require.Equal(t, nvme.ZoneStateClosed.String(), state())
	zone("zone-finish", "--allow-write")
	require.Equal(t, nvme.ZoneStateFull.String(), state())
	zone("zone-reset", "--start-block", "0", "--allow-write")
}
