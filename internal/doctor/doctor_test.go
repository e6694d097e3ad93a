package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/fixedbuf"
	"github.com/nvmepass/nvmepass/internal/inventory"
	"github.com/nvmepass/nvmepass/internal/inventory/inventorytest"
	"github.com/nvmepass/nvmepass/internal/sysfs/sysfstest"
	"github.com/nvmepass/nvmepass/nvme"
	"github.com/nvmepass/nvmepass/passthru"
	"github.com/nvmepass/nvmepass/uringcmd"
)

// patient is a machine on which all is well: a drive with a poll queue for each
// of two CPUs.
type patient struct {
	*Machine
	*sysfstest.Tree
	controller, disk string
	nodes            map[string]inventorytest.Node
	log              *nvme.SMARTLog
	healthErr        error
	trial            Trial
	trialErr         error
	polled           []bool // what trials asked for
}

func newPatient(t *testing.T) *patient {
	x := sysfstest.New(t)
	p := &patient{Tree: x, log: &nvme.SMARTLog{Temperature: 310, AvailableSpare: 100, SpareThreshold: 10}}
	p.controller = x.Controller("S1")
	x.Subsystem("nvme-subsys0", p.controller)
	x.Generic(p.controller, "ng0n1")
	p.disk = x.Disk(p.controller, "nvme0n1", 1, 1<<20)
	x.Queues(p.disk, true, "0", "1", "0", "1")
	d := &inventorytest.Drive{Serial: "S1", Namespaces: map[uint32]inventorytest.Namespace{
		1: {Blocks: 1 << 20, Formats: []inventorytest.Format{{LBADS: 9}, {LBADS: 12, MS: 64}}},
	}}
	p.nodes = map[string]inventorytest.Node{"/dev/ng0n1": {Drive: d, NSID: 1}, "/dev/nvme0n1": {Drive: d, NSID: 1}, "/dev/nvme0": {Drive: d}}
	for path, value := range map[string]string{
		p.disk + "/queue/iostats": "0", p.disk + "/queue/nomerges": "2",
		"/sys/module/nvme/parameters/poll_queues": "2",
		cpuDir + "/online":                        "0-1",
		cpuDir + "/cpu0/cpufreq/scaling_governor": "performance", cpuDir + "/cpu1/cpufreq/scaling_governor": "performance",
		cpuDir + "/smt/active":                                               "0",
		cpuDir + "/vulnerabilities/meltdown":                                 "Not affected",
		"/sys/devices/system/clocksource/clocksource0/current_clocksource":   "tsc",
		"/sys/devices/system/clocksource/clocksource0/available_clocksource": "tsc hpet acpi_pm",
		"/sys/module/pcie_aspm/parameters/policy":                            "[default] performance powersave powersupersave",
		"/sys/devices/system/node/node0/cpulist":                             "0-1",
		"/sys/devices/system/node/node0/distance":                            "10 21",
		"/sys/devices/system/node/node1/cpulist":                             "2-3",
		"/sys/devices/system/node/node1/distance":                            "21 10",
		"/proc/loadavg":                                       "0.10 0.20 0.30 1/100 1234",
		"/proc/cpuinfo":                                       "processor\t: 0\nflags\t\t: fpu vme",
		"/proc/self/cgroup":                                   "0::/user.slice/x",
		"/sys/fs/cgroup/user.slice/x/cpu.max":                 "max 100000",
		"/proc/self/mountinfo":                                "22 1 8:1 / / rw - ext4 /dev/sda1 rw",
		"/proc/swaps":                                         "Filename Type Size Used Priority",
		"/etc/os-release":                                     "ID=debian",
		"/boot/config-7.1.2":                                  "CONFIG_KASAN=n\n# CONFIG_PROVE_LOCKING is not set",
		p.controller + "/device/current_link_speed":           "16.0 GT/s PCIe",
		p.controller + "/device/max_link_speed":               "16.0 GT/s PCIe",
		p.controller + "/device/current_link_width":           "4",
		p.controller + "/device/max_link_width":               "4",
		p.controller + "/numa_node":                           "0",
		"/sys/devices/system/cpu/cpu0/cpuidle/state0/latency": "1",
		"/sys/devices/system/cpu/intel_pstate/no_turbo":       "1",
	} {
		x.Write(path, value)
	}
	p.Machine = &Machine{
		Root: x.Root, Source: inventorytest.Source(x, p.nodes), Release: "7.1.2", Arch: "amd64", SysAdmin: true, IPCLock: true, Memlock: 8 << 20,
		CPUs: []int{0, 1},
		Ring: func() (Rings, error) { return Rings{Flags: uringcmd.SQE128 | uringcmd.CQE32, Commands: true}, nil },
		Health: func(_ context.Context, path string) (inventory.Health, error) {
			h := inventory.Health{Path: path}
			if p.healthErr != nil {
				return h, p.healthErr
			}
			h.Fill(&nvme.IdentifyController{WCTEMP: 343, CCTEMP: 353}, p.log)
			return h, nil
		},
		Try: func(_ string, poll bool) (Trial, error) {
			p.polled = append(p.polled, poll)
			return p.trial, p.trialErr
		},
	}
	p.trial.Settings = passthru.Settings{Polled: true, FixedBuffers: fixedbuf.Whole, Flags: uringcmd.IOPoll | uringcmd.SQE128}
	return p
}

