package sysfs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestB30KindsOfNode: what a node is comes from the kernel, in the plain shape
// and with native multipath.
func TestB30KindsOfNode(t *testing.T) {
	p, _, _, disk := plain(t)
	p.device(disk+"/nvme0n1p1", "block", "block", "259:1", "nvme0n1p1")
	p.attr(disk+"/nvme0n1p1/partition", "1")
	p.device("devices/virtual/mem/null", "mem", "char", "1:3", "null")
	p.device("devices/virtual/block/loop0", "block", "block", "7:0", "loop0")
	p.device("devices/pci0000:00/ata1/block/sda", "block", "block", "8:0", "sda")
	p.link("devices/pci0000:00/ata1/block/sda/device", "devices/pci0000:00/ata1")
	p.device("devices/pci0000:00/ata1/block/sda/sda1", "block", "block", "8:1", "sda1")
	p.attr("devices/pci0000:00/ata1/block/sda/sda1/partition", "1")
	m, _, _ := multipath(t)
	tests := []struct {
		x            *tree
		class        string
		major, minor uint32
		kind         Kind
		name, what   string
	}{
		{p, "char", 245, 0, Generic, "ng0n1", "the NVMe generic node ng0n1"},
		{p, "block", 259, 0, Block, "nvme0n1", "the NVMe block node nvme0n1"},
		{p, "block", 259, 1, Partition, "nvme0n1p1", "partition 1 of nvme0n1"},
		{p, "char", 246, 0, Controller, "nvme0", "the NVMe controller nvme0"},
		{p, "char", 1, 3, Other, "null", "the character device null, which is not NVMe"},
		{p, "block", 7, 0, Other, "loop0", "the block device loop0, which is not NVMe"},
		{p, "block", 8, 0, Other, "sda", "the block device sda, which is not NVMe"},
		{p, "block", 8, 1, Other, "sda1", "the block device sda1, which is not NVMe"},
		{p, "char", 259, 0, Other, "", "a character device (259:0) that sysfs does not know"},
		{m, "char", 245, 0, Generic, "ng0n1", "the NVMe generic node ng0n1"},
		{m, "block", 259, 2, Block, "nvme0n1", "the NVMe block node nvme0n1"},
		{m, "char", 246, 1, Controller, "nvme1", "the NVMe controller nvme1"},
	}
	for _, tt := range tests {
		t.Run(tt.what, func(t *testing.T) {
			// The path's spelling says nothing.
			for _, path := range []string{"/dev/ng0n1", "/dev/nvme9n9p9", "/tmp/x"} {
				n := tt.x.node(path, tt.class, tt.major, tt.minor)
				require.Equal(t, tt.kind, n.Kind)
				require.Equal(t, tt.name, n.Name)
				require.Equal(t, tt.what, n.What)
				require.Equal(t, path, n.Path)
			}
		})
	}
}

// TestB28NamesThatLie: files, folders, links and other devices under the names
// of namespaces.
func TestB28NamesThatLie(t *testing.T) {
	x := newTree(t)
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	require.NoError(t, os.WriteFile(at("ng0n1"), nil, 0o600))
	require.NoError(t, os.Mkdir(at("nvme0n1"), 0o700))
	require.NoError(t, os.Symlink(os.DevNull, at("ng1n1")))
	require.NoError(t, syscall.Mkfifo(at("ng2n1"), 0o600))
	require.NoError(t, os.Symlink(at("ng3n1"), at("ng3n1")))
	require.NoError(t, os.Symlink(at("gone"), at("ng4n1")))
	for name, what := range map[string]string{
		"ng0n1": "a regular file", "nvme0n1": "a directory", "ng1n1": "a character device (1:3) that sysfs does not know", "ng2n1": "no device (p",
	} {
		n, err := x.Identify(at(name))
		require.NoError(t, err)
		require.Equal(t, Other, n.Kind)
		require.Contains(t, n.What, what)
	}
	for path, is := range map[string]error{
		at("ng3n1"): syscall.ELOOP, at("ng4n1"): fs.ErrNotExist, "": fs.ErrNotExist, at("ng0n1/x"): syscall.ENOTDIR,
		strings.Repeat("n", 300): syscall.ENAMETOOLONG, "ng\x000n1": syscall.EINVAL,
	} {
		_, err := x.Identify(path)
		require.ErrorIs(t, err, is)
		require.ErrorContains(t, err, "look at device ")
		require.Less(t, len(err.Error()), 400)
		require.False(t, errors.As(err, new(*fs.PathError)), "the path stands there once")
	}
}

func TestAdvice(t *testing.T) {
	x, ctrl, _, disk := plain(t)
	x.generic(ctrl, "ng0n2", 1)
	other := x.controller("pci0000:00/0000:00:05.0", 1)
	x.generic(other, "ng1n1", 2)
	empty := x.controller("pci0000:00/0000:00:06.0", 2)
	x.device(disk+"/nvme0n1p1", "block", "block", "259:1", "nvme0n1p1")
	x.attr(disk+"/nvme0n1p1/partition", "1")
	require.Equal(t, "use the namespace on this machine: /dev/ng0n1, /dev/ng0n2, /dev/ng1n1", x.Advice(Node{}))
	require.Equal(t, "use the namespace of nvme0: /dev/ng0n1, /dev/ng0n2", x.Advice(x.node("/dev/nvme0", "char", 246, 0)))
	require.Equal(t, "use the namespace of nvme1: /dev/ng1n1", x.Advice(x.node("/dev/nvme1", "char", 246, 1)))
	require.Equal(t, "there is no NVMe namespace of nvme2", x.Advice(x.node("/dev/nvme2", "char", 246, 2)))
	require.Equal(t, "use the namespace that holds it: /dev/ng0n1", x.Advice(x.node("/dev/nvme0n1p1", "block", 259, 1)))
	for i := range 5 {
		x.generic(empty, "ng2n"+string(rune('1'+i)), 10+i)
	}
	require.Equal(t, "use the namespace on this machine: /dev/ng0n1, /dev/ng0n2, /dev/ng1n1, /dev/ng2n1, ...", x.Advice(Node{}))

	require.Equal(t, "there is no NVMe namespace on this machine", newTree(t).Advice(Node{}))
	m, _, _ := multipath(t)
	require.Equal(t, "use the namespace of nvme1: /dev/ng0n1", m.Advice(m.node("/dev/nvme1", "char", 246, 1)))
}

// TestNamespacesInOrder: nvme2 before nvme10, and one without a node left out.
func TestNamespacesInOrder(t *testing.T) {
	x := newTree(t)
	for i, n := range []int{10, 2, 0} {
		x.generic(x.controller("pci0000:00/0000:00:0"+string(rune('1'+i))+".0", n), "ng"+map[int]string{10: "10", 2: "2", 0: "0"}[n]+"n1", n)
	}
	require.NoError(t, os.MkdirAll(x.path("class/nvme-generic/ng5n1"), 0o755))
	require.NoError(t, os.Symlink("gone", x.path("class/nvme-generic/ng6n1")))
	var names []string
	for _, p := range x.Namespaces() {
		names = append(names, p.Generic)
	}
	require.Equal(t, []string{"/dev/ng0n1", "/dev/ng2n1", "/dev/ng10n1"}, names)
}
