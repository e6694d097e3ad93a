package sysfs

import "path/filepath"

// Disk is the disk of a namespace: its block node, or with native multipath
// also the hidden disk of each path to it.
type Disk struct {
	Name string // the kernel's, such as nvme0n1, or nvme0c1n1 for a path
	Dir  string
	// Node is its block node, "" for a hidden disk.
	Node string
	// NSID is 0 if sysfs does not tell it.
	NSID   uint32
	Hidden bool
}

// Parent is the folder of the controller or subsystem that the disk belongs to.
func (d Disk) Parent() string { return filepath.Dir(d.Dir) }

// Disks lists the disks of all NVMe namespaces, by name.
func (f FS) Disks() []Disk {
	var out []Disk
	for _, name := range children(filepath.Join(f.Root, "class", "block")) {
		dir := f.Resolve("class", "block", name)
		if dir == "" || text(dir, "partition") != "" || !isNVMeDisk(dir) {
			continue
		}
		d := Disk{Name: name, Dir: dir, Hidden: text(dir, "hidden") == "1"}
		if id, ok := number(dir, "nsid"); ok && id > 0 && id <= 1<<32-1 {
			d.NSID = uint32(id)
		}
		if !d.Hidden {
			d.Node = f.devNode(dir)
		}
		out = append(out, d)
	}
	return out
}

// ControllerDirs lists the folders of all NVMe controllers, by name.
func (f FS) ControllerDirs() []string {
	var dirs []string
	for _, name := range children(filepath.Join(f.Root, "class", "nvme")) {
		if dir := f.Resolve("class", "nvme", name); dir != "" {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// SubsystemOf is the folder of the NVM subsystem that a controller belongs to,
// "" if the kernel shows none.
func (f FS) SubsystemOf(controllerDir string) string {
	for _, name := range children(filepath.Join(f.Root, "class", "nvme-subsystem")) {
		dir := f.Resolve("class", "nvme-subsystem", name)
		if dir != "" && f.Resolve("class", "nvme-subsystem", name, filepath.Base(controllerDir)) == controllerDir {
			return dir
		}
	}
	return ""
}

// SameInstance tells whether a generic node and a disk below the same parent
// have the same instance number, as ng0n1 and nvme0n1 do: the driver names both
// by it. It is for those who may not ask the node for its NSID.
func SameInstance(generic, disk string) bool { return sameInstance(generic, disk) }