func (p *patient) examine(t *testing.T, paths ...string) *Report {
	t.Helper()
	r, err := p.Run(t.Context(), paths)
	require.NoError(t, err)
	counted := r.Counts.Problems + r.Counts.Warnings + r.Counts.Notes + r.Counts.OK
	require.Len(t, r.Findings, counted)
	for _, f := range r.Findings {
		require.NotEmpty(t, f.ID)
		require.NotEmpty(t, f.Found, f.ID)
		require.NotEmpty(t, f.Source, f.ID)
		require.NotContains(t, fmt.Sprint(f), p.Tree.Root, "paths are those of the machine")
		if f.Severity != OK {
			require.NotEmpty(t, f.Why, f.ID)
		}
		for _, command := range append(f.Fix, f.Undo...) {
			require.Regexp(t, `^(#|sudo|echo|nvmepass|taskset|grep|top|lsblk) `, command, "%s: what is no command is advice, or a comment", f.ID)
		}
		for i, command := range f.Undo {
			require.NotEmpty(t, f.Fix, f.ID)
			require.NotEqual(t, f.Fix[0], f.Undo[0], "%s %d %s", f.ID, i, command)
		}
	}
	return r
}

func one(t *testing.T, r *Report, id string) Finding {
	t.Helper()
	var found []Finding
	for _, f := range r.Findings {
		if f.ID == id {
			found = append(found, f)
		}
	}
	require.Len(t, found, 1, id)
	return found[0]
}

// TestHealthy: where nothing is wrong, nothing is found, and all checks ran.
func TestHealthy(t *testing.T) {
	p := newPatient(t)
	r := p.examine(t)
	var bad []Finding
	ids := map[string]bool{}
	for _, f := range r.Findings {
		require.False(t, ids[f.ID], f.ID)
		ids[f.ID] = true
		if f.Severity != OK {
			bad = append(bad, f)
		}
	}
	require.Empty(t, bad)
	require.True(t, r.Possible)
	require.Equal(t, []string{"/dev/ng0n1"}, r.Devices)
	require.Equal(t, []bool{true}, p.polled)
	for _, id := range []string{
		"kernel-version", "io-uring", "memlock", "cpus", "cpu-governor", "cpu-boost", "cpu-idle", "smt", "mitigations", "cpu-quota", "load", "clocksource",
		"kernel-debug", "virtual-machine", "node", "rights", "controller-state", "poll-queues", "scheduler", "iostats", "nomerges", "queue-depth", "write-cache",
		"in-use", "emulated-drive", "pcie-link", "pcie-aspm", "iommu", "numa", "critical-warning", "temperature", "throttling", "trial",
	} {
		require.True(t, ids[id], id)
	}
}

