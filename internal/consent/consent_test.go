package consent

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/badflag"
	"github.com/nvmepass/nvmepass/internal/sysfs"
)

// tree makes a folder with the given files.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return root
}

// machine has a drive whose first namespace has a partition with swap; its
// second one is free.
func machine(t *testing.T) (root string, fs sysfs.FS) {
	root = tree(t, map[string]string{
		"sys/devices/pci/nvme0/nvme0n1/dev":                 "259:0\n",
		"sys/devices/pci/nvme0/nvme0n1/nvme0n1p2/dev":       "259:2\n",
		"sys/devices/pci/nvme0/nvme0n1/nvme0n1p2/partition": "2\n",
		"sys/devices/pci/nvme0/nvme0n2/dev":                 "259:9\n",
		"proc/swaps":                                        "Filename\tType\tSize\tUsed\tPriority\n/dev/nvme0n1p2 partition 8 0 -2\n",
	})
	return root, sysfs.FS{Root: filepath.Join(root, "sys")}
}

// TestSignatures: each mark is found at its place and named, in a namespace of
// any size that has the place.
func TestSignatures(t *testing.T) {
	blank := func() *ends { return &ends{head: make([]byte, endSize), tail: make([]byte, endSize)} }
	require.Empty(t, blank().signatures())
	for _, s := range signatures {
		e := blank()
		if s.offset < 0 {
			copy(e.tail[len(e.tail)+s.offset:], s.magic)
		} else {
			copy(e.head[s.offset:], s.magic)
		}
		require.Equal(t, []string{"it holds " + s.name}, e.signatures(), "%+v", s)
	}
	for _, size := range []int{0, 1, 511, 512, 4096} {
		e := &ends{head: make([]byte, size), tail: make([]byte, size)}
		require.Empty(t, e.signatures())
	}
	e := blank()
	e.head[510], e.head[511] = 0x55, 0xaa
	require.Empty(t, e.signatures(), "a boot signature alone is none")
	e.head[446+16+4] = 0xee
	require.Equal(t, []string{"it holds an MBR partition table or boot sector"}, e.signatures())
	e = blank()
	copy(e.head[128<<10+7<<10:], "\x0c\xb1\xba\x00\x00\x00\x00\x00")
	require.Equal(t, []string{"it holds a ZFS pool"}, e.signatures())
	e = &ends{unread: "some of it"}
	require.Equal(t, []string{"what it holds is not known: some of it"}, e.signatures())
}

// FuzzSignatures: a mark is found whatever else a drive holds, where there is
// room for it, and nothing is found on blank blocks.
func FuzzSignatures(f *testing.F) {
	f.Add([]byte("\xeb\x00LUKS"), []byte("EFI PART"), uint8(0))
	f.Add(make([]byte, 512), []byte{}, uint8(1))
	for i := range signatures {
		f.Add(make([]byte, 70000), make([]byte, 70000), uint8(i))
	}
	f.Fuzz(func(t *testing.T, head, tail []byte, which uint8) {
		before := (&ends{head: head, tail: tail}).signatures()
		for _, s := range before {
			require.True(t, strings.HasPrefix(s, "it holds "))
		}
		if len(bytes.Trim(head, "\x00")) == 0 && len(bytes.Trim(tail, "\x00")) == 0 {
			require.Empty(t, before)
		}
		s := signatures[int(which)%len(signatures)]
		part, at := bytes.Clone(head), s.offset
		if at < 0 {
			part = bytes.Clone(tail)
			at += len(part)
		}
		if at < 0 || at+len(s.magic) > len(part) {
			return
		}
		copy(part[at:], s.magic)
		e := &ends{head: part, tail: tail}
		if s.offset < 0 {
			e = &ends{head: head, tail: part}
		}
		require.Contains(t, e.signatures(), "it holds "+s.name)
	})
}

// memory is a namespace with blocks of unit bytes, some of them unreadable.
func memory(content []byte, unit, data int, bad ...int64) reader {
	return reader{size: int64(len(content)), unit: unit, data: data, readAt: func(_ context.Context, p []byte, off int64) (int, error) {
		for b := off / int64(unit); b*int64(unit) < off+int64(len(p)); b++ {
			if slices.Contains(bad, b) {
				return 0, errors.New("unrecovered read error")
			}
		}
		return copy(p, content[off:]), nil
	}}
}

