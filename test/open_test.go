package test

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/sys"
	"github.com/nvmepass/nvmepass/iopoll"
	"github.com/nvmepass/nvmepass/passthru"
)

// TestB30WrongNodes: each node that is no namespace is refused by name, with
// what to use instead.
func TestB30WrongNodes(t *testing.T) {
	d := device(t, want{ms: -1})
	ctrl := controllerNode(t, d)
	file := filepath.Join(t.TempDir(), "ng0n1")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for _, tt := range []struct{ path, says string }{
		{os.DevNull, "the character device null, which is not NVMe"},
		{file, "a regular file"},
		{t.TempDir(), "a directory"},
		{"/dev/ng77n99", "no such device"},
		{"", "no such device"},
		{"/dev/" + strings.Repeat("n", 4096), "file name too long"},
		{ctrl, "the NVMe controller"},
	} {
		began := time.Now()
		_, err := passthru.Open(tt.path, nil)
		require.ErrorContains(t, err, tt.says)
		require.Less(t, time.Since(began), patience)
		require.Less(t, len(err.Error()), 600)
		if tt.says != "file name too long" {
			require.Contains(t, err.Error(), "/dev/ng", "names what to use instead")
		}
		if !strings.HasPrefix(tt.says, "no such") && tt.says != "file name too long" {
			require.ErrorIs(t, err, passthru.ErrWrongNode)
		}
	}
}

func controllerNode(t *testing.T, d *passthru.Device) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks("/sys/class/nvme-generic/" + filepath.Base(d.Path()))
	require.NoError(t, err)
	parent := filepath.Base(filepath.Dir(dir))
	if !strings.HasPrefix(parent, "nvme-subsys") {
		return "/dev/" + parent
	}
	ctrls, err := filepath.Glob(filepath.Dir(dir) + "/nvme[0-9]*")
	require.NoError(t, err)
	require.NotEmpty(t, ctrls)
	return "/dev/" + filepath.Base(ctrls[0])
}

// TestB30Partition: a partition is refused with the namespace that holds it.
func TestB30Partition(t *testing.T) {
	d := device(t, want{lba: 512, write: true})
	mbr := make([]byte, 512)
	entry := mbr[446:]
	entry[4] = 0x83
	binary.LittleEndian.PutUint32(entry[8:], 2048)
	binary.LittleEndian.PutUint32(entry[12:], 2048)
	mbr[510], mbr[511] = 0x55, 0xAA
	writeStart(t, d, mbr)
	part := d.BlockPath() + "p1"
	require.NoError(t, sys.RereadPartitions(d.BlockPath()))
	require.Eventually(t, func() bool { _, err := os.Stat(part); return err == nil }, patience, 10*time.Millisecond)
	_, err := passthru.Open(part, nil)
	require.ErrorIs(t, err, passthru.ErrWrongNode)
	require.ErrorContains(t, err, "partition 1 of")
	require.ErrorContains(t, err, d.Path())
	writeStart(t, d, make([]byte, 512))
	require.NoError(t, sys.RereadPartitions(d.BlockPath()))
}

func writeStart(t *testing.T, d *passthru.Device, block []byte) {
	t.Helper()
	owned(t, func(t *testing.T) {
		q, err := openPath(d, "block", passthru.QueueConfig{Depth: 1})
		require.NoError(t, err)
		forEach(t, q, 1, 1, func(slot int, slba uint64) error {
			copy(q.Buffer(slot), block)
			return q.Write(slot, slba, 1)
		}, func(int, uint64) {})
		require.NoError(t, q.Close())
	})
}

// TestB30BlockNodeIsMapped: a block node or a symbolic link leads to the same
// namespace, found through sysfs.
func TestB30BlockNodeIsMapped(t *testing.T) {
	d := device(t, want{ms: 0})
	link := filepath.Join(t.TempDir(), "any-name")
	require.NoError(t, os.Symlink(d.BlockPath(), link))
	for _, path := range []string{d.BlockPath(), link} {
		m, err := passthru.Open(path, nil)
		require.NoError(t, err)
		require.True(t, m.Mapped())
		require.Equal(t, d.Path(), m.Path())
		require.Equal(t, d.NSID(), m.NSID())
		require.Equal(t, d.Controller().SN, m.Controller().SN)
		require.NoError(t, m.Close())
	}
	require.False(t, d.Mapped())
}