// TestFindings: each thing that can be wrong is found alone, as what it is, with
// the commands that change it.
func TestFindings(t *testing.T) {
	type change func(p *patient)
	write := func(path, value string) change { return func(p *patient) { p.Write(path, value) } }
	queue := func(name, value string) change { return func(p *patient) { p.Write(p.disk+"/queue/"+name, value) } }
	ctrl := func(name, value string) change { return func(p *patient) { p.Write(p.controller+"/"+name, value) } }
	for _, tt := range []struct {
		name     string
		change   change
		id       string
		severity Severity
		found    string
		fix      string // one of the commands, "" for none
		undo     string
	}{
		{"memlock small", func(p *patient) { p.IPCLock, p.Memlock = false, 64<<10 }, "memlock", Warning, "64 KiB", "sudo prlimit --memlock=unlimited --pid $$", "sudo prlimit --memlock=65536 --pid $$"},
		{"memlock usual", func(p *patient) { p.IPCLock = false }, "memlock", Note, "8192 KiB", "sudo prlimit --memlock=unlimited --pid $$", "sudo prlimit --memlock=8388608 --pid $$"},
		{"one CPU", func(p *patient) { p.CPUs = []int{1} }, "cpus", Warning, "CPU 1 alone, of 2", "taskset -pc 0-1 $$", "taskset -pc 1 $$"},
		{"no CPUs known", func(p *patient) { p.CPUs = nil }, "cpus", Note, "could not be counted", "", ""},
		{"governor", write(cpuDir+"/cpu1/cpufreq/scaling_governor", "powersave"), "cpu-governor", Warning, "performance on 1 CPUs, powersave on 1 CPUs",
			"echo performance | sudo tee " + cpuDir + "/cpu*/cpufreq/scaling_governor", "echo powersave | sudo tee " + cpuDir + "/cpu1/cpufreq/scaling_governor"},
		{"turbo", write(cpuDir+"/intel_pstate/no_turbo", "0"), "cpu-boost", Note, "above its nominal", "echo 1 | sudo tee " + cpuDir + "/intel_pstate/no_turbo", "echo 0 | sudo tee " + cpuDir + "/intel_pstate/no_turbo"},
		{"sleep", func(p *patient) {
			p.Write(cpuDir+"/cpu0/cpuidle/state1/latency", "133")
			p.Write(cpuDir+"/cpu0/cpuidle/state1/name", "C6")
		}, "cpu-idle", Note, "C6, which take up to 133 us", "echo 1 | sudo tee " + cpuDir + "/cpu*/cpuidle/state1/disable", "echo 0 | sudo tee " + cpuDir + "/cpu*/cpuidle/state1/disable"},
		{"smt", func(p *patient) { p.Write(cpuDir+"/smt/active", "1"); p.Write(cpuDir+"/smt/control", "on") }, "smt", Note, "share a core",
			"echo off | sudo tee " + cpuDir + "/smt/control", "echo on | sudo tee " + cpuDir + "/smt/control"},
		{"mitigations", write(cpuDir+"/vulnerabilities/spectre_v2", "Mitigation: IBRS"), "mitigations", Note, "1 are on: spectre_v2", "sudo update-grub", "sudo rm /etc/default/grub.d/nvmepass-mitigations.cfg"},
		{"quota", write("/sys/fs/cgroup/user.slice/cpu.max", "150000 100000"), "cpu-quota", Warning, "1.50 CPUs", "echo 'max 100000' | sudo tee /sys/fs/cgroup/user.slice/cpu.max", "echo '150000 100000' | sudo tee /sys/fs/cgroup/user.slice/cpu.max"},
		{"some load", write("/proc/loadavg", "1.20 1 1 1/1 1"), "load", Note, "1.20 threads", "top -b -n 1 | head -20", ""},
		{"full load", write("/proc/loadavg", "2.20 1 1 1/1 1"), "load", Warning, "2.20 threads", "top -b -n 1 | head -20", ""},
		{"hpet", write("/sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet"), "clocksource", Warning, "hpet",
			"echo tsc | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource", "echo hpet | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource"},
		{"kvm-clock", write("/sys/devices/system/clocksource/clocksource0/current_clocksource", "kvm-clock"), "clocksource", Note, "kvm-clock",
			"echo tsc | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource", "echo kvm-clock | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource"},
		{"debug kernel", write("/boot/config-7.1.2", "CONFIG_SMP=y\nCONFIG_PROVE_LOCKING=y"), "kernel-debug", Warning, "CONFIG_PROVE_LOCKING", "boot a kernel without debugging options", ""},
		{"guest", write("/proc/cpuinfo", "flags\t\t: fpu hypervisor lahf_lm"), "virtual-machine", Note, "a virtual machine", "grep '^cpu ' /proc/stat    # the eighth number is time stolen by other guests", ""},
		{"lab", func(p *patient) { p.Lab = true }, "virtual-machine", Note, "the lab", "", ""},
		{"dead controller", ctrl("state", "resetting"), "controller-state", Problem, "nvme0 is resetting", "sudo dmesg | grep -i nvme", ""},
		{"scheduler", queue("scheduler", "none [mq-deadline] kyber"), "scheduler", Warning, "I/O scheduler mq-deadline", "echo none | sudo tee /sys/block/nvme0n1/queue/scheduler", "echo mq-deadline | sudo tee /sys/block/nvme0n1/queue/scheduler"},
		{"iostats", queue("iostats", "1"), "iostats", Note, "are on", "echo 0 | sudo tee /sys/block/nvme0n1/queue/iostats", "echo 1 | sudo tee /sys/block/nvme0n1/queue/iostats"},
		{"iostats passthrough", queue("iostats_passthrough", "1"), "iostats-passthrough", Note, "are on", "echo 0 | sudo tee /sys/block/nvme0n1/queue/iostats_passthrough", "echo 1 | sudo tee /sys/block/nvme0n1/queue/iostats_passthrough"},
		{"merges", queue("nomerges", "1"), "nomerges", Note, "simple merges", "echo 2 | sudo tee /sys/block/nvme0n1/queue/nomerges", "echo 1 | sudo tee /sys/block/nvme0n1/queue/nomerges"},
		{"shallow", queue("nr_requests", "63"), "queue-depth", Note, "63 commands", "keep to queue depths up to 63", ""},
		{"write cache", queue("write_cache", "write back"), "write-cache", Note, "volatile", "sudo nvme set-feature /dev/nvme0 --feature-id=6 --value=0    # off, for writing runs", "sudo nvme set-feature /dev/nvme0 --feature-id=6 --value=1"},
		{"mounted", func(p *patient) {
			p.Partition(p.disk, "nvme0n1p1")
			p.Write("/proc/self/mountinfo", `36 25 259:1 / /mnt/a\040b rw - ext4 /dev/nvme0n1p1 rw`)
		}, "in-use", Warning, "nvme0n1p1 is mounted on /mnt/a b", "sudo umount '/mnt/a b'", "sudo mount /dev/nvme0n1p1 '/mnt/a b'"},
		{"swap", write("/proc/swaps", "Filename Type\n/dev/nvme0n1 partition 1 0 -2"), "in-use", Warning, "nvme0n1 is swap", "sudo swapoff /dev/nvme0n1", "sudo swapon /dev/nvme0n1"},
		{"holder", func(p *patient) {
			p.Write("/sys/devices/virtual/block/dm-0/dm/name", "vg-data")
			p.Link("/sys/class/block/dm-0", "/sys/devices/virtual/block/dm-0")
			p.Link(p.disk+"/holders/dm-0", "/sys/devices/virtual/block/dm-0")
		}, "in-use", Warning, "nvme0n1 is held by dm-0 (vg-data)", "lsblk /dev/nvme0n1", ""},
		{"mounted volume", func(p *patient) {
			p.Write("/sys/devices/virtual/block/dm-0/dev", "253:0")
			p.Link("/sys/class/block/dm-0", "/sys/devices/virtual/block/dm-0")
			p.Link(p.disk+"/holders/dm-0", "/sys/devices/virtual/block/dm-0")
			p.Write("/proc/self/mountinfo", `36 25 253:0 / /srv rw - xfs /dev/mapper/vg-data rw`)
		}, "in-use", Warning, "dm-0 is mounted on /srv", "sudo umount /srv", "sudo mount /dev/dm-0 /srv"},
		{"partition", func(p *patient) { p.Partition(p.disk, "nvme0n1p1") }, "in-use", Note, "nvme0n1 has partition nvme0n1p1", "", ""},
		{"emulated", ctrl("model", "QEMU NVMe Ctrl"), "emulated-drive", Warning, "an emulated drive", "", ""},
		{"slow link", ctrl("device/current_link_speed", "8.0 GT/s PCIe"), "pcie-link", Warning, "8 GT/s, 4 lanes; the drive can do 16 GT/s, 4 lanes", "sudo lspci -s 0000:00:01.0 -vv | grep -e LnkCap: -e LnkSta:", ""},
		{"narrow link", ctrl("device/current_link_width", "2"), "pcie-link", Warning, "16 GT/s, 2 lanes", "sudo lspci -s 0000:00:01.0 -vv | grep -e LnkCap: -e LnkSta:", ""},
		{"slow slot", func(p *patient) {
			p.Write(p.controller+"/device/current_link_speed", "8.0 GT/s PCIe")
			p.Write("/sys/devices/pci0000:00/max_link_speed", "8.0 GT/s PCIe")
			p.Write("/sys/devices/pci0000:00/max_link_width", "4")
		}, "pcie-link", Warning, "the port above it does 8 GT/s", "move the drive to a faster slot", ""},
		{"aspm", write("/sys/module/pcie_aspm/parameters/policy", "default performance [powersave] powersupersave"), "pcie-aspm", Warning, "powersave",
			"echo performance | sudo tee /sys/module/pcie_aspm/parameters/policy", "echo powersave | sudo tee /sys/module/pcie_aspm/parameters/policy"},
		{"iommu lazy", ctrl("device/iommu_group/type", "DMA-FQ"), "iommu", Note, "DMA-FQ", "sudo update-grub", "sudo rm /etc/default/grub.d/nvmepass-iommu-passthrough.cfg"},
		{"iommu strict", ctrl("device/iommu_group/type", "DMA"), "iommu", Warning, "for each command", "sudo update-grub", "sudo rm /etc/default/grub.d/nvmepass-iommu-passthrough.cfg"},
		{"far away", ctrl("numa_node", "1"), "numa", Warning, "2 of 2 CPUs that this process may run on are elsewhere", "run under numactl --cpunodebind=1 --membind=1, or give --cpu 2", ""},
		{"partly far", write("/sys/devices/system/node/node0/cpulist", "0"), "numa", Note, "1 of 2 CPUs", "run under numactl --cpunodebind=0 --membind=0, or give --cpu 0", ""},
		{"apst", ctrl("power/pm_qos_latency_tolerance_us", "100000"), "power-states", Note, "100000 us", "echo 0 | sudo tee /sys/class/nvme/nvme0/power/pm_qos_latency_tolerance_us", "echo 100000 | sudo tee /sys/class/nvme/nvme0/power/pm_qos_latency_tolerance_us"},
		{"critical", func(p *patient) { p.log.CriticalWarning = nvme.WarnReadOnly }, "critical-warning", Warning, "media is read only", "sudo nvmepass smart /dev/nvme0", ""},
		{"warm", func(p *patient) { p.log.Temperature = 338 }, "temperature", Note, "65 C, warning at 70 C", "let the drive cool down, or give it air", ""},
		{"hot", func(p *patient) { p.log.Temperature = 343 }, "temperature", Warning, "70 C, warning at 70 C", "let the drive cool down, or give it air", ""},
		{"throttled", func(p *patient) { p.log.ThermalTime = [2]uint32{10, 2} }, "throttling", Note, "throttled for 12 s (heavily for 2 s)", "sudo nvmepass smart /dev/nvme0    # before and after a run", ""},
		{"trial fails", func(p *patient) { p.trialErr = syscall.EINVAL }, "trial", Problem, "polled failed: invalid argument", "sudo dmesg | tail", ""},
		{"plain buffers", func(p *patient) { p.trial.Settings.FixedReason = "RLIMIT_MEMLOCK is 0" }, "trial", Note, "RLIMIT_MEMLOCK is 0", "", ""},
		{"fewer poll queues", func(p *patient) {
			p.Remove(p.disk + "/mq")
			p.Queues(p.disk, true, "0", "1", "0-1")
			p.Write(pollParameter, "1")
		}, "poll-queues", Note, "1 for 2 CPUs", "echo 2 | sudo tee /sys/module/nvme/parameters/poll_queues", "echo 1 | sudo tee /sys/module/nvme/parameters/poll_queues"},
		{"no capacity", func(p *patient) { p.Write(p.disk+"/size", "0") }, "block-node", Note, "no capacity", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPatient(t)
			tt.change(p)
			r := p.examine(t, "/dev/nvme0n1")
			f := one(t, r, tt.id)
			require.Equal(t, tt.severity, f.Severity)
			require.Contains(t, f.Found, tt.found)
			if tt.fix == "" {
				require.Empty(t, f.Fix)
				require.Empty(t, f.Advice)
			} else {
				require.Contains(t, append(f.Fix, f.Advice), tt.fix)
			}
			if tt.undo == "" {
				require.Empty(t, f.Undo)
			} else {
				require.Contains(t, f.Undo, tt.undo)
			}
			for _, other := range r.Findings {
				require.True(t, other.ID == tt.id || other.Severity == OK || tt.name == "one CPU" || tt.name == "no CPUs known", "%+v", other)
			}
			require.Equal(t, tt.severity != Problem, r.Possible)
			require.Equal(t, f.ID, r.Findings[0].ID, "the worst comes first")
		})
	}
}

