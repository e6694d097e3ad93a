package iopoll

import (
	"errors"
	"fmt"

	"github.com/nvmepass/nvmepass/internal/nvmeioctl"
	"github.com/nvmepass/nvmepass/internal/sysfs"
)

// ErrNoPollQueues says that nothing serves this namespace by polling.
var ErrNoPollQueues = errors.New("no poll queues")

// Support tells whether and how a namespace can be polled.
type Support struct {
	// Enabled: the driver polls for this namespace (queue/io_poll is 1).
	Enabled bool
	// Queues lists for each poll queue the CPUs that it serves; nil where
	// sysfs does not show them.
	Queues [][]int
	// Parameter is the loaded module's nvme.poll_queues, -1 if not known.
	Parameter int

	path string
}

// Find asks sysfs about the namespace of a generic or block node. With native
// multipath it tells of the path with the fewest poll queues.
func Find(path string) (Support, error) {
	n, err := sysfs.System.Identify(path)
	if err != nil {
		return Support{}, err
	}
	pair, err := sysfs.System.PairOf(n, nvmeioctl.NSIDOf)
	if err != nil {
		return Support{}, err
	}
	return FindPair(path, pair), nil
}

// FindPair is Find for packages of this module that know both nodes already.
func FindPair(path string, pair sysfs.Pair) Support {
	q := sysfs.System.PollQueues(pair)
	return Support{Enabled: q.Enabled, Queues: q.Queues, Parameter: q.Parameter, path: path}
}

// Count is the number of poll queues; -1 if polling works but sysfs does not
// show the queues.
func (s Support) Count() int {
	if s.Enabled && s.Queues == nil {
		return -1
	}
	return len(s.Queues)
}

// QueueFor is the index in Queues of the poll queue that serves a CPU, -1 for
// none.
func (s Support) QueueFor(cpu int) int {
	return sysfs.PollQueues{Queues: s.Queues}.ForCPU(cpu)
}

// Check returns nil if the namespace can be polled, else an error that wraps
// ErrNoPollQueues and names the remedy.
func (s Support) Check() error {
	if s.Enabled {
		return nil
	}
	const remedy = "boot with nvme.poll_queues=1 (or more), or set \"options nvme poll_queues=1\" in /etc/modprobe.d/nvme.conf and reload the nvme module"
	switch {
	case s.Parameter == 0:
		return fmt.Errorf("poll %s: %w: the nvme driver was loaded with poll_queues=0; %s", s.path, ErrNoPollQueues, remedy)
	case s.Parameter > 0:
		return fmt.Errorf("poll %s: %w: nvme.poll_queues is %d but the device got none (queue/io_poll is 0): the parameter was set after the driver took the device, or the drive grants too few queues; %s",
			s.path, ErrNoPollQueues, s.Parameter, remedy)
	}
	return fmt.Errorf("poll %s: %w: queue/io_poll is 0; for a PCIe drive %s; for NVMe over Fabrics connect with --nr-poll-queues", s.path, ErrNoPollQueues, remedy)
}
