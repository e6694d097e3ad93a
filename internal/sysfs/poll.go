package sysfs

import (
	"path/filepath"
	"slices"
	"strconv"
)

// PollQueues tells how a namespace can be polled.
type PollQueues struct {
	// Enabled is queue/io_poll of the block node: the driver polls.
	Enabled bool
	// Queues lists, for each poll queue, the CPUs that it serves. It is nil
	// where sysfs does not show hardware queues.
	Queues [][]int
	// Parameter is nvme.poll_queues of the loaded module, -1 if not known.
	Parameter int
}

// ForCPU is the index in Queues of the one that serves a CPU, -1 for none.
func (p PollQueues) ForCPU(cpu int) int {
	return slices.IndexFunc(p.Queues, func(cpus []int) bool { return slices.Contains(cpus, cpu) })
}

// PollQueues finds the poll queues of a namespace. With native multipath they
// are those of the path that has the fewest, because any path may be taken.
func (f FS) PollQueues(p Pair) PollQueues {
	out := PollQueues{Parameter: -1}
	if n, ok := number(filepath.Join(f.Root, "module", "nvme", "parameters"), "poll_queues"); ok {
		out.Parameter = int(n)
	}
	if p.BlockDir == "" {
		return out
	}
	out.Enabled = text(filepath.Join(p.BlockDir, "queue"), "io_poll") == "1"
	for i, dir := range p.hardwareDirs() {
		if text(filepath.Join(dir, "queue"), "io_poll") != "1" {
			out.Enabled, out.Queues = false, nil
			return out
		}
		if q := pollQueuesOf(filepath.Join(dir, "mq")); i == 0 || len(q) < len(out.Queues) {
			out.Queues = q
		}
	}
	if !out.Enabled {
		out.Queues = nil
	}
	return out
}

// pollQueuesOf finds the poll queues among a disk's hardware queues. blk-mq
// numbers them by type: default, read, poll; and the queues of one type share
// all CPUs between them without overlap. So each time a CPU comes up that was
// seen since the last type began, another type begins, and the last type is
// poll (on a disk whose queue/io_poll is 1).
func pollQueuesOf(mq string) [][]int {
	var types [][][]int
	seen := map[int]bool{}
	for _, name := range numeric(children(mq)) {
		cpus, err := ParseCPUList(text(filepath.Join(mq, name), "cpu_list"))
		if err != nil {
			return nil
		}
		if len(types) == 0 || slices.ContainsFunc(cpus, func(c int) bool { return seen[c] }) {
			types = append(types, nil)
			clear(seen)
		}
		for _, c := range cpus {
			seen[c] = true
		}
		last := len(types) - 1
		types[last] = append(types[last], cpus)
	}
	if len(types) < 2 {
		return nil
	}
	return types[len(types)-1]
}

func numeric(names []string) []string {
	return slices.DeleteFunc(names, func(n string) bool {
		_, err := strconv.Atoi(n)
		return err != nil
	})
}