// TestNoPollQueues: the problem comes with all the ways out, and the trial goes
// by interrupt.
func TestNoPollQueues(t *testing.T) {
	p := newPatient(t)
	p.Write(p.disk+"/queue/io_poll", "0")
	p.Write("/sys/module/nvme/parameters/poll_queues", "0")
	r := p.examine(t)
	f := one(t, r, "poll-queues")
	require.Equal(t, Problem, f.Severity)
	require.Equal(t, "none (nvme.poll_queues is 0)", f.Found)
	require.Equal(t, []string{
		"echo 2 | sudo tee /sys/module/nvme/parameters/poll_queues",
		"echo 0000:00:01.0 | sudo tee /sys/bus/pci/drivers/nvme/unbind",
		"echo 0000:00:01.0 | sudo tee /sys/bus/pci/drivers/nvme/bind",
		"# that holds until the next boot, and the drive's nodes go and come back; for good:",
		`echo 'GRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX nvme.poll_queues=2"' | sudo tee /etc/default/grub.d/nvmepass-nvme-poll-queues.cfg`,
		"sudo update-grub", "sudo reboot",
	}, f.Fix)
	require.Equal(t, "echo 0 | sudo tee /sys/module/nvme/parameters/poll_queues", f.Undo[0])
	require.Equal(t, []bool{false}, p.polled)
	require.False(t, r.Possible)

	// Where the driver is a module, its options file does; and a drive in use
	// is not taken away.
	p.Write("/sys/module/nvme/initstate", "live")
	p.Write("/proc/self/mountinfo", "36 25 259:0 / / rw - ext4 /dev/nvme0n1 rw")
	f = one(t, p.examine(t), "poll-queues")
	require.Equal(t, []string{"echo 'options nvme poll_queues=2' | sudo tee /etc/modprobe.d/nvme-poll.conf", "sudo update-initramfs -u", "sudo reboot"}, f.Fix)
	require.Equal(t, []string{"sudo rm /etc/modprobe.d/nvme-poll.conf", "sudo update-initramfs -u", "sudo reboot"}, f.Undo)

	p.Write("/etc/os-release", `ID_LIKE="rhel fedora"`)
	p.Remove("/sys/module/nvme/initstate")
	f = one(t, p.examine(t), "poll-queues")
	require.Equal(t, "sudo grubby --update-kernel=ALL --args=nvme.poll_queues=2", f.Fix[0])

	// The parameter is set, but after the driver took the drive.
	p.Write("/sys/module/nvme/parameters/poll_queues", "2")
	p.Write("/proc/self/mountinfo", "")
	f = one(t, p.examine(t), "poll-queues")
	require.Equal(t, []string{
		"echo 0000:00:01.0 | sudo tee /sys/bus/pci/drivers/nvme/unbind",
		"echo 0000:00:01.0 | sudo tee /sys/bus/pci/drivers/nvme/bind",
		"# if that does not help, the drive grants no more queues",
	}, f.Fix)
	require.Empty(t, f.Undo)

	p.Write(p.controller+"/transport", "tcp")
	f = one(t, p.examine(t), "poll-queues")
	require.Contains(t, f.Advice, "--nr-poll-queues=2")
}

