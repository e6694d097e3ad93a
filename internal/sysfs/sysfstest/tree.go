// Package sysfstest makes sysfs trees for tests, in the shape that kernels 6.1
// and 7.3 show.
//
// A Tree belongs to the test that made it.
package sysfstest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/sysfs"
)

// Tree is a machine's files below Root: sys, proc, and what else a test writes.
type Tree struct {
	t testing.TB
	// Root is where /sys and /proc are.
	Root string
	// FS is the tree's /sys.
	FS sysfs.FS

	disks, controllers int
}

// New makes an empty tree, which goes with the test.
func New(t testing.TB) *Tree {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	x := &Tree{t: t, Root: root, FS: sysfs.FS{Root: filepath.Join(root, "sys"), Dev: "/dev"}}
	for _, class := range []string{"nvme", "nvme-generic", "block", "nvme-subsystem"} {
		require.NoError(t, os.MkdirAll(x.path("/sys/class/"+class), 0o755))
	}
	return x
}

func (x *Tree) path(p string) string { return filepath.Join(x.Root, p) }

// Write makes a file with a line, as the kernel's attributes have it.
func (x *Tree) Write(path, value string) {
	x.t.Helper()
	require.NoError(x.t, os.MkdirAll(filepath.Dir(x.path(path)), 0o755))
	require.NoError(x.t, os.WriteFile(x.path(path), []byte(value+"\n"), 0o644))
}

// Remove takes a file or folder away again.
func (x *Tree) Remove(path string) {
	x.t.Helper()
	require.NoError(x.t, os.RemoveAll(x.path(path)))
}

// Link makes a relative link, as sysfs has them.
func (x *Tree) Link(path, target string) {
	x.t.Helper()
	require.NoError(x.t, os.MkdirAll(filepath.Dir(x.path(path)), 0o755))
	rel, err := filepath.Rel(filepath.Dir(x.path(path)), x.path(target))
	require.NoError(x.t, err)
	require.NoError(x.t, os.Symlink(rel, x.path(path)))
}

func (x *Tree) device(dir, class, devname string) {
	x.Link(dir+"/subsystem", "/sys/class/"+class)
	x.Link("/sys/class/"+class+"/"+filepath.Base(dir), dir)
	uevent := "DEVTYPE=disk"
	if devname != "" {
		uevent = "MAJOR=1\nMINOR=2\nDEVNAME=" + devname
	}
	x.Write(dir+"/uevent", uevent)
}

// Controller makes /dev/nvmeN on PCI device 0000:00:0(N+1).0 and returns its
// folder.
func (x *Tree) Controller(serial string) (dir string) {
	n := x.controllers
	x.controllers++
	pci := fmt.Sprintf("/sys/devices/pci0000:00/0000:00:%02x.0", n+1)
	dir = fmt.Sprintf("%s/nvme/nvme%d", pci, n)
	x.device(dir, "nvme", filepath.Base(dir))
	x.Link(dir+"/device", pci)
	for attr, value := range map[string]string{
		"model": "ACME Drive 1000", "serial": serial, "firmware_rev": "1.0", "transport": "pcie",
		"address": fmt.Sprintf("0000:00:%02x.0", n+1), "numa_node": "-1", "state": "live",
	} {
		x.Write(dir+"/"+attr, value)
	}
	return dir
}

// Subsystem makes an NVM subsystem of some controllers.
func (x *Tree) Subsystem(name string, controllers ...string) (dir string) {
	dir = "/sys/devices/virtual/nvme-subsystem/" + name
	x.Link(dir+"/subsystem", "/sys/class/nvme-subsystem")
	x.Link("/sys/class/nvme-subsystem/"+name, dir)
	for _, c := range controllers {
		x.Link(dir+"/"+filepath.Base(c), c)
	}
	return dir
}

// Generic makes a generic node below a controller or a subsystem.
func (x *Tree) Generic(parent, name string) (dir string) {
	dir = parent + "/" + name
	x.device(dir, "nvme-generic", name)
	x.Link(dir+"/device", parent)
	return dir
}

// Disk makes a block node with blocks of 512 bytes below a controller or a
// subsystem.
func (x *Tree) Disk(parent, name string, nsid uint32, blocks uint64) (dir string) {
	dir = parent + "/" + name
	x.device(dir, "block", name)
	x.disk(dir, parent, nsid, blocks)
	x.Write(dir+"/hidden", "0")
	return dir
}

// HiddenDisk makes the disk of a path of native multipath.
func (x *Tree) HiddenDisk(parent, name string, nsid uint32, blocks uint64) (dir string) {
	dir = parent + "/" + name
	x.device(dir, "block", "")
	x.disk(dir, parent, nsid, blocks)
	x.Write(dir+"/hidden", "1")
	return dir
}

func (x *Tree) disk(dir, parent string, nsid uint32, blocks uint64) {
	x.Link(dir+"/device", parent)
	x.Link("/sys/block/"+filepath.Base(dir), dir)
	x.Write(dir+"/dev", fmt.Sprintf("259:%d", x.disks))
	x.disks++
	for attr, value := range map[string]string{
		"nsid": fmt.Sprint(nsid), "size": fmt.Sprint(blocks), "queue/io_poll": "0", "queue/scheduler": "[none] mq-deadline",
		"queue/logical_block_size": "512", "queue/max_hw_sectors_kb": "512", "queue/max_segments": "129", "queue/dma_alignment": "3",
		"queue/nr_requests": "1023", "queue/iostats": "1", "queue/nomerges": "0", "queue/write_cache": "write through", "queue/zoned": "none",
	} {
		x.Write(dir+"/"+attr, value)
	}
}

// Partition makes a partition of a disk.
func (x *Tree) Partition(disk, name string) (dir string) {
	dir = disk + "/" + name
	x.device(dir, "block", name)
	x.Write(dir+"/partition", name[len(name)-1:])
	x.Write(dir+"/dev", fmt.Sprintf("259:%d", x.disks))
	x.disks++
	return dir
}

// Queues gives a disk hardware queues that serve these CPUs, and says whether
// it polls.
func (x *Tree) Queues(disk string, poll bool, cpus ...string) {
	if poll {
		x.Write(disk+"/queue/io_poll", "1")
	}
	for i, list := range cpus {
		x.Write(fmt.Sprintf("%s/mq/%d/cpu_list", disk, i), list)
	}
}

// Node is what a path of this tree is, by its name: sysfs tells the rest.
func (x *Tree) Node(path string) (sysfs.Node, error) {
	name := filepath.Base(path)
	for _, k := range []struct {
		class string
		kind  sysfs.Kind
	}{{"nvme-generic", sysfs.Generic}, {"nvme", sysfs.Controller}, {"block", sysfs.Block}} {
		if dir := x.FS.Resolve("class", k.class, name); dir != "" {
			if sysfs.Attr(dir, "partition") != "" {
				k.kind = sysfs.Partition
			}
			return sysfs.Node{Path: path, Kind: k.kind, Name: name, Dir: dir, What: name}, nil
		}
	}
	return sysfs.Node{}, fmt.Errorf("look at device %q: %w", path, os.ErrNotExist)
}
