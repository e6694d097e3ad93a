package consent

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/badflag"
	"github.com/nvmepass/nvmepass/internal/sysfs"
)

// tree makes a folder with the given files; a value "-> path" is a symbolic
// link.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		if target, ok := strings.CutPrefix(text, "-> "); ok {
			require.NoError(t, os.Symlink(filepath.Join(root, target), path))
			continue
		}
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return root
}

// machine has a drive with two partitions: one below LVM, one with swap.
func machine(t *testing.T, extra map[string]string) (root string, s system) {
	files := map[string]string{
		"sys/devices/pci/nvme0/nvme0n1/dev":                        "259:0\n",
		"sys/devices/pci/nvme0/nvme0n1/nvme0n1p1/dev":              "259:1\n",
		"sys/devices/pci/nvme0/nvme0n1/nvme0n1p1/partition":        "1\n",
		"sys/devices/pci/nvme0/nvme0n1/nvme0n1p1/holders/dm-0/dev": "253:0\n",
		"sys/devices/pci/nvme0/nvme0n1/nvme0n1p2/dev":              "259:2\n",
		"sys/devices/pci/nvme0/nvme0n1/nvme0n1p2/partition":        "2\n",
		"sys/devices/virtual/block/dm-0/dev":                       "253:0\n",
		"sys/devices/virtual/block/dm-0/dm/name":                   "vg-root\n",
		"sys/class/block/dm-0":                                     "-> sys/devices/virtual/block/dm-0",
		"sys/devices/pci/nvme0/nvme0n2/dev":                        "259:9\n",
		"proc/swaps":                                               "Filename\tType\tSize\tUsed\tPriority\n/dev/nvme0n1p2 partition 8 0 -2\n",
		"proc/self/mountinfo": "1 0 0:21 / /proc rw - proc proc rw\n" +
			"25 1 253:0 / /mnt/a\\040folder rw,relatime shared:1 master:2 - ext4 /dev/mapper/vg-root rw\n",
	}
	maps.Copy(files, extra)
	root = tree(t, files)
	return root, system{sysfs: sysfs.FS{Root: filepath.Join(root, "sys")}, proc: filepath.Join(root, "proc")}
}

func TestUsesAreFoundThroughHolders(t *testing.T) {
	root, s := machine(t, nil)
	require.Equal(t, []string{
		"it has partition 1 (nvme0n1p1)",
		"nvme0n1p1 is held by dm-0 (vg-root)",
		"it has partition 2 (nvme0n1p2)",
		"dm-0 is mounted on /mnt/a folder",
		"nvme0n1p2 is swap space in use",
	}, s.uses(filepath.Join(root, "sys/devices/pci/nvme0/nvme0n1")))
	require.Empty(t, s.uses(filepath.Join(root, "sys/devices/pci/nvme0/nvme0n2")), "the other namespace is free")
}

// TestMountsBySource: some file systems mount under a device number of their
// own.
func TestMountsBySource(t *testing.T) {
	root, s := machine(t, map[string]string{
		"proc/self/mountinfo": "30 1 0:44 /@ /home rw - btrfs /dev/nvme0n2 rw\nnonsense\n- - -\n",
	})
	require.Equal(t, []string{"nvme0n2 is mounted on /home"}, s.uses(filepath.Join(root, "sys/devices/pci/nvme0/nvme0n2")))
}

func TestHoldersInACircle(t *testing.T) {
	root, s := machine(t, map[string]string{"sys/devices/virtual/block/dm-0/holders/dm-0/dev": "253:0"})
	require.NotEmpty(t, s.uses(filepath.Join(root, "sys/devices/pci/nvme0/nvme0n1")))
}

func TestNothingKnownIsNothingFound(t *testing.T) {
	s := system{sysfs: sysfs.FS{Root: t.TempDir()}, proc: t.TempDir()}
	require.Empty(t, s.uses(filepath.Join(t.TempDir(), "nvme9n9")))
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

func FuzzSignatures(f *testing.F) {
	f.Add([]byte("\xeb\x00LUKS"), []byte("EFI PART"))
	f.Add(make([]byte, 512), []byte{})
	f.Fuzz(func(t *testing.T, head, tail []byte) {
		for _, s := range (&ends{head: head, tail: tail}).signatures() {
			require.True(t, strings.HasPrefix(s, "it holds "))
		}
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
	root, s := machine(t, nil)
	node := filepath.Join(root, "node")
	require.NoError(t, os.WriteFile(node, nil, 0o600))
	free := subject{path: "/dev/ng0n2", block: node, dir: filepath.Join(root, "sys/devices/pci/nvme0/nvme0n2"), system: s, ends: &ends{}}
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
	require.Len(t, refused.Reasons, 6)
	for _, s := range []string{"write on /dev/ng0n2", "nothing was written", "swap space", "XFS", "--force-overwrite"} {
		require.ErrorContains(t, err, s)
	}
	var shown strings.Builder
	h, err = used.check(&Request{Op: "write", AllowWrite: true, Force: true, Show: &shown})
	require.NoError(t, err)
	require.True(t, h.Held())
	require.Contains(t, shown.String(), "although it has partition 1")
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
