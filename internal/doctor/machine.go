package doctor

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/nvmepass/nvmepass/internal/inventory"
	"github.com/nvmepass/nvmepass/internal/lab"
	"github.com/nvmepass/nvmepass/internal/sys"
	"github.com/nvmepass/nvmepass/internal/sysfs"
)

// Machine is what is examined. Tests have one of their own.
type Machine struct {
	// Root is put before /sys, /proc, /boot and /etc.
	Root   string
	Source *inventory.Source
	// Release is uname -r, Arch is GOARCH.
	Release, Arch     string
	SysAdmin, IPCLock bool
	// Memlock is the limit of locked memory in bytes, ^uint64(0) for none.
	Memlock uint64
	// CPUs are those that this process may run on.
	CPUs []int
	// Lab: this is the guest of the lab.
	Lab bool
	// Ring asks the kernel what io_uring it has.
	Ring func() (Rings, error)
	// Health reads the SMART log of a node's controller.
	Health func(ctx context.Context, path string) (inventory.Health, error)
	// Try reads one block through a ring.
	Try func(generic string, poll bool) (Trial, error)
}

// ThisMachine is the running one.
func ThisMachine() *Machine {
	m := &Machine{
		Source: inventory.System(), Release: sys.KernelRelease(), Arch: runtime.GOARCH,
		SysAdmin: sys.HaveSysAdmin(), IPCLock: sys.HaveIPCLock(), Memlock: ^uint64(0), Lab: lab.Inside(),
		Ring: probe, Health: inventory.ReadHealth, Try: try,
	}
	if n, err := sys.MemlockLimit(); err == nil {
		m.Memlock = n
	}
	m.CPUs, _ = sys.AllowedCPUs() // none: the checks of processors say so
	return m
}

// read is the text of a file below the root; "" if it cannot be read.
func (m *Machine) read(path string) string {
	dir, name := filepath.Split(path)
	return sysfs.Attr(filepath.Join(m.Root, dir), name)
}

// files lists what a pattern matches, as paths without the root.
func (m *Machine) files(pattern string) []string {
	found, err := filepath.Glob(filepath.Join(m.Root, pattern))
	if err != nil {
		return nil
	}
	for i := range found {
		found[i] = m.shown(found[i])
	}
	return found
}

// exists tells whether a path below the root is there.
func (m *Machine) exists(path string) bool {
	_, err := os.Stat(filepath.Join(m.Root, path))
	return err == nil
}

// shown is a path without the root.
func (m *Machine) shown(path string) string { return strings.TrimPrefix(path, m.Root) }

// write is the command that writes a value to a file of sysfs.
func write(value, path string) string { return "echo " + value + " | sudo tee " + path }

// chosen is the word in brackets of a list such as "[none] mq-deadline".
func chosen(list string) string {
	for word := range strings.FieldsSeq(list) {
		if strings.HasPrefix(word, "[") && strings.HasSuffix(word, "]") {
			return strings.Trim(word, "[]")
		}
	}
	return list
}
