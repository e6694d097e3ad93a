package jobs

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/nvmepass/nvmepass/internal/badflag"
	"github.com/nvmepass/nvmepass/internal/sysfs"
)

// topology are the CPUs of each NUMA node, of those that this process may use.
type topology struct {
	allowed []int
	nodes   map[int][]int
}

// readTopology reads the nodes below a sysfs root.
func readTopology(root string, allowed []int) topology {
	t := topology{allowed: allowed, nodes: map[int][]int{}}
	dirs, _ := filepath.Glob(filepath.Join(root, "devices", "system", "node", "node[0-9]*"))
	for _, dir := range dirs {
		n, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(dir), "node"))
		if err != nil {
			continue
		}
		b, err := os.ReadFile(filepath.Join(dir, "cpulist"))
		if err != nil {
			continue
		}
		cpus, err := sysfs.ParseCPUList(strings.TrimSpace(string(b)))
		if err == nil && len(cpus) > 0 {
			t.nodes[n] = slices.DeleteFunc(cpus, func(c int) bool { return !slices.Contains(allowed, c) })
		}
	}
	return t
}

// place chooses the CPUs of a job, none for wherever the kernel likes: the
// asked ones in turn, else those of the node of the drives, if the machine has
// several nodes and the drives are on one.
func (t topology) place(asked []int, job int, driveNodes []int) (cpus []int, err error) {
	for _, c := range asked {
		if !slices.Contains(t.allowed, c) {
			return nil, &badflag.Error{Flag: "--cpu", Value: strconv.Itoa(c), Problem: fmt.Sprintf("this process may use %v", t.allowed), Remedy: "choose among them"}
		}
	}
	if len(asked) > 0 {
		return asked[job%len(asked) : job%len(asked)+1], nil
	}
	if node, ok := t.common(driveNodes); ok {
		return t.nodes[node], nil
	}
	return nil, nil
}

// common is the one node that all drives are on, if it matters and has a CPU.
func (t topology) common(driveNodes []int) (node int, ok bool) {
	if len(t.nodes) < 2 || len(driveNodes) == 0 || driveNodes[0] < 0 {
		return 0, false
	}
	for _, n := range driveNodes {
		if n != driveNodes[0] {
			return 0, false
		}
	}
	return driveNodes[0], len(t.nodes[driveNodes[0]]) > 0
}

// far says that a job's CPUs are not on a drive's node, "" if they are or it
// does not matter.
func (t topology) far(cpus []int, device string, node int) string {
	if len(t.nodes) < 2 || node < 0 {
		return ""
	}
	if len(cpus) == 0 {
		cpus = t.allowed
	}
	near := t.nodes[node]
	if slices.ContainsFunc(cpus, func(c int) bool { return slices.Contains(near, c) }) {
		return ""
	}
	return fmt.Sprintf("%s is on NUMA node %d, and CPU %s is not: every command crosses between nodes; use --cpu with one of that node", device, node, cpuText(cpus))
}

func cpuText(cpus []int) string {
	var parts []string
	for _, c := range cpus {
		parts = append(parts, strconv.Itoa(c))
	}
	return strings.Join(parts, ",")
}
