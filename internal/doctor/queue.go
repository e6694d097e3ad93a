package doctor

import (
	"fmt"
	"strings"
)

// queueFile is a setting of a disk's queue.
func queueFile(disk, name string) string { return "/sys/block/" + disk + "/queue/" + name }

// setting checks a setting of every disk of a namespace; differs lists the
// disks on which it is not good, with their values.
func (m *Machine) setting(s *subject, name string, good func(value string) bool) (disks, differs, values []string) {
	for _, disk := range s.disks(m) {
		value := m.read(queueFile(disk, name))
		if value == "" {
			continue
		}
		disks = append(disks, disk)
		if !good(value) {
			differs, values = append(differs, disk), append(values, chosen(value))
		}
	}
	return disks, differs, values
}

// turn is a finding that a setting should be other than it is.
func (m *Machine) turn(s *subject, id, name, want string, severity Severity, what func(value string) string, why string) []Finding {
	disks, differs, values := m.setting(s, name, func(v string) bool { return chosen(v) == want })
	switch {
	case len(disks) == 0:
		return nil
	case len(differs) == 0:
		return []Finding{fine(id, what(want), queueFile(disks[0], name))}
	}
	f := Finding{ID: id, Severity: severity, Found: what(values[0]), Source: queueFile(differs[0], name), Why: why}
	for i, disk := range differs {
		f.Fix = append(f.Fix, write(want, queueFile(disk, name)))
		f.Undo = append(f.Undo, write(values[i], queueFile(disk, name)))
	}
	return []Finding{f}
}

func (m *Machine) scheduler(s *subject) []Finding {
	return m.turn(s, "scheduler", "scheduler", "none", Warning, func(v string) string { return "I/O scheduler " + v },
		"the block path pays for it and passthrough does not, so that the comparison is unfair; it can also keep block I/O from being polled")
}

func (m *Machine) accounting(s *subject) []Finding {
	out := m.turn(s, "iostats", "iostats", "0", Note, func(v string) string { return "statistics per command are " + onOff(v) },
		"each block command is counted and timed, which costs some percent at high rates")
	return append(out, m.turn(s, "iostats-passthrough", "iostats_passthrough", "0", Note,
		func(v string) string { return "statistics per passthrough command are " + onOff(v) },
		"each passthrough command is counted and timed")...)
}

func onOff(v string) string {
	if v == "0" {
		return "off"
	}
	return "on"
}

func (m *Machine) merges(s *subject) []Finding {
	return m.turn(s, "nomerges", "nomerges", "2", Note,
		func(v string) string {
			return map[string]string{"0": "neighbouring requests are merged", "1": "simple merges only are tried", "2": "requests are not merged"}[v]
		},
		"in sequential runs the block layer makes fewer, larger commands of a batch, while passthrough sends each as it is; in random runs it looks in vain")
}

// commonDepth is the greatest depth of the table.
const commonDepth = 128

func (m *Machine) depth(s *subject) []Finding {
	const id = "queue-depth"
	disks, short, values := m.setting(s, "nr_requests", func(v string) bool { return number(v) >= commonDepth })
	switch {
	case len(disks) == 0:
		return nil
	case len(short) == 0:
		return []Finding{fine(id, fmt.Sprintf("a queue takes %s commands", m.read(queueFile(disks[0], "nr_requests"))), queueFile(disks[0], "nr_requests"))}
	}
	return []Finding{{
		ID: id, Severity: Note, Found: fmt.Sprintf("a queue takes %s commands", values[0]), Source: queueFile(short[0], "nr_requests"),
		Why:    "beyond that, submitting waits or is tried again and again: polled rings collapse above it",
		Advice: fmt.Sprintf("keep to queue depths up to %s", values[0]),
	}}
}

func (m *Machine) writeCache(s *subject) []Finding {
	const id, name = "write-cache", "write_cache"
	disks, cached, _ := m.setting(s, name, func(v string) bool { return !strings.Contains(v, "back") })
	switch {
	case len(disks) == 0:
		return nil
	case len(cached) == 0:
		return []Finding{fine(id, "none that loses data", queueFile(disks[0], name))}
	}
	f := Finding{
		ID: id, Severity: Note, Found: "the drive has a volatile write cache", Source: queueFile(cached[0], name),
		Why: "writes are done when they are in the cache: figures of short writing runs are the cache's, and data is safe only after a flush or with FUA",
	}
	if len(s.controllers) > 0 && s.controllers[0].Node != "" {
		f.Fix = []string{"sudo nvme set-feature " + s.controllers[0].Node + " --feature-id=6 --value=0    # off, for writing runs"}
		f.Undo = []string{"sudo nvme set-feature " + s.controllers[0].Node + " --feature-id=6 --value=1"}
	}
	return []Finding{f}
}
