package inventory

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/nvmepass/nvmepass/internal/nvmeioctl"
	"github.com/nvmepass/nvmepass/internal/sys"
	"github.com/nvmepass/nvmepass/internal/sysfs"
	"github.com/nvmepass/nvmepass/nvme"
	"github.com/nvmepass/nvmepass/passthru"
)

// Asker answers Identify for a node.
type Asker interface {
	// NSID is the namespace of the node.
	NSID() (uint32, error)
	// Identify reads nvme.IdentifySize bytes.
	Identify(cns nvme.CNS, o nvme.IdentifyOptions) ([]byte, error)
	Close() error
}

// Source is where everything is read from. Tests have one of their own.
type Source struct {
	FS sysfs.FS
	// Open opens a node to ask the drive.
	Open func(node string) (Asker, error)
	// Limits are those that passthru has for a generic node.
	Limits func(generic string) (passthru.Limits, error)
	// Node looks at a path and says what it is.
	Node func(path string) (sysfs.Node, error)
	// Rights tells what this process may do with a node.
	Rights func(node string) Rights
}

// System is this machine.
func System() *Source {
	return &Source{
		FS:     sysfs.System,
		Open:   openNode,
		Limits: limitsOf,
		Node:   sysfs.System.Identify,
		Rights: rightsOf,
	}
}

func limitsOf(generic string) (passthru.Limits, error) {
	d, err := passthru.Open(generic, &passthru.Config{Depth: 1, AllowIoctl: true})
	if err != nil {
		return passthru.Limits{}, err
	}
	return d.Limits(), d.Close()
}

// node asks by the driver's ioctls, which need no io_uring.
type node struct {
	path string
	fd   int
}

func openNode(path string) (Asker, error) {
	fd, err := sys.OpenDevice(path, false, false)
	if err != nil {
		return nil, sysfs.OpenError(path, err)
	}
	return &node{path: path, fd: fd}, nil
}

func (n *node) NSID() (uint32, error) {
	id, err := nvmeioctl.NSID(n.fd)
	if err != nil {
		err = fmt.Errorf("%s: %w", n.path, err)
	}
	return id, err
}

func (n *node) Identify(cns nvme.CNS, o nvme.IdentifyOptions) ([]byte, error) {
	cmd, err := nvme.NewIdentify(cns, o)
	if err != nil {
		return nil, err
	}
	data := make([]byte, nvme.IdentifySize)
	if _, err := nvmeioctl.Admin(n.fd, cmd, data); err != nil {
		if errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.EPERM) {
			err = fmt.Errorf("%w (without CAP_SYS_ADMIN the kernel lets nobody ask before Linux 6.2, and later only for Identify of a namespace or controller): run as root", err)
		}
		return nil, fmt.Errorf("identify (CNS %02xh): %w", uint8(cns), err)
	}
	return data, nil
}

func (n *node) Close() error { return sys.Close(n.fd) }

// Reason is an error in words that do not name the node, so that the same
// reason for several nodes is the same text.
func Reason(err error) string {
	if n, ok := errors.AsType[*sysfs.NodeError](err); ok && n.Mode != 0 && errors.Is(n.Err, syscall.EACCES) {
		return fmt.Sprintf("permission denied: mode %#o, owner %d and group %d of the node keep user %d from opening it: run as root, or give a group access by a udev rule, which nvmepass doctor shows",
			n.Mode.Perm(), n.UID, n.GID, n.User)
	}
	return err.Error()
}

// ask opens a node, calls f and closes it.
func (s *Source) ask(path string, f func(Asker) error) error {
	a, err := s.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f(a), a.Close())
}
