package doctor

import (
	"fmt"
	"path"

	"github.com/nvmepass/nvmepass/internal/inventory"
	"github.com/nvmepass/nvmepass/internal/sysfs"
)

const pollParameter = "/sys/module/nvme/parameters/poll_queues"

func (m *Machine) pollQueues(s *subject) []Finding {
	const id = "poll-queues"
	if s.BlockDir == "" {
		return []Finding{{
			ID: id, Severity: Note, Found: "without a block node the kernel does not show whether there are poll queues", Source: "/sys/class/block",
			Why: "only a trial can tell whether the namespace can be polled",
		}}
	}
	q := m.Source.FS.PollQueues(sysfs.Pair{GenericDir: s.GenericDir, BlockDir: s.BlockDir})
	source := "/sys/block/" + path.Base(s.BlockDir) + "/queue/io_poll, mq/*/cpu_list"
	want := max(1, len(m.CPUs))
	if !q.Enabled {
		f := Finding{ID: id, Severity: Problem, Found: "none", Source: source + ", " + pollParameter, Why: "a polled run is not possible; some kernels would run it on interrupts and spin all the same"}
		if q.Parameter >= 0 {
			f.Found = fmt.Sprintf("none (nvme.poll_queues is %d)", q.Parameter)
		}
		if s.Transport != "" && s.Transport != "pcie" {
			f.Advice = fmt.Sprintf("connect anew, with --nr-poll-queues=%d beside the options of nvme connect that are in use", want)
			return []Finding{f}
		}
		f.Fix, f.Undo = m.morePollQueues(s, want)
		return []Finding{f}
	}
	if q.Queues == nil {
		return []Finding{fine(id, "there are some; this kernel does not show how many", source)}
	}
	found := fmt.Sprintf("%d for %d CPUs that this process may run on", len(q.Queues), len(m.CPUs))
	served := map[int]bool{}
	for _, cpu := range m.CPUs {
		served[q.ForCPU(cpu)] = true
	}
	if len(served) >= len(m.CPUs) {
		return []Finding{fine(id, found, source)}
	}
	f := Finding{
		ID: id, Severity: Note, Found: found, Source: source,
		Why: "polled jobs on CPUs that share a queue wait for each other; for one job one queue is enough (nvmepass info shows which CPUs share)",
	}
	f.Fix, f.Undo = m.morePollQueues(s, want)
	return []Finding{f}
}

// morePollQueues are the commands that give the drives of a namespace n poll
// queues: at once by taking the drive from the driver and giving it back, and
// for good at boot.
func (m *Machine) morePollQueues(s *subject, n int) (fix, undo []string) {
	value, old := fmt.Sprint(n), m.read(pollParameter)
	again := s.rebind()
	if m.busy(s.siblings) {
		again = nil
	}
	if old == value {
		return append(again, "# if that does not help, the drive grants no more queues"), nil
	}
	if old == "" {
		old = "0"
	}
	if len(again) > 0 {
		fix = append(append([]string{write(value, pollParameter)}, again...), "# that holds until the next boot, and the drive's nodes go and come back; for good:")
		undo = append(append([]string{write(old, pollParameter)}, again...), "# or, if it was set at boot:")
	}
	if m.exists("/sys/module/nvme/initstate") { // a module, not built in
		const file = "/etc/modprobe.d/nvme-poll.conf"
		fix = append(fix, fmt.Sprintf("echo 'options nvme poll_queues=%d' | sudo tee %s", n, file), m.initramfs(), "sudo reboot")
		undo = append(undo, "sudo rm "+file, m.initramfs(), "sudo reboot")
		return fix, undo
	}
	parameter := fmt.Sprintf("nvme.poll_queues=%d", n)
	return append(fix, m.bootParameter(parameter)...), append(undo, m.noBootParameter(parameter)...)
}

// rebind are the commands that take the drives from the driver and give them
// back, upon which it looks at its parameters.
func (s *subject) rebind() (commands []string) {
	for _, c := range s.controllers {
		if c.Transport == "pcie" && c.Address != "" {
			commands = append(commands, write(c.Address, "/sys/bus/pci/drivers/nvme/unbind"), write(c.Address, "/sys/bus/pci/drivers/nvme/bind"))
		}
	}
	return commands
}

// busy tells whether any of some namespaces is in use, beyond having partitions.
func (m *Machine) busy(namespaces []*inventory.Namespace) bool {
	for _, n := range namespaces {
		for _, u := range m.Source.FS.Uses(n.BlockDir, m.Root+"/proc") {
			if u.Kind != "partition" {
				return true
			}
		}
	}
	return false
}

// initramfs is the command that builds it anew, since it may hold the module's
// options.
func (m *Machine) initramfs() string {
	switch m.family() {
	case "debian":
		return "sudo update-initramfs -u"
	case "redhat":
		return "sudo dracut --force"
	}
	return "# build the initramfs anew if it holds the nvme module"
}
