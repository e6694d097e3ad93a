package sysfs

import (
	"path/filepath"
	"strings"
)

// ControllerNodes lists the nodes of all NVMe controllers of this kernel, by
// name.
func (f FS) ControllerNodes() []string {
	var paths []string
	for _, name := range children(filepath.Join(f.Root, "class", "nvme")) {
		dir, err := filepath.EvalSymlinks(filepath.Join(f.Root, "class", "nvme", name))
		if err != nil {
			continue
		}
		if node := f.devNode(dir); node != "" {
			paths = append(paths, node)
		}
	}
	return paths
}

// ControllersOf are the nodes of the controllers that a node stands for: its
// own for a controller, those that serve it for a namespace (several with
// native multipath), none for anything else.
func (f FS) ControllersOf(n Node) []string {
	var dirs []string
	switch n.Kind {
	case Controller:
		dirs = []string{n.Dir}
	case Generic, Block:
		dirs = Pair{GenericDir: n.Dir}.Controllers()
	}
	var paths []string
	for _, dir := range dirs {
		if node := f.devNode(dir); node != "" {
			paths = append(paths, node)
		}
	}
	return paths
}

// ControllerAdvice says which nodes could be used where a controller is
// needed, for error messages.
func (f FS) ControllerAdvice() string {
	paths := f.ControllerNodes()
	if len(paths) == 0 {
		return "there is no NVMe controller on this machine"
	}
	if len(paths) > 4 {
		paths = append(paths[:4:4], "...")
	}
	return "use a controller of this machine: " + strings.Join(paths, ", ")
}
