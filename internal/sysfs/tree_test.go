package sysfs

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// tree is a sysfs of a test's own, in the shape that kernels 6.1 and 7.3 show.
type tree struct {
	t *testing.T
	FS
}

func newTree(t *testing.T) *tree {
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	return &tree{t: t, FS: FS{Root: root, Dev: "/dev"}}
}

func (x *tree) path(p string) string { return filepath.Join(x.Root, p) }

// attr writes an attribute, with the newline that the kernel's have.
func (x *tree) attr(p, value string) {
	require.NoError(x.t, os.MkdirAll(filepath.Dir(x.path(p)), 0o755))
	require.NoError(x.t, os.WriteFile(x.path(p), []byte(value+"\n"), 0o644))
}

func (x *tree) link(p, target string) {
	require.NoError(x.t, os.MkdirAll(filepath.Dir(x.path(p)), 0o755))
	rel, err := filepath.Rel(filepath.Dir(x.path(p)), x.path(target))
	require.NoError(x.t, err)
	require.NoError(x.t, os.Symlink(rel, x.path(p)))
}

// device makes a device's folder with what every one of them has. class is
// "char" or "block", number its major and minor; "" for a hidden one.
func (x *tree) device(dir, subsystem, class, number, devname string) {
	require.NoError(x.t, os.MkdirAll(x.path("class/"+subsystem), 0o755))
	x.link(dir+"/subsystem", "class/"+subsystem)
	x.link("class/"+subsystem+"/"+filepath.Base(dir), dir)
	if number == "" {
		x.attr(dir+"/uevent", "DEVTYPE=disk\nDISKSEQ=1")
		return
	}
	x.attr(dir+"/dev", number)
	x.attr(dir+"/uevent", "MAJOR=1\nMINOR=2\nDEVNAME="+devname)
	x.link("dev/"+class+"/"+number, dir)
}

func (x *tree) controller(pci string, n int) (dir string) {
	dir = fmt.Sprintf("devices/%s/nvme/nvme%d", pci, n)
	x.device(dir, "nvme", "char", fmt.Sprintf("246:%d", n), fmt.Sprintf("nvme%d", n))
	x.link(dir+"/device", "devices/"+pci)
	for attr, v := range map[string]string{
		"model": "QEMU NVMe Ctrl   ", "serial": "lab0", "firmware_rev": "7.2.22", "transport": "pcie", "address": "0000:00:01.0", "numa_node": "-1",
	} {
		x.attr(dir+"/"+attr, v)
	}
	return dir
}

func (x *tree) generic(parent, name string, minor int) (dir string) {
	dir = parent + "/" + name
	x.device(dir, "nvme-generic", "char", fmt.Sprintf("245:%d", minor), name)
	x.link(dir+"/device", parent)
	return dir
}

func (x *tree) disk(parent, name string, minor int, nsid string) (dir string) {
	dir = parent + "/" + name
	number := fmt.Sprintf("259:%d", minor)
	if minor < 0 {
		number = ""
	}
	x.device(dir, "block", "block", number, name)
	x.link(dir+"/device", parent)
	x.attr(dir+"/nsid", nsid)
	x.attr(dir+"/hidden", map[bool]string{true: "1", false: "0"}[minor < 0])
	x.attr(dir+"/queue/io_poll", "0")
	return dir
}

// queues gives a disk hardware queues that serve these CPUs.
func (x *tree) queues(disk string, cpus ...string) {
	for i, list := range cpus {
		x.attr(fmt.Sprintf("%s/mq/%d/cpu_list", disk, i), list)
		x.attr(fmt.Sprintf("%s/mq/%d/nr_tags", disk, i), "1023")
	}
}

// plain is one drive with one namespace.
func plain(t *testing.T) (x *tree, ctrl, generic, disk string) {
	x = newTree(t)
	ctrl = x.controller("pci0000:00/0000:00:01.0", 0)
	return x, ctrl, x.generic(ctrl, "ng0n1", 0), x.disk(ctrl, "nvme0n1", 0, "1")
}

// multipath is one subsystem with two controllers and one shared namespace.
func multipath(t *testing.T) (x *tree, subsys string, paths [2]string) {
	x = newTree(t)
	subsys = "devices/virtual/nvme-subsystem/nvme-subsys0"
	require.NoError(t, os.MkdirAll(x.path("class/nvme-subsystem"), 0o755))
	x.link(subsys+"/subsystem", "class/nvme-subsystem")
	for i := range 2 {
		ctrl := x.controller(fmt.Sprintf("pci0000:00/0000:00:0%d.0", 2-i), i)
		x.link(fmt.Sprintf("%s/nvme%d", subsys, i), ctrl)
		paths[i] = x.disk(ctrl, fmt.Sprintf("nvme0c%dn1", i), -1, "1")
		x.link(fmt.Sprintf("%s/nvme0n1/multipath/nvme0c%dn1", subsys, i), paths[i])
	}
	x.generic(subsys, "ng0n1", 0)
	x.disk(subsys, "nvme0n1", 2, "1")
	return x, subsys, paths
}

// node identifies a device number as if a node of it had been found at path.
func (x *tree) node(path, class string, major, minor uint32) Node {
	return x.identifyDevice(Node{Path: path}, class, major, minor)
}
