package sysfs

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestControllersOf(t *testing.T) {
	x, ctrl, generic, disk := plain(t)
	for _, n := range []Node{
		x.node("/dev/nvme0", "char", 246, 0), x.node("/dev/ng0n1", "char", 245, 0), x.node("/dev/nvme0n1", "block", 259, 0),
	} {
		require.Equal(t, []string{"/dev/nvme0"}, x.ControllersOf(n), n.What)
	}
	require.Empty(t, x.ControllersOf(Node{Kind: Partition, Dir: x.path(disk)}))
	require.Empty(t, x.ControllersOf(Node{Kind: Other}))
	require.Equal(t, []string{"/dev/nvme0"}, x.ControllerNodes())
	require.Equal(t, "use a controller of this machine: /dev/nvme0", x.ControllerAdvice())
	require.NotEmpty(t, ctrl+generic)
	for n := 1; n < 12; n++ {
		x.controller("pci0000:00/0000:00:09.0", n)
	}
	require.Equal(t, "/dev/nvme11", x.ControllerNodes()[11], "in natural order")
	require.Equal(t, "use a controller of this machine: /dev/nvme0, /dev/nvme1, /dev/nvme2, /dev/nvme3, ...", x.ControllerAdvice())
	require.Equal(t, "there is no NVMe controller on this machine", newTree(t).ControllerAdvice())
}

// TestControllersOfMultipath: both of them, whichever node is given.
func TestControllersOfMultipath(t *testing.T) {
	x, _, _ := multipath(t)
	for _, n := range []Node{x.node("/dev/ng0n1", "char", 245, 0), x.node("/dev/nvme0n1", "block", 259, 2)} {
		require.Equal(t, []string{"/dev/nvme0", "/dev/nvme1"}, x.ControllersOf(n), n.What)
	}
}
