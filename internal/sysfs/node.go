package sysfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nvmepass/nvmepass/internal/sys"
)

// Kind is what a path turned out to be.
type Kind int

// The kinds of node that matter to passthrough.
const (
	// Other is anything that is no NVMe device; Node.What says what.
	Other Kind = iota
	// Generic is a namespace's character node, /dev/ngXnY.
	Generic
	// Block is a namespace's block node, /dev/nvmeXnY.
	Block
	// Partition is a part of a block node.
	Partition
	// Controller is /dev/nvmeX.
	Controller
)

// Node is a path with what the kernel says of it.
type Node struct {
	Path string // as given
	Kind Kind
	What string // for people: "a regular file", "the NVMe controller nvme0"
	Name string // the kernel's name of the device, such as ng0n1
	Dir  string // its folder in sysfs
}

// Identify classifies a path by its inode and sysfs, following symbolic links.
// Only a path that cannot be looked at is an error; it wraps fs.ErrNotExist
// and the like.
func (f FS) Identify(path string) (Node, error) {
	st, err := sys.StatNode(path)
	if err != nil {
		return Node{}, pathError(path, err)
	}
	n := Node{Path: path}
	mode := st.Mode
	switch {
	case mode.IsRegular():
		n.What = "a regular file"
		return n, nil
	case mode.IsDir():
		n.What = "a directory"
		return n, nil
	case mode&os.ModeDevice == 0:
		n.What = "no device (" + mode.Type().String() + ")"
		return n, nil
	}
	class := "block"
	if mode&os.ModeCharDevice != 0 {
		class = "char"
	}
	return f.identifyDevice(n, class, st.Major, st.Minor), nil
}

func (f FS) identifyDevice(n Node, class string, major, minor uint32) Node {
	kindOf := map[string]string{"char": "character", "block": "block"}[class]
	dir, err := f.deviceDir(class, major, minor)
	if err != nil {
		n.What = fmt.Sprintf("a %s device (%d:%d) that sysfs does not know", kindOf, major, minor)
		return n
	}
	n.Dir, n.Name = dir, filepath.Base(dir)
	switch sub := subsystem(dir); {
	case sub == "nvme-generic":
		n.Kind, n.What = Generic, "the NVMe generic node "+n.Name
	case sub == "nvme":
		n.Kind, n.What = Controller, "the NVMe controller "+n.Name
	case sub == "block" && text(dir, "partition") != "" && isNVMeDisk(filepath.Dir(dir)):
		n.Kind, n.What = Partition, fmt.Sprintf("partition %s of %s", text(dir, "partition"), filepath.Base(filepath.Dir(dir)))
	case sub == "block" && isNVMeDisk(dir):
		n.Kind, n.What = Block, "the NVMe block node "+n.Name
	default:
		n.What = fmt.Sprintf("the %s device %s, which is not NVMe", kindOf, n.Name)
	}
	return n
}

// isNVMeDisk: a block disk below an NVMe controller or subsystem.
func isNVMeDisk(dir string) bool {
	parent, err := filepath.EvalSymlinks(filepath.Join(dir, "device"))
	if err != nil {
		return false
	}
	return slices.Contains([]string{"nvme", "nvme-subsystem"}, subsystem(parent))
}

func pathError(path string, err error) error {
	shown := path
	if len(shown) > 200 {
		shown = shown[:200] + "..."
	}
	cause := err
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		cause = pe.Err
	}
	return fmt.Errorf("look at device %q: %w", shown, cause)
}

// Namespaces lists the generic nodes of all namespaces of this kernel, by name.
func (f FS) Namespaces() []Pair {
	var pairs []Pair
	for _, name := range children(filepath.Join(f.Root, "class", "nvme-generic")) {
		dir, err := filepath.EvalSymlinks(filepath.Join(f.Root, "class", "nvme-generic", name))
		if err != nil {
			continue
		}
		if node := f.devNode(dir); node != "" {
			pairs = append(pairs, Pair{Generic: node, GenericDir: dir})
		}
	}
	return pairs
}

// Advice says which nodes could be used instead of n, for error messages.
func (f FS) Advice(n Node) string {
	candidates := f.Namespaces()
	scope := "on this machine"
	switch n.Kind {
	case Controller:
		candidates = slices.DeleteFunc(candidates, func(p Pair) bool { return !f.belongs(p.GenericDir, n.Dir) })
		scope = "of " + n.Name
	case Partition:
		parent := filepath.Dir(filepath.Dir(n.Dir))
		disk := filepath.Base(filepath.Dir(n.Dir))
		candidates = slices.DeleteFunc(candidates, func(p Pair) bool {
			return filepath.Dir(p.GenericDir) != parent || !sameInstance(filepath.Base(p.GenericDir), disk)
		})
		scope = "that holds it"
	}
	if len(candidates) == 0 {
		return "there is no NVMe namespace " + scope
	}
	paths := make([]string, 0, 4)
	for i, p := range candidates {
		if i == 4 {
			paths = append(paths, "...")
			break
		}
		paths = append(paths, p.Generic)
	}
	return "use the namespace " + scope + ": " + strings.Join(paths, ", ")
}

// belongs tells whether a namespace hangs below a controller or its subsystem.
func (f FS) belongs(genericDir, controllerDir string) bool {
	parent := filepath.Dir(genericDir)
	if parent == controllerDir {
		return true
	}
	link, err := filepath.EvalSymlinks(filepath.Join(parent, filepath.Base(controllerDir)))
	return err == nil && link == controllerDir
}

// sameInstance compares kernel names that differ only in their class prefix.
// It serves messages only; Pair matches namespaces by their NSID.
func sameInstance(generic, disk string) bool {
	return strings.TrimPrefix(generic, "ng") == strings.TrimPrefix(disk, "nvme")
}
