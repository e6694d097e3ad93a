package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/doctor"
)

// diagnosis has findings of every severity, some the same on several devices.
func diagnosis() *doctor.Report {
	scheduler := func(n string) doctor.Finding {
		return doctor.Finding{
			ID: "scheduler", Severity: doctor.Warning, Device: "/dev/ng" + n, Found: "I/O scheduler mq-deadline", Source: "/sys/block/nvme" + n + "/queue/scheduler", Why: "the comparison is unfair",
			Fix: []string{"echo none | sudo tee /sys/block/nvme" + n + "/queue/scheduler"}, Undo: []string{"echo mq-deadline | sudo tee /sys/block/nvme" + n + "/queue/scheduler"},
		}
	}
	emulated := func(device string) doctor.Finding {
		return doctor.Finding{ID: "emulated-drive", Severity: doctor.Warning, Device: device, Found: `"QEMU NVMe Ctrl" is an emulated drive`, Source: "/sys/class/nvme/*/model", Why: "do not quote figures", Fix: []string{}, Undo: []string{}}
	}
	return &doctor.Report{
		Schema: doctor.Schema, Kernel: "6.12.117", Devices: []string{"/dev/ng0n1", "/dev/ng1n1"},
		Counts: doctor.Counts{Problems: 1, Warnings: 4, Notes: 1, OK: 2},
		Findings: []doctor.Finding{
			{
				ID: "poll-queues", Severity: doctor.Problem, Device: "/dev/ng0n1", Found: "none (nvme.poll_queues is 0)", Source: "/sys/module/nvme/parameters/poll_queues",
				Why:    "a polled run is not possible; some kernels would run it on interrupts and spin all the same, which looks like polling and is none",
				Advice: "connect anew, or",
				Fix:    []string{"echo 2 | sudo tee /sys/module/nvme/parameters/poll_queues", "sudo reboot"}, Undo: []string{"echo 0 | sudo tee /sys/module/nvme/parameters/poll_queues"},
			},
			scheduler("0n1"), emulated("/dev/ng0n1"), scheduler("1n1"), emulated("/dev/ng1n1"),
			{ID: "smt", Severity: doctor.Note, Found: "two or more CPUs share a core\x1b", Source: "/sys/devices/system/cpu/smt/active", Why: "threads slow each other down", Fix: []string{}, Undo: []string{}},
			{ID: "clocksource", Severity: doctor.OK, Found: "tsc", Source: "/sys/devices/system/clocksource/clocksource0/current_clocksource", Fix: []string{}, Undo: []string{}},
			{ID: "temperature", Severity: doctor.OK, Device: "/dev/ng0n1", Found: "37 C", Source: "the SMART log", Fix: []string{}, Undo: []string{}},
		},
	}
}

func TestDoctor(t *testing.T) {
	var quiet, all, doc bytes.Buffer
	r := diagnosis()
	require.NoError(t, Doctor(&quiet, r, false))
	requireGolden(t, "doctor.txt", quiet.String())
	requirePrintable(t, quiet.String())
	require.NoError(t, Doctor(&all, r, true))
	requireGolden(t, "doctor-verbose.txt", all.String())
	require.NoError(t, Document(&doc, r))
	requireGolden(t, "doctor.json", doc.String())
	for _, command := range r.Findings[0].Fix {
		require.Contains(t, quiet.String(), "\n      "+command+"\n", "commands can be copied as they are")
	}
	require.Equal(t, 1, strings.Count(quiet.String(), "emulated drive"), "told once for both")
	require.NotContains(t, quiet.String(), "clocksource")
	require.ErrorIs(t, Doctor(brokenWriter{}, r, false), errBroken)

	var well bytes.Buffer
	require.NoError(t, Doctor(&well, &doctor.Report{Kernel: "7.1", Possible: true}, false))
	require.Equal(t, "kernel 7.1; no namespace\n\nA polled passthrough run is possible. 0 problems, 0 warnings, 0 notes; 0 fine.\n", well.String())
}
