package consent

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nvmepass/nvmepass/internal/sysfs"
)

// system is where the kernel tells who uses what. Tests have trees of their
// own.
type system struct {
	sysfs sysfs.FS
	proc  string
}

// blockDevice is a disk, a partition, or what holds one.
type blockDevice struct {
	name string // the kernel's, such as nvme0n1p2 or dm-0
	dev  string // major:minor
	what string
}

// uses says who uses a disk, given its folder in sysfs: mounts and swap on it,
// on its partitions, and on what holds these, and the holders themselves. That
// a partition exists is a reason as well.
func (s system) uses(dir string) (reasons []string) {
	devices := s.stack(dir, "", nil)
	for _, d := range devices[min(1, len(devices)):] {
		reasons = append(reasons, d.what)
	}
	for _, m := range s.mounts() {
		if i := slices.IndexFunc(devices, func(d blockDevice) bool { return d.dev == m.dev || d.name == filepath.Base(m.source) }); i >= 0 {
			reasons = append(reasons, fmt.Sprintf("%s is mounted on %s", devices[i].name, m.target))
		}
	}
	for _, name := range s.swaps() {
		if slices.ContainsFunc(devices, func(d blockDevice) bool { return d.name == name }) {
			reasons = append(reasons, name+" is swap space in use")
		}
	}
	return reasons
}

// maxStack bounds how many devices are followed, should holders go in circles.
const maxStack = 1000

// stack is the device of a folder with everything on top of it.
func (s system) stack(dir, what string, seen []blockDevice) []blockDevice {
	name := filepath.Base(dir)
	if len(seen) >= maxStack || slices.ContainsFunc(seen, func(d blockDevice) bool { return d.name == name }) {
		return seen
	}
	seen = append(seen, blockDevice{name: name, dev: readText(filepath.Join(dir, "dev")), what: what})
	for _, child := range entries(dir) {
		part := filepath.Join(dir, child)
		if n := readText(filepath.Join(part, "partition")); n != "" {
			seen = s.stack(part, fmt.Sprintf("it has partition %s (%s)", n, child), seen)
		}
	}
	for _, holder := range entries(filepath.Join(dir, "holders")) {
		seen = s.stack(filepath.Join(s.sysfs.Root, "class", "block", holder), fmt.Sprintf("%s is held by %s%s", name, holder, s.mapperName(holder)), seen)
	}
	return seen
}

// mapperName is the device mapper's or md's own name of a holder, in brackets.
func (s system) mapperName(holder string) string {
	if n := readText(filepath.Join(s.sysfs.Root, "class", "block", holder, "dm", "name")); n != "" {
		return " (" + n + ")"
	}
	return ""
}

type mount struct{ dev, target, source string }

// mounts reads mountinfo: see proc_pid_mountinfo(5).
func (s system) mounts() (all []mount) {
	for line := range strings.Lines(readText(filepath.Join(s.proc, "self", "mountinfo"))) {
		fields := strings.Fields(line)
		end := slices.Index(fields, "-")
		if len(fields) < 5 || end < 0 || end+2 >= len(fields) {
			continue
		}
		all = append(all, mount{dev: fields[2], target: unescape(fields[4]), source: unescape(fields[end+2])})
	}
	return all
}

// swaps are the names of the devices in use as swap space.
func (s system) swaps() (names []string) {
	for line := range strings.Lines(readText(filepath.Join(s.proc, "swaps"))) {
		if fields := strings.Fields(line); len(fields) > 0 {
			names = append(names, filepath.Base(unescape(fields[0])))
		}
	}
	return names
}

// unescape undoes the kernel's octal escapes of space, tab, newline and
// backslash.
func unescape(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}

func readText(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

func entries(dir string) (names []string) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}
