package sysfs

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// nsids answers for the nodes as the driver would.
func nsids(m map[string]uint32) func(string) (uint32, error) {
	return func(node string) (uint32, error) {
		id, ok := m[node]
		if !ok {
			return 0, fmt.Errorf("asked for the NSID of %q", node)
		}
		return id, nil
	}
}

// TestB28PairsByNSID: the numbers in the names differ from the NSIDs, and
// cross over.
func TestB28PairsByNSID(t *testing.T) {
	x := newTree(t)
	ctrl := x.controller("pci0000:00/0000:00:01.0", 0)
	ids := map[string]uint32{"/dev/ng0n1": 7, "/dev/ng0n2": 1, "/dev/ng0n3": 4294967294}
	for i, name := range []string{"ng0n1", "ng0n2", "ng0n3"} {
		x.generic(ctrl, name, i)
	}
	x.disk(ctrl, "nvme0n1", 0, "1")
	x.disk(ctrl, "nvme0n2", 1, "7")
	x.disk(ctrl, "nvme0n3", 2, "3") // no generic node
	// A second drive with the same NSIDs, nearby and hidden ones.
	other := x.controller("pci0000:00/0000:00:02.0", 1)
	x.generic(other, "ng1n1", 9)
	x.disk(other, "nvme1n1", 9, "7")
	x.disk(ctrl, "nvme0c0n9", -1, "7")

	tests := []struct {
		class         string
		major, minor  uint32
		generic, disk string
	}{
		{"char", 245, 0, "/dev/ng0n1", "/dev/nvme0n2"},
		{"char", 245, 1, "/dev/ng0n2", "/dev/nvme0n1"},
		{"char", 245, 2, "/dev/ng0n3", ""},
		{"block", 259, 0, "/dev/ng0n2", "/dev/nvme0n1"},
		{"block", 259, 1, "/dev/ng0n1", "/dev/nvme0n2"},
		{"block", 259, 2, "", "/dev/nvme0n3"},
	}
	for _, tt := range tests {
		n := x.node("", tt.class, tt.major, tt.minor)
		n.Path = "/dev/" + n.Name
		p, err := x.PairOf(n, nsids(ids))
		require.NoError(t, err)
		require.Equal(t, tt.generic, p.Generic)
		require.Equal(t, tt.disk, p.Block)
		require.Equal(t, tt.generic == "", p.GenericDir == "")
		require.Equal(t, tt.disk == "", p.BlockDir == "")
	}
}

// TestPairDoesNotTakeMinusOneForAnNSID of all ones.
func TestPairDoesNotTakeMinusOneForAnNSID(t *testing.T) {
	x := newTree(t)
	ctrl := x.controller("pci0000:00/0000:00:01.0", 0)
	x.generic(ctrl, "ng0n1", 0)
	x.disk(ctrl, "nvme0n1", 0, "-1")
	p, err := x.PairOf(x.node("/dev/ng0n1", "char", 245, 0), nsids(map[string]uint32{"/dev/ng0n1": 0xffffffff}))
	require.NoError(t, err)
	require.Empty(t, p.Block)
}

func TestPairWithMultipath(t *testing.T) {
	x, subsys, paths := multipath(t)
	want := Pair{Generic: "/dev/ng0n1", GenericDir: x.path(subsys + "/ng0n1"), Block: "/dev/nvme0n1", BlockDir: x.path(subsys + "/nvme0n1")}
	ids := nsids(map[string]uint32{"/dev/ng0n1": 1})
	for _, n := range []Node{x.node("/dev/ng0n1", "char", 245, 0), x.node("/dev/nvme0n1", "block", 259, 2)} {
		p, err := x.PairOf(n, ids)
		require.NoError(t, err)
		require.Equal(t, want, p)
		require.Len(t, p.Controllers(), 2)
		require.Equal(t, "nvme0", ReadController(p.Controllers()[0]).Name)
	}
	x.queues(paths[0], "0")
	x.queues(paths[1], "0")
	require.Equal(t, []string{x.path(paths[0]), x.path(paths[1])}, want.hardwareDirs())
}

func TestPairErrors(t *testing.T) {
	x, ctrl, _, _ := plain(t)
	boom := errors.New("boom")
	fail := func(string) (uint32, error) { return 0, boom }
	for _, n := range []Node{x.node("/dev/ng0n1", "char", 245, 0), x.node("/dev/nvme0n1", "block", 259, 0)} {
		_, err := x.PairOf(n, fail)
		require.ErrorIs(t, err, boom)
	}
	_, err := x.PairOf(x.node("/dev/nvme0", "char", 246, 0), fail)
	require.ErrorContains(t, err, "find the nodes of /dev/nvme0: it is the NVMe controller nvme0, not a namespace")
	x.disk(ctrl, "nvme0n2", 1, "?")
	_, err = x.PairOf(x.node("/dev/nvme0n2", "block", 259, 1), fail)
	require.ErrorContains(t, err, "sysfs does not tell its NSID")
}

func TestReadController(t *testing.T) {
	x, ctrl, generic, disk := plain(t)
	for _, p := range []Pair{{GenericDir: x.path(generic)}, {GenericDir: x.path(generic), BlockDir: x.path(disk)}} {
		require.Equal(t, []string{x.path(ctrl)}, p.Controllers())
	}
	require.Equal(t, ControllerInfo{
		Name: "nvme0", Model: "QEMU NVMe Ctrl", Serial: "lab0", Firmware: "7.2.22", Transport: "pcie", Address: "0000:00:01.0", NUMANode: -1,
	}, ReadController(x.path(ctrl)))
	require.Equal(t, ControllerInfo{Name: "gone", NUMANode: -1}, ReadController(x.path("gone")))
	x.attr(ctrl+"/numa_node", "1")
	require.Equal(t, 1, ReadController(x.path(ctrl)).NUMANode)
}

func TestLimits(t *testing.T) {
	x, _, _, disk := plain(t)
	for attr, v := range map[string]string{
		"max_hw_sectors_kb": "512", "max_segments": "129", "logical_block_size": "4096", "dma_alignment": "3", "nr_requests": "1023", "iostats": "1", "scheduler": "none [mq-deadline] kyber",
	} {
		x.attr(disk+"/queue/"+attr, v)
	}
	p := Pair{BlockDir: x.path(disk)}
	want := QueueLimits{MaxHWSectorsBytes: 512 << 10, MaxSegments: 129, LogicalBlockSize: 4096, DMAAlignment: 3, NrRequests: 1023, Scheduler: "mq-deadline", IOStats: true}
	require.Equal(t, want, p.Limits())
	// With multipath the head has no scheduler to choose; 7.3 hides the file.
	x.attr(disk+"/queue/scheduler", "none")
	require.Equal(t, "none", p.Limits().Scheduler)
	x.attr(disk+"/queue/max_hw_sectors_kb", "many")
	require.Zero(t, p.Limits().MaxHWSectorsBytes)
	require.Equal(t, QueueLimits{}, Pair{}.Limits())
	require.Equal(t, QueueLimits{}, Pair{BlockDir: x.path("gone")}.Limits())
}