// TestIdentityAgreesWithSysfs: our decoding against the kernel's own.
func TestIdentityAgreesWithSysfs(t *testing.T) {
	d := device(t, want{ms: 0})
	disk := "/sys/block/" + filepath.Base(d.BlockPath())
	read := func(path string) string {
		b, err := os.ReadFile(path)
		require.NoError(t, err)
		return strings.TrimSpace(string(b))
	}
	require.Equal(t, read(disk+"/nsid"), fmt.Sprint(d.NSID()))
	require.Equal(t, read(disk+"/queue/logical_block_size"), fmt.Sprint(d.Layout().LBASize))
	require.Equal(t, read(disk+"/size"), fmt.Sprint(d.Limits().Blocks*uint64(d.Layout().LBASize)/512))
	ctrl := "/sys/class/nvme/" + filepath.Base(controllerNode(t, d))
	require.Equal(t, read(ctrl+"/model"), d.Controller().MN)
	require.Equal(t, read(ctrl+"/serial"), d.Controller().SN)
	require.Equal(t, read(ctrl+"/firmware_rev"), d.Controller().FR)
	smart, err := d.SMART()
	require.NoError(t, err)
	require.Positive(t, smart.Temperature)
	require.Less(t, smart.Temperature, uint16(400))
	lim := d.Limits()
	require.LessOrEqual(t, lim.MaxTransfer, lim.MaxHWSectors)
	require.Positive(t, lim.MaxBlocks)
}

// TestB31OpenFlags: the generic node without O_DIRECT, the block node with it,
// and neither for writing unless asked.
func TestB31OpenFlags(t *testing.T) {
	d := device(t, want{ms: 0})
	const direct, accmode = 0o40000, 3
	for _, path := range []string{"block", "passthru"} {
		owned(t, func(t *testing.T) {
			q, err := openPath(d, path, passthru.QueueConfig{Depth: 1})
			require.NoError(t, err)
			node := d.Path()
			if path == "block" {
				node = d.BlockPath()
			}
			flags := openFlags(t, node)
			require.NotEmpty(t, flags)
			for _, f := range flags {
				require.Equal(t, path == "block", f&direct != 0, "%s: flags %o", node, f)
				require.Zero(t, f&accmode, "read-only")
			}
			require.ErrorIs(t, q.Write(0, 0, 1), passthru.ErrReadOnly)
			require.Zero(t, q.InFlight())
			require.NoError(t, q.Close())
		})
	}
	owned(t, func(t *testing.T) {
		_, err := openPath(d, "block", passthru.QueueConfig{Depth: 1, BufferSize: int(d.Layout().LBASize) / 2})
		require.ErrorContains(t, err, "multiple of the logical block size")
	})
}

// openFlags lists the flags of this process's descriptors of a node.
func openFlags(t *testing.T, node string) []int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	var flags []int
	for _, e := range entries {
		if target, _ := os.Readlink("/proc/self/fd/" + e.Name()); target != node {
			continue
		}
		info, err := os.ReadFile("/proc/self/fdinfo/" + e.Name())
		require.NoError(t, err)
		for line := range strings.SplitSeq(string(info), "\n") {
			if v, ok := strings.CutPrefix(line, "flags:"); ok {
				var f int
				_, err := fmt.Sscanf(strings.TrimSpace(v), "%o", &f)
				require.NoError(t, err)
				flags = append(flags, f)
			}
		}
	}
	return flags
}

// TestB04PolledIsRefusedWithoutQueues, by both paths, with the boot option.
func TestB04PolledIsRefusedWithoutQueues(t *testing.T) {
	d := device(t, want{poll: -1, ms: 0})
	for _, path := range []string{"passthru-poll", "block-poll"} {
		owned(t, func(t *testing.T) {
			began := time.Now()
			_, err := openPath(d, path, passthru.QueueConfig{Depth: 1})
			require.ErrorIs(t, err, iopoll.ErrNoPollQueues)
			require.ErrorContains(t, err, "nvme.poll_queues=")
			require.Less(t, time.Since(began), patience)
		})
	}
	s, err := iopoll.Find(d.Path())
	require.NoError(t, err)
	require.Zero(t, s.Count())
}

// TestPollQueuesAreFound: as many as the guest was booted with, and one for
// each CPU.
func TestPollQueuesAreFound(t *testing.T) {
	d := device(t, want{poll: 1, ms: 0})
	s, err := iopoll.Find(d.BlockPath())
	require.NoError(t, err)
	require.NoError(t, s.Check())
	require.Positive(t, s.Count())
	if s.Parameter >= 0 {
		require.LessOrEqual(t, s.Count(), s.Parameter)
	}
	cpus, err := sys.AllowedCPUs()
	require.NoError(t, err)
	for _, cpu := range cpus {
		require.GreaterOrEqual(t, s.QueueFor(cpu), 0, "CPU %d", cpu)
	}
}