// TestSiblingInUse: a drive is not taken from the driver while another of its
// namespaces is in use.
func TestSiblingInUse(t *testing.T) {
	p := newPatient(t)
	p.Write(p.disk+"/queue/io_poll", "0")
	p.Generic(p.controller, "ng0n2")
	p.Disk(p.controller, "nvme0n2", 2, 1<<20)
	p.Write("/proc/self/mountinfo", "36 25 259:1 / /srv rw - ext4 /dev/nvme0n2 rw")
	f := one(t, p.examine(t, "/dev/ng0n1"), "poll-queues")
	require.NotContains(t, strings.Join(f.Fix, "\n"), "unbind")
}

func TestRights(t *testing.T) {
	p := newPatient(t)
	p.SysAdmin = false
	p.healthErr = errors.New("read SMART log: permission denied")
	p.Write(p.controller+"/hwmon1/temp1_input", "45850")
	p.Write(p.controller+"/hwmon1/temp1_max", "50000")
	r := p.examine(t)
	require.True(t, r.Possible)
	require.Equal(t, Note, one(t, r, "rights").Severity)
	require.Equal(t, Note, one(t, r, "health").Severity)
	f := one(t, r, "temperature")
	require.Equal(t, Note, f.Severity)
	require.Equal(t, "45 C, warning at 50 C", f.Found)
	require.Contains(t, f.Source, "hwmon1/temp1_input")

	p.Release = "6.1.170"
	f = one(t, p.examine(t), "rights")
	require.Equal(t, Problem, f.Severity)
	require.Contains(t, f.Why, "before Linux 6.2")

	p.Release = "7.1.2"
	delete(p.nodes, "/dev/ng0n1")
	delete(p.nodes, "/dev/nvme0n1")
	p.polled = nil
	r = p.examine(t)
	require.False(t, r.Possible)
	f = one(t, r, "rights")
	require.Equal(t, Problem, f.Severity)
	require.Contains(t, f.Found, "permission denied")
	require.Contains(t, f.Fix, `echo 'SUBSYSTEM=="nvme-generic", GROUP="disk", MODE="0660"' | sudo tee /etc/udev/rules.d/60-nvme-generic.rules`)
	require.Equal(t, Warning, one(t, r, "block-rights").Severity)
	require.Empty(t, p.polled, "no trial")
}

