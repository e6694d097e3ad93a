package sysfs

import "path/filepath"

// Attr reads an attribute of a folder of sysfs; "" if it is not there or may
// not be read.
func Attr(dir, name string) string { return text(dir, name) }

// AttrInt reads a decimal attribute; ok is false if it is not there or no number.
func AttrInt(dir, name string) (n int64, ok bool) { return number(dir, name) }

// Children lists the entries of a folder by name in natural order; none if it
// is not there.
func Children(dir string) []string { return children(dir) }

// Node is the path of a device's node, given its folder; "" if it has none.
func (f FS) Node(dir string) string { return f.devNode(dir) }

// Resolve follows the links in a path below the root, given by its parts; ""
// if there is nothing.
func (f FS) Resolve(parts ...string) string {
	dir, err := filepath.EvalSymlinks(filepath.Join(append([]string{f.Root}, parts...)...))
	if err != nil {
		return ""
	}
	return dir
}
