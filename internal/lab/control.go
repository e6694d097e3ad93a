package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"
)

// control carries out the guest's actions through QEMU's monitor.
type control struct {
	allowed []Verb
	drives  []attachedDrive

	mu     sync.Mutex // one action at a time, but for the monitor's events
	qmp    *monitor
	pulled map[int]bool // drives that are out
}

// maxAsks bounds the actions that wait for their turn; a program that asks for more is refused.
const maxAsks = 8

// unplugLimit bounds how long the guest may take to let go of a drive.
const unplugLimit = 60 * time.Second

// monitorPair makes the two ends of the monitor's socket, which has no name.
func monitorPair() (ours, theirs *os.File, err error) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("lab: socket to QEMU's monitor: %w", err)
	}
	return os.NewFile(uintptr(fds[0]), "monitor"), os.NewFile(uintptr(fds[1]), "monitor of QEMU"), nil
}

// do carries out one action.
func (c *control) do(a Action) error {
	if err := a.validate(); err != nil {
		return err
	}
	if !slices.Contains(c.allowed, a.Verb) {
		return a.bad("not allowed in this run; Config.Actions has %s", joinVerbs(c.allowed))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if a.Verb == VerbPause {
		if err := c.qmp.execute("stop", nil); err != nil {
			return a.bad("%v", err)
		}
		time.Sleep(a.For)
		if err := c.qmp.execute("cont", nil); err != nil {
			return a.bad("%v", err)
		}
		return nil
	}
	i := slices.IndexFunc(c.drives, func(d attachedDrive) bool { return d.Serial == a.Drive })
	if i < 0 {
		return a.bad("no drive has this serial number")
	}
	d := c.drives[i]
	err := c.doDrive(a, i, d)
	if _, ours := errors.AsType[*ActionError](err); err == nil || ours {
		return err
	}
	return a.bad("%v", err)
}

// doDrive carries out an action on drive i.
func (c *control) doDrive(a Action, i int, d attachedDrive) error {
	out := c.pulled[i]
	switch a.Verb {
	case VerbThrottle:
		if out {
			return a.bad("it is not plugged in")
		}
		id := controllerID(i) // a pluggable drive's namespace is part of its controller
		if !d.Hotplug {
			n := d.namespace(a.NSID)
			if n < 0 {
				return a.bad("no namespace has NSID %d", a.NSID)
			}
			id = namespaceID(i, n)
		}
		return c.qmp.execute("block_set_io_throttle", object("id", id, "bps", a.Bandwidth, "bps_rd", 0, "bps_wr", 0,
			"iops", a.IOPS, "iops_rd", 0, "iops_wr", 0))
	case VerbUnplug:
		if !d.Hotplug {
			return a.bad("it cannot be pulled; give it the option hotplug")
		}
		if out {
			return a.bad("it is out already")
		}
		gone := c.qmp.await("DEVICE_DELETED", controllerID(i))
		if err := c.qmp.execute("device_del", object("id", controllerID(i))); err != nil {
			return err
		}
		if err := gone(unplugLimit); err != nil {
			return err
		}
		c.pulled[i] = true
		return nil
	case VerbPlug:
		if !out {
			return a.bad("it is plugged in")
		}
		if err := c.qmp.execute("device_add", d.pluggable(i)); err != nil {
			return err
		}
		delete(c.pulled, i)
		return nil
	case VerbResize:
		if !out {
			return a.bad("QEMU resizes no drive in use; pull it first")
		}
		return c.qmp.execute("block_resize", object("node-name", nodeID(i, 0), "size", a.Size))
	}
	return a.bad("not for a drive")
}

// namespace is the place of the namespace with an NSID, the first for 0, or -1.
func (d attachedDrive) namespace(nsid int) int {
	for n := range d.Namespaces {
		if nsid == 0 || d.nsid(n) == nsid {
			return n
		}
	}
	return -1
}

// answer decodes a guest's request and carries it out; the answer is what goes back to the guest.
func (c *control) answer(request []byte) []byte {
	var a Action
	if err := json.Unmarshal(request, &a); err != nil {
		return refused(err)
	}
	if err := c.do(a); err != nil {
		return refused(err)
	}
	return encodeAnswer(controlAnswer{})
}