// TestRing: why there is no io_uring, in the order of likelihood.
func TestRing(t *testing.T) {
	p := newPatient(t)
	p.Ring = func() (Rings, error) {
		return Rings{}, fmt.Errorf("%w: operation not permitted", uringcmd.ErrDisabled)
	}
	p.Write("/proc/self/status", "Name:\tx\nSeccomp:\t2")
	f := one(t, p.examine(t), "io-uring")
	require.Equal(t, Problem, f.Severity)
	require.Contains(t, f.Found, "seccomp filter is on")
	require.Empty(t, p.polled, "no trial")
	for value, who := range map[string]string{"1": "group", "2": "nobody"} {
		p.Write(disabledPath, value)
		f = one(t, p.examine(t), "io-uring")
		require.Contains(t, f.Found, "kernel.io_uring_disabled is "+value)
		require.Contains(t, f.Found, who)
		require.Equal(t, []string{"sudo sysctl kernel.io_uring_disabled=0"}, f.Fix)
		require.Equal(t, []string{"sudo sysctl kernel.io_uring_disabled=" + value}, f.Undo)
	}
	p.Write(disabledPath, "0")
	p.Write("/proc/self/status", "Seccomp:\t0")
	p.Ring = func() (Rings, error) { return Rings{}, uringcmd.ErrNotSupported }
	require.Equal(t, "boot Linux 6.1 or later", one(t, p.examine(t), "io-uring").Advice)
	p.Ring = func() (Rings, error) { return Rings{}, nil }
	require.Contains(t, one(t, p.examine(t), "io-uring").Found, "without entries for NVMe commands")
}

