package sysfs

import (
	"path/filepath"
	"slices"
	"strings"
)

// Use is one way in which a disk is in use.
type Use struct {
	// Kind is "mount", "swap", "holder" or "partition".
	Kind string
	// Device is the kernel's name of the disk, partition or holder that is
	// used.
	Device string
	// By is the mount point, the holder or the partition; "" for swap.
	By string
}

// String says it in words.
func (u Use) String() string {
	switch u.Kind {
	case "mount":
		return u.Device + " is mounted on " + u.By
	case "swap":
		return u.Device + " is swap space in use"
	case "holder":
		return u.Device + " is held by " + u.By
	}
	return u.Device + " has partition " + u.By
}

// maxHolders bounds how many devices are followed, should holders go in circles.
const maxHolders = 1000

// Uses tells who uses a disk, given its folder: partitions and holders, and
// mounts and swap on it or on what stands on it. proc is where procfs is
// mounted.
func (f FS) Uses(dir, proc string) []Use {
	if dir == "" {
		return nil
	}
	s := &stack{fs: f}
	s.add(dir)
	uses := s.uses
	for line := range strings.Lines(text(proc, "self/mountinfo")) {
		// See proc_pid_mountinfo(5): six fields, optional ones, a dash, type and source.
		fields := strings.Fields(line)
		dash := 6 + slices.Index(fields[min(6, len(fields)):], "-")
		if dash < 6 || dash+2 >= len(fields) {
			continue
		}
		if name := s.find(fields[2], filepath.Base(unescape(fields[dash+2]))); name != "" {
			uses = append(uses, Use{Kind: "mount", Device: name, By: unescape(fields[4])})
		}
	}
	for line := range strings.Lines(text(proc, "swaps")) {
		if fields := strings.Fields(line); len(fields) > 0 {
			if name := s.find("", filepath.Base(unescape(fields[0]))); name != "" {
				uses = append(uses, Use{Kind: "swap", Device: name})
			}
		}
	}
	return uses
}

// stack is a disk with its partitions and what holds them.
type stack struct {
	fs      FS
	names   []string
	numbers []string // major:minor of each
	uses    []Use
}

func (s *stack) add(dir string) {
	name := filepath.Base(dir)
	if len(s.names) >= maxHolders || slices.Contains(s.names, name) {
		return
	}
	s.names, s.numbers = append(s.names, name), append(s.numbers, text(dir, "dev"))
	for _, child := range children(dir) {
		if part := filepath.Join(dir, child); text(part, "partition") != "" {
			s.uses = append(s.uses, Use{Kind: "partition", Device: name, By: child})
			s.add(part)
		}
	}
	for _, holder := range children(filepath.Join(dir, "holders")) {
		by := holder
		if mapped := text(filepath.Join(s.fs.Root, "class", "block", holder), "dm/name"); mapped != "" {
			by += " (" + mapped + ")"
		}
		s.uses = append(s.uses, Use{Kind: "holder", Device: name, By: by})
		if held := s.fs.Resolve("class", "block", holder); held != "" {
			s.add(held)
		}
	}
}

// find is the name of the device with this number or name, "" for none.
func (s *stack) find(number, name string) string {
	for i := range s.names {
		if s.names[i] == name || number != "" && s.numbers[i] == number {
			return s.names[i]
		}
	}
	return ""
}

// unescape undoes the octal escapes of procfs.
func unescape(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}
