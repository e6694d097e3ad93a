package sysfs

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestB04PollQueuesFromHardwareQueues: which of a disk's queues are polled.
func TestB04PollQueuesFromHardwareQueues(t *testing.T) {
	tests := []struct {
		name   string
		ioPoll string
		mq     []string
		want   PollQueues
	}{
		{"default and poll", "1", []string{"1", "0", "0, 1"}, PollQueues{Enabled: true, Queues: [][]int{{0, 1}}}},
		{"as kernel 6.1 numbers them", "1", []string{"0", "1", "0, 1"}, PollQueues{Enabled: true, Queues: [][]int{{0, 1}}}},
		{"two poll queues", "1", []string{"0, 1", "2, 3", "0, 1", "2, 3"}, PollQueues{Enabled: true, Queues: [][]int{{0, 1}, {2, 3}}}},
		{"default, read and poll", "1", []string{"0, 1, 2, 3", "0, 1", "2, 3", "0", "1", "2", "3"}, PollQueues{Enabled: true, Queues: [][]int{{0}, {1}, {2}, {3}}}},
		{"one processor", "1", []string{"0", "0"}, PollQueues{Enabled: true, Queues: [][]int{{0}}}},
		{"one processor, three types", "1", []string{"0", "0", "0"}, PollQueues{Enabled: true, Queues: [][]int{{0}}}},
		{"eleven queues sort as numbers", "1", []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "0, 1, 2, 3, 4, 5, 6, 7, 8, 9"}, PollQueues{Enabled: true, Queues: [][]int{{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}}}},
		{"polling off", "0", []string{"0", "1"}, PollQueues{}},
		{"polling off, read queues", "0", []string{"0, 1", "0, 1"}, PollQueues{}},
		{"one type only", "1", []string{"0", "1"}, PollQueues{Enabled: true}},
		{"no hardware queues", "1", nil, PollQueues{Enabled: true}},
		{"not a list", "1", []string{"0", "zero"}, PollQueues{Enabled: true}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			x, _, _, disk := plain(t)
			x.attr(disk+"/queue/io_poll", tt.ioPoll)
			x.queues(disk, tt.mq...)
			x.attr("module/nvme/parameters/poll_queues", "2")
			tt.want.Parameter = 2
			require.Equal(t, tt.want, x.PollQueues(Pair{BlockDir: x.path(disk)}))
		})
	}
}

// TestB04PollQueuesWithMultipath: the head has no queues of its own; its paths
// have, and the poorest of them counts.
func TestB04PollQueuesWithMultipath(t *testing.T) {
	tests := []struct {
		name         string
		head, second string
		second2      []string
		want         PollQueues
	}{
		{"both poll", "1", "1", []string{"0", "1", "0, 1"}, PollQueues{Enabled: true, Queues: [][]int{{0, 1}}, Parameter: -1}},
		{"one path does not", "1", "0", []string{"0", "1"}, PollQueues{Parameter: -1}},
		{"the head does not", "0", "1", []string{"0", "1", "0, 1"}, PollQueues{Parameter: -1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			x, subsys, paths := multipath(t)
			x.attr(subsys+"/nvme0n1/queue/io_poll", tt.head)
			x.attr(paths[0]+"/queue/io_poll", "1")
			x.queues(paths[0], "0", "1", "0", "1")
			x.attr(paths[1]+"/queue/io_poll", tt.second)
			x.queues(paths[1], tt.second2...)
			// Another namespace of the same controllers does not count.
			foreign := x.disk("devices/pci0000:00/0000:00:01.0/nvme/nvme1", "nvme0c1n2", -1, "2")
			x.queues(foreign, "0")
			require.Equal(t, tt.want, x.PollQueues(Pair{BlockDir: x.path(subsys + "/nvme0n1")}))
		})
	}
}

func TestPollQueuesWithoutBlockNode(t *testing.T) {
	require.Equal(t, PollQueues{Parameter: -1}, newTree(t).PollQueues(Pair{}))
}

func TestForCPU(t *testing.T) {
	p := PollQueues{Queues: [][]int{{0, 2}, {1, 3}}}
	for cpu, want := range []int{0, 1, 0, 1, -1} {
		require.Equal(t, want, p.ForCPU(cpu))
	}
	require.Equal(t, -1, PollQueues{}.ForCPU(0))
}

func TestParseCPUList(t *testing.T) {
	for in, want := range map[string][]int{
		"": nil, "0": {0}, "0, 1": {0, 1}, "0-3,8": {0, 1, 2, 3, 8}, "8191": {8191}, " 3 ,": {3}, "2-2": {2},
	} {
		got, err := ParseCPUList(in)
		require.NoError(t, err)
		require.Equal(t, want, got, in)
	}
	for _, in := range []string{"x", "-1", "1-", "-", "3-1", "8192", "0-8192", "1-2-3", "99999999999999999999", "0x1", "1 2", strings.Repeat("0-8191,", 1000)} {
		_, err := ParseCPUList(in)
		require.ErrorContains(t, err, "read CPU list")
		require.Less(t, len(err.Error()), 400)
	}
}

func FuzzParseCPUList(f *testing.F) {
	for _, s := range []string{"0, 1", "0-3,8", "", "-1", "7-5", "0-8191,0", ",,", "1-2-3"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		cpus, err := ParseCPUList(s)
		if err != nil {
			require.Nil(t, cpus)
			return
		}
		require.LessOrEqual(t, len(cpus), maxCPU+1)
		text := make([]string, len(cpus))
		for i, c := range cpus {
			require.True(t, c >= 0 && c <= maxCPU)
			text[i] = strconv.Itoa(c)
		}
		again, err := ParseCPUList(strings.Join(text, ","))
		require.NoError(t, err)
		require.True(t, slices.Equal(cpus, again))
	})
}

// TestB28ThisMachine: the running kernel's tree can be walked, whatever is in
// it.
func TestB28ThisMachine(t *testing.T) {
	n, err := System.Identify(os.DevNull)
	require.NoError(t, err)
	require.Equal(t, Other, n.Kind)
	require.Contains(t, n.What, "null")
	for _, p := range System.Namespaces() {
		require.NotEmpty(t, p.Generic)
	}
}