// TestEndsLeaveMetadataOut, so that marks are at their places whatever the
// layout.
func TestEndsLeaveMetadataOut(t *testing.T) {
	for _, ms := range []int{0, 8, 64} {
		unit := 512 + ms
		content := make([]byte, 9000*unit)
		put := func(at int, magic string) { // as the data alone counts
			for i := range len(magic) {
				content[(at+i)/512*unit+(at+i)%512] = magic[i]
			}
		}
		put(64<<10+64, "_BHRfS_M")
		put(9000*512-512, "EFI PART")
		e, err := endsOf(t.Context(), memory(content, unit, 512))
		require.NoError(t, err)
		require.Equal(t, []string{"it holds a GPT partition table's backup", "it holds a Btrfs file system"}, e.signatures())
	}
}

// TestEndsWithBadBlocks: the others are still looked at, and it is said.
func TestEndsWithBadBlocks(t *testing.T) {
	content := make([]byte, 5000*512)
	copy(content[1080:], "\x53\xef")
	e, err := endsOf(t.Context(), memory(content, 512, 512, 100))
	require.NoError(t, err)
	found := e.signatures()
	require.Len(t, found, 2)
	require.Contains(t, found[0], "ext4")
	require.Contains(t, found[1], "unrecovered read error")
}

func TestEndsOfASmallNamespace(t *testing.T) {
	for blocks := range 4 {
		e, err := endsOf(t.Context(), memory(make([]byte, blocks*512), 512, 512))
		require.NoError(t, err)
		require.Len(t, e.head, blocks*512)
		require.Empty(t, e.signatures())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := endsOf(ctx, memory(make([]byte, 5120), 512, 512))
	require.ErrorIs(t, err, context.Canceled)
}

// TestCheckOutsideSysfs holds a plain file, which the kernel lets anybody do.
func TestCheckOutsideSysfs(t *testing.T) {
	root, fs := machine(t)
	node := filepath.Join(root, "node")
	require.NoError(t, os.WriteFile(node, nil, 0o600))
	free := subject{path: "/dev/ng0n2", block: node, dir: filepath.Join(root, "sys/devices/pci/nvme0/nvme0n2"), system: fs, proc: filepath.Join(root, "proc"), ends: &ends{}}
	h, err := free.check(&Request{Op: "write", AllowWrite: true})
	require.NoError(t, err)
	require.True(t, h.Held())
	require.NoError(t, h.Close())
	require.False(t, h.Held())
	require.NoError(t, h.Close())

	used := free
	used.dir = filepath.Join(root, "sys/devices/pci/nvme0/nvme0n1")
	used.ends = &ends{head: []byte("XFSB")}
	_, err = used.check(&Request{Op: "write", AllowWrite: true})
	var refused *RefusedError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, []string{"nvme0n1 has partition nvme0n1p2", "nvme0n1p2 is swap space in use", "it holds an XFS file system"}, refused.Reasons)
	for _, says := range []string{"write on /dev/ng0n2", "nothing was written", "swap space", "XFS", "--force-overwrite"} {
		require.ErrorContains(t, err, says)
	}
	var shown strings.Builder
	h, err = used.check(&Request{Op: "write", AllowWrite: true, Force: true, Show: &shown})
	require.NoError(t, err)
	require.True(t, h.Held())
	require.Contains(t, shown.String(), "although nvme0n1 has partition nvme0n1p2")
	require.NoError(t, h.Close())

	none := subject{path: "/dev/ng0n3"}
	h, err = none.check(&Request{Op: "write", AllowWrite: true, Show: &shown})
	require.NoError(t, err)
	require.False(t, h.Held())
	require.Contains(t, shown.String(), "cannot be held")

	gone := free
	gone.block += "x"
	_, err = gone.check(&Request{Op: "write", AllowWrite: true})
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestRequired(t *testing.T) {
	require.NoError(t, Required("trim", true))
	var bad *badflag.Error
	require.ErrorAs(t, Required("trim", false), &bad)
	require.Equal(t, "--allow-write", bad.Flag)
	require.Contains(t, bad.Error(), "trim destroys data")
}
