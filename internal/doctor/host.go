package doctor

import (
	"fmt"
	"strings"
)

// goodClocks read the time without a system call, by architecture.
var goodClocks = map[string]string{"amd64": "tsc", "arm64": "arch_sys_counter"}

func (m *Machine) clocksource() []Finding {
	const id, dir = "clocksource", "/sys/devices/system/clocksource/clocksource0"
	const file = dir + "/current_clocksource"
	now, good := m.read(file), goodClocks[m.Arch]
	if now == "" {
		return nil
	}
	if good == "" || now == good {
		return []Finding{fine(id, now, file)}
	}
	f := Finding{ID: id, Severity: Warning, Found: now, Source: file, Why: "reading the time is slow, which shows where latencies are measured"}
	if now == "kvm-clock" || strings.HasPrefix(now, "hyperv") || now == "xen" {
		f.Severity, f.Why = Note, "it is the hypervisor's clock, and reading the time costs more than with "+good
	}
	for word := range strings.FieldsSeq(m.read(dir + "/available_clocksource")) {
		if word == good {
			f.Fix, f.Undo = []string{write(good, file)}, []string{write(now, file)}
		}
	}
	if f.Fix == nil {
		f.Fix = []string{"sudo dmesg | grep -i -e clocksource -e tsc"}
	}
	return []Finding{f}
}

// slowOptions make a kernel several times slower.
var slowOptions = []string{"CONFIG_KASAN", "CONFIG_KCSAN", "CONFIG_KMSAN", "CONFIG_PROVE_LOCKING", "CONFIG_LOCK_STAT", "CONFIG_DEBUG_OBJECTS", "CONFIG_DEBUG_KMEMLEAK"}

func (m *Machine) debugging() []Finding {
	const id = "kernel-debug"
	file := "/boot/config-" + m.Release
	if !m.exists(file) {
		file = "/lib/modules/" + m.Release + "/config"
	}
	config := m.read(file)
	if config == "" {
		return nil
	}
	var on []string
	for _, option := range slowOptions {
		if strings.Contains("\n"+config+"\n", "\n"+option+"=y\n") {
			on = append(on, option)
		}
	}
	if len(on) == 0 {
		return []Finding{fine(id, "the kernel was built without slow checks", file)}
	}
	return []Finding{{
		ID: id, Severity: Warning, Found: "the kernel was built with " + strings.Join(on, ", "), Source: file,
		Why: "such a kernel is several times slower on the paths that are compared", Advice: "boot a kernel without debugging options",
	}}
}

func (m *Machine) virtual() []Finding {
	const id = "virtual-machine"
	if m.Lab {
		return []Finding{{
			ID: id, Severity: Note, Found: "this is the lab, an emulated machine with an emulated drive", Source: "/proc/cmdline",
			Why: "figures show how the paths compare in system time, not what a drive can do",
		}}
	}
	product := strings.TrimSpace(m.read("/sys/class/dmi/id/sys_vendor") + " " + m.read("/sys/class/dmi/id/product_name"))
	guest := m.read("/sys/hypervisor/type") != ""
	for line := range strings.Lines(m.read("/proc/cpuinfo")) {
		name, value, _ := strings.Cut(line, ":")
		if strings.TrimSpace(name) == "flags" && strings.Contains(value+" ", " hypervisor ") {
			guest = true
		}
	}
	if !guest {
		return []Finding{fine(id, strings.TrimSuffix(strings.TrimSpace("not a virtual machine: "+product), ":"), "/proc/cpuinfo")}
	}
	return []Finding{{
		ID: id, Severity: Note, Found: strings.TrimSuffix(strings.TrimSpace("a virtual machine: "+product), ":"), Source: "/proc/cpuinfo",
		Why: "interrupts and timers pass through the hypervisor, other guests share the machine, and what its processors are busy with is not seen here",
		Fix: []string{"grep '^cpu ' /proc/stat    # the eighth number is time stolen by other guests"},
	}}
}

// bootParameter are the commands that add a parameter to the kernel's command
// line, as this distribution has it.
func (m *Machine) bootParameter(parameter string) []string {
	switch m.family() {
	case "debian":
		return []string{
			fmt.Sprintf(`echo 'GRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX %s"' | sudo tee %s`, parameter, grubFile(parameter)),
			"sudo update-grub", "sudo reboot",
		}
	case "redhat":
		return []string{"sudo grubby --update-kernel=ALL --args=" + parameter, "sudo reboot"}
	}
	return []string{"# add " + parameter + " to the kernel's command line in the boot loader, and reboot"}
}

// noBootParameter takes it away again.
func (m *Machine) noBootParameter(parameter string) []string {
	switch m.family() {
	case "debian":
		return []string{"sudo rm " + grubFile(parameter), "sudo update-grub", "sudo reboot"}
	case "redhat":
		return []string{"sudo grubby --update-kernel=ALL --remove-args=" + parameter, "sudo reboot"}
	}
	return []string{"# take " + parameter + " off the kernel's command line again, and reboot"}
}

func grubFile(parameter string) string {
	name, _, _ := strings.Cut(parameter, "=")
	return "/etc/default/grub.d/nvmepass-" + strings.NewReplacer(".", "-", "_", "-").Replace(name) + ".cfg"
}

// family is the kind of distribution, for the commands of its boot loader.
func (m *Machine) family() string {
	for line := range strings.Lines(m.read("/etc/os-release")) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		if name != "ID" && name != "ID_LIKE" {
			continue
		}
		for word := range strings.FieldsSeq(strings.Trim(value, `"'`)) {
			switch word {
			case "debian", "ubuntu":
				return "debian"
			case "rhel", "fedora", "centos":
				return "redhat"
			}
		}
	}
	return ""
}
