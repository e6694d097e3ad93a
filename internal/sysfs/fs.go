package sysfs

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// FS is a sysfs tree. Tests use one of their own.
type FS struct {
	// Root is where it is mounted.
	Root string
	// Dev is where device nodes are.
	Dev string
}

// System is the running kernel's.
var System = FS{Root: "/sys", Dev: "/dev"}

// text reads an attribute; "" if it is not there.
func text(dir, attr string) string {
	b, err := os.ReadFile(filepath.Join(dir, attr))
	if err != nil {
		miss(err)
		return ""
	}
	return strings.TrimSpace(string(b))
}

// number reads a numeric attribute; ok is false if it is not there or no number.
func number(dir, attr string) (n int64, ok bool) {
	n, err := strconv.ParseInt(text(dir, attr), 10, 64)
	return n, err == nil
}

// children lists the entries of a folder by name in natural order, without
// following it if it is not there.
func children(dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		miss(err)
		return nil
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	slices.SortFunc(names, compareNatural)
	return names
}

// compareNatural orders nvme2 before nvme10.
func compareNatural(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}

// subsystem is the class or bus that a device belongs to.
func subsystem(dir string) string {
	link, err := os.Readlink(filepath.Join(dir, "subsystem"))
	if err != nil {
		return ""
	}
	return filepath.Base(link)
}

// devNode is the path of the device's node, from its uevent file.
func (f FS) devNode(dir string) string {
	for line := range strings.SplitSeq(text(dir, "uevent"), "\n") {
		if name, ok := strings.CutPrefix(line, "DEVNAME="); ok && filepath.IsLocal(name) && filepath.Clean(name) != "." {
			return filepath.Join(f.Dev, name)
		}
	}
	return ""
}

// deviceDir resolves /sys/dev/char/M:m or /sys/dev/block/M:m.
func (f FS) deviceDir(class string, major, minor uint32) (string, error) {
	link := filepath.Join(f.Root, "dev", class, fmt.Sprintf("%d:%d", major, minor))
	dir, err := filepath.EvalSymlinks(link)
	if err != nil {
		return "", fmt.Errorf("find device %d:%d in sysfs: %w", major, minor, err)
	}
	return dir, nil
}

// ParseCPUList reads the kernel's list format, such as "0-3,8" or "0, 1". It
// keeps the order of the list, which names no CPU twice.
func ParseCPUList(s string) ([]int, error) {
	var cpus []int
	for part := range strings.SplitSeq(s, ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		lo, hi, isRange := strings.Cut(part, "-")
		a, err := strconv.Atoi(lo)
		b := a
		if err == nil && isRange {
			b, err = strconv.Atoi(hi)
		}
		if err != nil || a < 0 || b < a || b > maxCPU {
			return nil, fmt.Errorf("read CPU list %.100q: %.100q is no CPU or range of CPUs from 0 to %d", s, part, maxCPU)
		}
		if len(cpus)+b-a > maxCPU {
			return nil, fmt.Errorf("read CPU list %.100q: it names more than the %d CPUs that a kernel can have", s, maxCPU+1)
		}
		for c := a; c <= b; c++ {
			cpus = append(cpus, c)
		}
	}
	return cpus, nil
}

// maxCPU bounds lists: CONFIG_NR_CPUS is at most 8192.
const maxCPU = 8191