func TestVersion(t *testing.T) {
	for release, want := range map[string]version{
		"6.12.117+deb13-cloud-amd64": {6, 12, 117, 0},
		"6.1.0-28-amd64":             {6, 1, -1, 0},
		"6.8.0-45-generic":           {6, 8, -1, 0},
		"5.14.0-427.el9.x86_64":      {5, 14, -1, 0},
		"6.11.4-301.fc41.x86_64":     {6, 11, 4, 0},
		"6.2.0-rc3":                  {6, 2, 0, 3},
		"6.2-rc3":                    {6, 2, 0, 3},
		"7.0.0":                      {7, 0, 0, 0},
		"7.0":                        {7, 0, 0, 0},
		"99999999999999999999.1":     {0, 1, 0, 0},
		"weird":                      {},
		"":                           {},
	} {
		require.Equal(t, want, parseVersion(release), release)
	}
	p := newPatient(t)
	p.Release = "6.1.0-28-amd64"
	p.Write("/proc/version", "Linux version 6.1.0-28-amd64 (x@y) (gcc) #1 SMP PREEMPT_DYNAMIC Debian 6.1.119-1 (2024-11-22)")
	require.Equal(t, version{6, 1, 119, 0}, p.version())
	p.Release = "6.8.0-45-generic"
	require.Equal(t, version{6, 8, -1, 0}, p.version())
	p.Write("/proc/version_signature", "Ubuntu 6.8.0-45.45-generic 6.8.12")
	require.Equal(t, version{6, 8, 12, 0}, p.version())
}

// TestFaults: which kernels have which fault.
func TestFaults(t *testing.T) {
	for _, tt := range []struct {
		release string
		ids     []string // of what is not ok
	}{
		{"5.15.100", []string{"kernel-version"}},
		{"5.19.17", []string{"kernel-version", "kernel-lost-errors"}},
		{"6.1.50", []string{"kernel-poll-race", "kernel-fixed-buffers", "kernel-poll-exit", "kernel-poll-errors", "kernel-lost-errors"}},
		{"6.1.142", []string{"kernel-poll-race", "kernel-fixed-buffers", "kernel-poll-exit", "kernel-poll-errors"}},
		{"6.1.143", []string{"kernel-fixed-buffers", "kernel-poll-exit", "kernel-poll-errors", "kernel-poll-task-work"}},
		{"6.1.0-28-amd64", []string{"kernel-poll-race", "kernel-fixed-buffers", "kernel-poll-exit", "kernel-poll-errors", "kernel-lost-errors"}},
		{"6.2.0-rc3", []string{"kernel-poll-race", "kernel-fixed-buffers", "kernel-lost-errors", "kernel-sqpoll"}},
		{"6.5.12", []string{"kernel-poll-race", "kernel-fixed-buffers"}},
		{"6.6.1", []string{"kernel-poll-race", "kernel-fixed-buffers", "kernel-lost-errors"}},
		{"6.8.0-45-generic", []string{"kernel-poll-race", "kernel-fixed-buffers"}},
		{"6.11.7", []string{"kernel-poll-race", "kernel-fixed-buffers"}},
		{"6.11.8", []string{"kernel-poll-race"}},
		{"6.12.34", []string{"kernel-poll-race"}},
		{"6.12.117+deb13-cloud-amd64", []string{"kernel-poll-task-work"}},
		{"6.15.3", []string{"kernel-poll-race"}},
		{"6.15.4", []string{"kernel-poll-task-work"}},
		{"6.18.0", []string{"kernel-poll-task-work"}},
		{"7.0.0", nil},
		{"7.3.4", nil},
		{"none", []string{"kernel-version"}},
	} {
		p := newPatient(t)
		p.Release = tt.release
		p.Ring = func() (Rings, error) { return Rings{}, uringcmd.ErrNotSupported }
		var ids []string
		for _, f := range p.kernel(p.version()) {
			if f.Severity != OK {
				ids = append(ids, f.ID)
			}
		}
		require.Equal(t, tt.ids, ids, tt.release)
	}
	// A release that does not tell its patch level is told of as such.
	yes, unsure := pollRace.affects(version{6, 1, -1, 0})
	require.True(t, yes && unsure)
	f, found := pollRace.finding("6.1.0-28-amd64", version{6, 1, -1, 0})
	require.True(t, found)
	require.Equal(t, Note, f.Severity)
	require.Contains(t, f.Found, "fixed in 6.1.143")
}

