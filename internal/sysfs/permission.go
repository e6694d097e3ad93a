package sysfs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/nvmepass/nvmepass/internal/sys"
)

// NodeError is an open of a node that was not permitted.
type NodeError struct {
	Path string
	// Mode, UID and GID are the node's; Mode is 0 if it cannot be looked at.
	Mode     os.FileMode
	UID, GID uint32
	// User is the effective user ID of this process.
	User int
	Err  error
}

// OpenError adds the path to the error of opening a node; one of permission
// becomes a *NodeError. nil stays nil.
func OpenError(path string, err error) error {
	switch {
	case err == nil:
		return nil
	case OutOfFiles(err):
		return fmt.Errorf("open %s: %w: %s", path, err, MoreFiles)
	case !errors.Is(err, syscall.EACCES) && !errors.Is(err, syscall.EPERM):
		return fmt.Errorf("open %s: %w", path, err)
	}
	e := &NodeError{Path: path, User: os.Geteuid(), Err: err}
	if st, serr := sys.StatNode(path); serr == nil {
		e.Mode, e.UID, e.GID = st.Mode, st.UID, st.GID
	}
	return e
}

// Error names the rule and a remedy.
func (e *NodeError) Error() string {
	return fmt.Sprintf("open %s: %v: %s", e.Path, e.Err, e.reason())
}

func (e *NodeError) reason() string {
	if errors.Is(e.Err, syscall.EPERM) {
		return "a container's device filter or a security module forbids this device, whatever its mode: pass the device to the container"
	}
	if e.Mode == 0 {
		return "a folder above it forbids it"
	}
	nodes, usual := "ng*n*", "generic nodes are root's alone by default"
	if strings.HasPrefix(filepath.Base(e.Path), "nvme") {
		nodes, usual = "nvme*n*", "block nodes are the disk group's by default"
	}
	return fmt.Sprintf("the mode of the node is %#o, owner %d, group %d, and this process runs as user %d "+
		"(%s): run as root, or give a group access by a udev rule (KERNEL==%q, GROUP=\"disk\", MODE=\"0660\")",
		e.Mode.Perm(), e.UID, e.GID, e.User, usual, nodes)
}

// Unwrap returns the errno.
func (e *NodeError) Unwrap() error { return e.Err }
