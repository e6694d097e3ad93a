package doctor

import "fmt"

// pollRace is fixed by completing polled passthrough commands through task work
// (9ce6c9875f3e), which costs time until 7.0 does so only where it must
// (f7bc22ca0d55).
var pollRace = fault{
	id: "kernel-poll-race", severity: Warning, from: [2]int{6, 1}, until: [2]int{6, 16},
	stable: map[[2]int]int{{6, 1}: 143, {6, 6}: 96, {6, 12}: 35, {6, 15}: 4},
	found:  "a ring that polls may complete a command of another ring that polls the same queue, without its lock",
	why:    "several polled jobs on one poll queue can corrupt each other's ring",
	advice: "boot a kernel with the fix: 6.1.143, 6.6.96, 6.12.35, 6.15.4, 6.16 or later; until then: one polled job for each poll queue, each on a CPU that the queue serves (--cpu)",
}

// faults of every machine with such a kernel.
var faults = []fault{
	pollRace,
	{
		id: "kernel-fixed-buffers", severity: Note, from: [2]int{6, 1}, until: [2]int{6, 12}, stable: map[[2]int]int{{6, 11}: 8},
		found:  "a passthrough command with a fixed buffer fails with EINVAL when it is smaller than the registered buffer",
		why:    "nvmepass registers one buffer for each slot instead, of exactly the size of the command; other programs fail with res -22, or report that polling is not supported",
		advice: "boot Linux 6.12 or later for one large registered buffer",
	},
	{
		id: "kernel-poll-exit", severity: Warning, from: [2]int{6, 1}, until: [2]int{6, 2},
		found:  "it crashed when a process ended with polled passthrough commands in flight (seen on 6.1.176 and 6.1.192, not on 6.12)",
		why:    "killing a polled run with SIGKILL, or a crash of it, can take the machine down; nvmepass waits for its commands before it ends",
		advice: "boot Linux 6.12 or later; until then: end polled runs with Ctrl-C or SIGTERM, never with SIGKILL",
	},
	{
		id: "kernel-poll-errors", severity: Warning, from: [2]int{6, 1}, until: [2]int{6, 2},
		found:  "it can crash when a polled passthrough command fails while others are in flight (seen on 6.1.176; the cause came with 6.1.143)",
		why:    "a bad block, a reset or a removal of the drive during a polled run can take the machine down",
		advice: "boot Linux 6.12 or later; until then: no polling on drives that may fail",
	},
	{
		id: "kernel-lost-errors", severity: Warning, from: [2]int{5, 19}, until: [2]int{6, 7}, stable: map[[2]int]int{{6, 1}: 63, {6, 5}: 12, {6, 6}: 2},
		found:  "a passthrough command that the driver failed before the drive saw it completes as a success",
		why:    "around a reset or a removal, commands count as done that never ran",
		advice: "boot a kernel with the fix: 6.1.63, 6.5.12, 6.6.2, 6.7 or later; until then: distrust figures and data of a run during which the controller was reset (see dmesg)",
	},
}

// slowPoll is no fault but what pollRace's fix costs.
const slowPoll = "polled passthrough commands complete through task work, about a tenth slower at high depth than from Linux 7.0 on"

func (m *Machine) kernel(v version) []Finding {
	out := []Finding{m.kernelVersion(v)}
	for i := range faults {
		if f, found := faults[i].finding(m.Release, v); found {
			out = append(out, f)
		}
	}
	if racy, _ := pollRace.affects(v); !racy && v.atLeast(6, 1) && !v.atLeast(7, 0) {
		out = append(out, Finding{
			ID: "kernel-poll-task-work", Severity: Note, Found: fmt.Sprintf("kernel %s: %s", m.Release, slowPoll), Source: "uname -r",
			Why: "passthru-poll figures are lower than on 7.0 and than on the first kernels with it", Advice: "boot Linux 7.0 or later",
		})
	}
	if v.major == 6 && v.minor == 2 && v.rc > 0 {
		out = append(out, Finding{
			ID: "kernel-sqpoll", Severity: Warning, Found: fmt.Sprintf("kernel %s: release candidates of 6.2 crashed on passthrough with a submission thread", m.Release), Source: "uname -r",
			Why: "--sqpoll can take the machine down", Advice: "boot a released kernel; until then: no --sqpoll",
		})
	}
	return out
}

func (m *Machine) kernelVersion(v version) Finding {
	const id, source = "kernel-version", "uname -r"
	switch {
	case !v.known():
		return Finding{ID: id, Severity: Note, Found: fmt.Sprintf("release %q could not be read", m.Release), Source: source, Why: "known faults of the kernel could not be looked up"}
	case v.atLeast(6, 1):
		return fine(id, m.Release, source)
	case v.atLeast(5, 19):
		return Finding{
			ID: id, Severity: Problem, Found: m.Release, Source: source,
			Why: "passthrough through io_uring is there from 5.19 on, polling it from 6.1 on", Advice: "boot Linux 6.1 or later",
		}
	}
	// Vendors port it back to kernels of older numbers; then the ring has the
	// large entries, and the trial decides.
	if p, err := m.Ring(); err == nil && p.Commands {
		return Finding{
			ID: id, Severity: Warning, Found: m.Release + ", with passthrough ported back", Source: source + ", io_uring_register",
			Why: "its faults are not those of any version that this program knows", Advice: "boot Linux 6.1 or later for figures that others can repeat",
		}
	}
	return Finding{
		ID: id, Severity: Problem, Found: m.Release, Source: source,
		Why: "passthrough through io_uring needs Linux 5.19, and polling it 6.1", Advice: "boot Linux 6.1 or later",
	}
}

// separateMetadata is a fault of the kernel with some layouts only; see
// docs/design.md.
var separateMetadata = fault{
	id: "kernel-separate-metadata", severity: Warning, from: [2]int{6, 12}, until: [2]int{6, 13},
	found:  "it crashes on passthrough commands with more than three pages of separate metadata, and corrupts memory of the process where the drive rejects protection information (seen on 6.12.117, not on 6.1 and 7.3)",
	why:    "nvmepass keeps commands to three pages of metadata, but data of the process can still be corrupted",
	advice: "boot Linux 6.1 or 7.x, or format the namespace with extended metadata or none, which destroys its data",
}

func (m *Machine) metadata(s *subject, v version) []Finding {
	if s.Format.Metadata != "separate" {
		return nil
	}
	if f, found := separateMetadata.finding(m.Release, v); found {
		return []Finding{f}
	}
	return nil
}