// TestSeparateMetadata: 6.12 is dangerous with one layout only.
func TestSeparateMetadata(t *testing.T) {
	p := newPatient(t)
	for _, tt := range []struct {
		release string
		flbas   uint8
		found   bool
	}{{"6.12.117", 1, true}, {"6.12.117", 0x11, false}, {"6.12.117", 0, false}, {"7.1.2", 1, false}} {
		p.Release = tt.release
		d := p.nodes["/dev/ng0n1"].Drive
		ns := d.Namespaces[1]
		ns.FLBAS = tt.flbas
		d.Namespaces[1] = ns
		r := p.examine(t)
		found := false
		for _, f := range r.Findings {
			found = found || f.ID == "kernel-separate-metadata"
		}
		require.Equal(t, tt.found, found, "%+v", tt)
	}
}

// TestMultipath: the queues looked at are the paths', and findings name the
// controller.
func TestMultipath(t *testing.T) {
	p := newPatient(t)
	a, b := p.Controller("S2"), p.Controller("S2")
	s := p.Subsystem("nvme-subsys1", a, b)
	p.Generic(s, "ng1n1")
	p.Disk(s, "nvme1n1", 1, 1<<20)
	p.Write(p.HiddenDisk(a, "nvme1c1n1", 1, 1<<20)+"/queue/iostats", "0")
	p.Write(p.HiddenDisk(b, "nvme1c2n1", 1, 1<<20)+"/queue/scheduler", "none [kyber]")
	p.Write(b+"/state", "connecting")
	p.nodes["/dev/ng1n1"] = inventorytest.Node{Drive: p.nodes["/dev/nvme0"].Drive, NSID: 1}
	r := p.examine(t, "/dev/ng1n1")
	require.Equal(t, []string{"echo none | sudo tee /sys/block/nvme1c2n1/queue/scheduler"}, one(t, r, "scheduler").Fix)
	f := one(t, r, "controller-state")
	require.Equal(t, Warning, f.Severity)
	require.Equal(t, "nvme2 is connecting", f.Found)
	warnings := 0
	for _, f := range r.Findings {
		require.NotEqual(t, "in-use", f.ID+f.Found)
		if f.ID == "critical-warning" {
			warnings++
			require.Regexp(t, "^nvme[12]: none$", f.Found)
		}
	}
	require.Equal(t, 2, warnings)
}

func TestChoose(t *testing.T) {
	p := newPatient(t)
	p.Partition(p.disk, "nvme0n1p1")
	p.Generic(p.controller, "ng0n2")
	p.Disk(p.controller, "nvme0n2", 2, 1<<20)
	require.Equal(t, []string{"/dev/ng0n1", "/dev/ng0n2"}, p.examine(t).Devices)
	require.Equal(t, []string{"/dev/ng0n1"}, p.examine(t, "/dev/nvme0n1", "/dev/ng0n1").Devices)
	require.Equal(t, []string{"/dev/ng0n1", "/dev/ng0n2"}, p.examine(t, "/dev/nvme0").Devices)
	_, err := p.Run(t.Context(), []string{"/dev/nvme7", "/dev/nvme0n1p1"})
	require.ErrorContains(t, err, "/dev/nvme7")
	require.ErrorContains(t, err, "use the namespace on this machine: /dev/ng0n1")
	require.ErrorContains(t, err, "no NVMe namespace or controller")
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = p.Run(cancelled, nil)
	require.ErrorIs(t, err, context.Canceled)
}

// TestNoNamespace: a machine without a drive cannot run anything, and is
// examined all the same.
func TestNoNamespace(t *testing.T) {
	p := newPatient(t)
	for _, class := range []string{"nvme", "nvme-generic", "block"} {
		p.Remove("/sys/class/" + class)
	}
	r := p.examine(t)
	require.False(t, r.Possible)
	require.Equal(t, Problem, one(t, r, "namespaces").Severity)
	require.Equal(t, OK, one(t, r, "cpu-governor").Severity)
	require.Empty(t, r.Devices)
}

// TestNoBlockNode: polling can only be tried.
func TestNoBlockNode(t *testing.T) {
	p := newPatient(t)
	p.Remove("/sys/class/block/nvme0n1")
	p.Remove(p.disk)
	r := p.examine(t)
	require.Equal(t, Note, one(t, r, "block-node").Severity)
	require.Equal(t, Note, one(t, r, "poll-queues").Severity)
	require.Equal(t, []bool{true}, p.polled)
	require.True(t, r.Possible)
}
