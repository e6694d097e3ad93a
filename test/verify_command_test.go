package test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/verify"
	"github.com/nvmepass/nvmepass/nvme"
	"github.com/nvmepass/nvmepass/passthru"
)

// verifyResult runs nvmepass verify and decodes its record.
func verifyResult(t *testing.T, code int, d *passthru.Device, args ...string) verify.Result {
	t.Helper()
	got, out, errs := nvmepass(t, append([]string{"verify", d.Path(), "-o", "json", "--progress", "none"}, args...)...)
	require.Equal(t, code, got, "%s%s", out, errs)
	var r verify.Result
	require.NoError(t, json.Unmarshal([]byte(out), &r), errs)
	return r
}

// TestVerifyCommandPaths: what one path wrote, all others verify, by commands of
// another size and in another order.
func TestVerifyCommandPaths(t *testing.T) {
	d := device(t, want{lba: 512, ms: 0, poll: 1, write: true})
	all := append([]string{"ioctl"}, paths...)
	for i, path := range all {
		seed := fmt.Sprint(100 + i)
		r := verifyResult(t, 0, d, "--do", "both", "--allow-write", "--path", path, "--seed", seed, "--offset", "1m", "--size", "1050112", "--order", "random")
		require.Equal(t, []uint64{2048, 2051, 2051, 2051}, []uint64{r.FirstLBA, r.Blocks, r.Written, r.Verified})
		other := all[(i+1)%len(all)]
		r = verifyResult(t, 0, d, "--path", other, "--seed", seed, "--offset", "1050112", "--size", "512k", "--bs", "3k", "--loops", "2")
		require.Equal(t, []uint64{0, 2048}, []uint64{r.Written, r.Verified})
	}
}

// TestVerifyCommandLayouts: metadata is written and compared in every place, and
// protection information is made and checked.
func TestVerifyCommandLayouts(t *testing.T) {
	for _, w := range []want{
		{lba: 512, ms: 64, write: true}, {lba: 4096, ms: 64, extended: true, write: true}, {lba: 512, ms: 8, write: true},
	} {
		d := device(t, w)
		size := fmt.Sprint(256 << 10 / d.Layout().LBASize * d.Layout().UnderPRACT().Unit())
		r := verifyResult(t, 0, d, "--do", "both", "--allow-write", "--path", "ioctl", "--size", size, "--loops", "2")
		require.Equal(t, d.Layout().PI == nvme.PINone, r.MetadataCompared, "protection information alone is the drive's")
		require.EqualValues(t, 2, r.Generation)
		if d.Layout().PI != nvme.PINone {
			verifyResult(t, 0, d, "--path", "passthru-poll", "--size", size, "--generation", "2")
			continue
		}
		// Metadata alone that changed behind verify's back.
		l := d.Layout()
		data, meta := make([]byte, l.DataLen(1)), make([]byte, l.MetadataLen(1))
		require.NoError(t, d.ReadBlocks(t.Context(), 5, data, meta, nvme.IOOptions{}))
		if l.Extended {
			data[l.LBASize+7] ^= 1
		} else {
			meta[7] ^= 1
		}
		require.NoError(t, d.WriteBlocks(t.Context(), 5, data, meta, nvme.IOOptions{}))
		r = verifyResult(t, 4, d, "--size", size, "--generation", "2")
		require.Len(t, r.Mismatches, 1)
		require.Equal(t, "metadata", r.Mismatches[0].Kind)
		require.Equal(t, []int{5, 7, 1}, []int{int(r.Mismatches[0].LBA), r.Mismatches[0].FirstByte, r.Mismatches[0].Bytes})
		verifyResult(t, 0, d, "--size", size, "--generation", "2", "--metadata=false", "--path", "passthru-poll")
	}
}

// TestVerifyCommandFinds: blocks that were changed behind its back are named,
// with what they are instead.
func TestVerifyCommandFinds(t *testing.T) {
	d := device(t, want{lba: 4096, ms: 0, write: true})
	const blocks = 64
	verifyResult(t, 0, d, "--do", "write", "--allow-write", "--size", "256k", "--generation", "3", "--seed", "5")
	block := func(lba uint64, generation uint32) []byte {
		b := make([]byte, 4096)
		verify.FillBlock(b, lba, 5, generation)
		return b
	}
	torn := append(block(20, 3)[:1024], block(20, 2)[1024:]...)
	bit := block(21, 3)
	bit[700] ^= 0x10
	for lba, b := range map[int][]byte{
		3: bytes.Repeat([]byte("foreign!"), 512), 9: make([]byte, 4096), 10: block(11, 3), 12: block(12, 2), 20: torn, 21: bit,
	} {
		if lba == 3 {
			code, _, errs := nvmepassIn(t, b, "io", "write", d.Path(), "--start-block", "3", "--allow-write")
			require.Zero(t, code, errs)
			continue
		}
		_, err := d.WriteAt(b, int64(lba)*4096)
		require.NoError(t, err)
	}
	r := verifyResult(t, 4, d, "--size", "256k", "--generation", "3", "--seed", "5", "--qd", "1")
	require.EqualValues(t, blocks, r.Verified)
	require.EqualValues(t, 6, r.Mismatched)
	kinds := map[uint64]string{}
	for _, m := range r.Mismatches {
		kinds[m.LBA] = m.Kind
	}
	require.Equal(t, map[uint64]string{3: "foreign", 9: "zeros", 10: "misdirected", 12: "lost write", 20: "torn", 21: "damaged"}, kinds)

	code, out, errs := nvmepass(t, "verify", d.Path(), "--size", "256k", "--generation", "3", "--seed", "5", "--qd", "1", "--max-reports", "5")
	require.Equal(t, 4, code)
	require.Contains(t, errs, "6 of 64 blocks are not what was written")
	for _, says := range []string{
		"LBA 10 (0xa): misdirected: expected generation 3 of seed 5; found the stamp of LBA 11 (0xb)",
		"LBA 12 (0xc): lost write: expected generation 3 of seed 5; found generation 2",
		"in bytes 0-1023 what was expected, in bytes 1024-4095 generation 2",
		"and 1 more blocks",
	} {
		require.Contains(t, out, says)
	}
	verifyResult(t, 0, d, "--size", "48k", "--offset", "88k", "--generation", "3", "--seed", "5")
}

// TestVerifyCommandFailures: commands that fail are counted and named, and an
// interrupted run says what it verified.
func TestVerifyCommandFailures(t *testing.T) {
	bad := device(t, want{lba: 512, ms: -1, serial: "bad0", write: true})
	r := verifyResult(t, 3, bad, "--do", "both", "--allow-write", "--force-overwrite", "--size", "2m", "--bs", "64k")
	require.Positive(t, r.Failed)
	require.Equal(t, 2*r.Blocks, r.Written+r.Verified+r.FailedBlocks)
	require.Zero(t, r.Mismatched)
	require.NotEmpty(t, r.Failures)

	slow := device(t, want{lba: 512, ms: -1, serial: "slow0"})
	bin := os.Getenv(envBinary)
	cmd := exec.Command(bin, "verify", slow.Path(), "--bs", "512", "--qd", "4", "--progress", "line")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	require.NoError(t, cmd.Start())
	time.Sleep(time.Second)
	require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
	_ = cmd.Wait()
	require.Equal(t, 130, cmd.ProcessState.ExitCode(), errs.String())
	require.Contains(t, out.String(), "interrupted: the rest was neither written nor verified")
	require.Contains(t, strings.ReplaceAll(errs.String(), "\r", "\n"), "read, loop 1 of 1")
}
