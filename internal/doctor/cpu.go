package doctor

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/nvmepass/nvmepass/internal/sysfs"
)

const cpuDir = "/sys/devices/system/cpu"

func (m *Machine) processors() []Finding {
	const id, source = "cpus", "sched_getaffinity"
	online, err := sysfs.ParseCPUList(m.read(cpuDir + "/online"))
	switch {
	case len(m.CPUs) == 0 || err != nil || len(online) == 0:
		return []Finding{{ID: id, Severity: Note, Found: "the processors could not be counted", Source: source + ", " + cpuDir + "/online", Why: "checks of processors may be missing"}}
	case len(m.CPUs) == 1:
		return []Finding{{
			ID: id, Severity: Warning, Found: fmt.Sprintf("this process may run on CPU %d alone, of %d", m.CPUs[0], len(online)), Source: source,
			Why: "a polling thread keeps its processor busy, and everything else of the program waits for it", Fix: []string{"taskset -pc " + m.read(cpuDir+"/online") + " $$"},
			Undo: []string{fmt.Sprintf("taskset -pc %d $$", m.CPUs[0])},
		}}
	}
	return []Finding{fine(id, fmt.Sprintf("this process may run on %d of %d CPUs", len(m.CPUs), len(online)), source)}
}

// perCPU groups the CPUs that this process may run on by the value of a file;
// those without it are left out.
func (m *Machine) perCPU(file string) (values []string, cpus map[string][]int) {
	cpus = map[string][]int{}
	for _, cpu := range m.CPUs {
		value := m.read(fmt.Sprintf("%s/cpu%d/%s", cpuDir, cpu, file))
		if value == "" {
			continue
		}
		if !slices.Contains(values, value) {
			values = append(values, value)
		}
		cpus[value] = append(cpus[value], cpu)
	}
	return values, cpus
}

// cpuGlob names some CPUs for a shell.
func cpuGlob(cpus []int) string {
	if len(cpus) == 1 {
		return strconv.Itoa(cpus[0])
	}
	parts := make([]string, len(cpus))
	for i, c := range cpus {
		parts[i] = strconv.Itoa(c)
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func (m *Machine) governor() []Finding {
	const id, file = "cpu-governor", "cpufreq/scaling_governor"
	values, cpus := m.perCPU(file)
	source := cpuDir + "/cpu*/" + file
	if len(values) == 0 {
		return []Finding{fine(id, "the kernel does not scale the clock", source)}
	}
	if slices.Equal(values, []string{"performance"}) {
		return []Finding{fine(id, "performance", source)}
	}
	f := Finding{
		ID: id, Severity: Warning, Source: source,
		Why: "the clock falls while a thread waits for interrupts and rises while it polls: the four paths run at different clocks, and rounds differ",
	}
	var found []string
	for _, value := range values {
		found = append(found, fmt.Sprintf("%s on %d CPUs", value, len(cpus[value])))
		f.Undo = append(f.Undo, write(value, fmt.Sprintf("%s/cpu%s/%s", cpuDir, cpuGlob(cpus[value]), file)))
	}
	if len(values) == 1 {
		f.Undo = []string{write(values[0], cpuDir+"/cpu*/"+file)}
	}
	f.Found = strings.Join(found, ", ")
	f.Fix = []string{write("performance", cpuDir+"/cpu*/"+file)}
	return []Finding{f}
}

// boost: the file and the value that means off depend on the driver.
func (m *Machine) boost() []Finding {
	const id = "cpu-boost"
	for _, b := range []struct{ file, on, off string }{
		{cpuDir + "/intel_pstate/no_turbo", "0", "1"}, {cpuDir + "/cpufreq/boost", "1", "0"},
	} {
		switch m.read(b.file) {
		case b.on:
			return []Finding{{
				ID: id, Severity: Note, Found: "the clock may rise above its nominal value", Source: b.file,
				Why: "how far depends on temperature and on the other cores, so that rounds and machines differ",
				Fix: []string{write(b.off, b.file)}, Undo: []string{write(b.on, b.file)},
			}}
		case b.off:
			return []Finding{fine(id, "off", b.file)}
		}
	}
	return nil
}

// deepSleep is the exit latency in microseconds from which a sleep state shows
// beside the drive's own latency.
const deepSleep = 10

func (m *Machine) idle() []Finding {
	const id = "cpu-idle"
	if len(m.CPUs) == 0 {
		return nil
	}
	dir := fmt.Sprintf("%s/cpu%d/cpuidle", cpuDir, m.CPUs[0])
	var deep, names []string
	worst := 0
	for _, state := range m.files(dir + "/state*") {
		latency := number(m.read(state + "/latency"))
		if latency < deepSleep || m.read(state+"/disable") == "1" {
			continue
		}
		deep, names, worst = append(deep, strings.TrimPrefix(path.Base(state), "state")), append(names, m.read(state+"/name")), max(worst, latency)
	}
	if len(deep) == 0 {
		return []Finding{fine(id, fmt.Sprintf("no sleep state takes %d us or more to leave", deepSleep), dir)}
	}
	files := fmt.Sprintf("%s/cpu*/cpuidle/state%s/disable", cpuDir, "{"+strings.Join(deep, ",")+"}")
	if len(deep) == 1 {
		files = fmt.Sprintf("%s/cpu*/cpuidle/state%s/disable", cpuDir, deep[0])
	}
	return []Finding{{
		ID: id, Severity: Note, Found: fmt.Sprintf("idle processors sleep in %s, which take up to %d us to leave", strings.Join(names, ", "), worst), Source: dir,
		Why: "at low depth the waiting processor sleeps and each interrupt wakes it: block and passthru lose, the polled paths do not",
		Fix: []string{write("1", files)}, Undo: []string{write("0", files)},
	}}
}

func (m *Machine) smt() []Finding {
	const id, file = "smt", cpuDir + "/smt/active"
	switch m.read(file) {
	case "1":
		old := m.read(cpuDir + "/smt/control")
		if old == "" {
			old = "on"
		}
		return []Finding{{
			ID: id, Severity: Note, Found: "two or more CPUs share a core", Source: file,
			Why: "a polling thread slows down the other threads of its core, and they slow it down; pin jobs to different cores (see thread_siblings_list)",
			Fix: []string{write("off", cpuDir+"/smt/control")}, Undo: []string{write(old, cpuDir+"/smt/control")},
		}}
	case "0":
		return []Finding{fine(id, "each CPU is a core", file)}
	}
	return nil
}

func (m *Machine) mitigations() []Finding {
	const id, dir = "mitigations", cpuDir + "/vulnerabilities"
	var on []string
	for _, file := range m.files(dir + "/*") {
		if strings.Contains(m.read(file), "Mitigation") {
			on = append(on, path.Base(file))
		}
	}
	if len(on) == 0 {
		return []Finding{fine(id, "none is on", dir)}
	}
	return []Finding{{
		ID: id, Severity: Note, Found: fmt.Sprintf("%d are on: %s", len(on), strings.Join(on, ", ")), Source: dir,
		Why:  "each system call and each interrupt costs more, at small batches most; published figures often come from kernels without them",
		Fix:  m.bootParameter("mitigations=off"),
		Undo: m.noBootParameter("mitigations=off"),
	}}
}

// quota looks for a limit of processor time of this process's control groups
// (version 2).
func (m *Machine) quota() []Finding {
	const id, root = "cpu-quota", "/sys/fs/cgroup"
	group := ""
	for line := range strings.Lines(m.read("/proc/self/cgroup")) {
		if g, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			group = g
		}
	}
	for dir := path.Join(root, group); strings.HasPrefix(dir, root); dir = path.Dir(dir) {
		file := dir + "/cpu.max"
		quota, period, _ := strings.Cut(m.read(file), " ")
		if quota == "" || quota == "max" || number(period) == 0 {
			continue
		}
		cpus := float64(number(quota)) / float64(number(period))
		return []Finding{{
			ID: id, Severity: Warning, Found: fmt.Sprintf("%.2f CPUs' time for this control group", cpus), Source: file,
			Why: "a polling thread uses its processor all the time and is stopped when the quota is spent: rates and percentiles show the stops",
			Fix: []string{write("'max "+period+"'", file)}, Undo: []string{write("'"+quota+" "+period+"'", file)},
		}}
	}
	return []Finding{fine(id, "processor time is not limited", root)}
}

// busyShare and fullShare are runnable threads per CPU.
const busyShare, fullShare = 0.5, 0.9

func (m *Machine) load() []Finding {
	const id, file = "load", "/proc/loadavg"
	text, _, _ := strings.Cut(m.read(file), " ")
	load, err := strconv.ParseFloat(text, 64)
	if err != nil || len(m.CPUs) == 0 {
		return nil
	}
	found := fmt.Sprintf("%s threads were runnable on average in the last minute, on %d CPUs", text, len(m.CPUs))
	share := load / float64(len(m.CPUs))
	if share < busyShare {
		return []Finding{fine(id, found, file)}
	}
	f := Finding{ID: id, Severity: Note, Found: found, Source: file, Why: "other programs take processor time from the run, and from some rounds more than from others", Fix: []string{"top -b -n 1 | head -20"}}
	if share >= fullShare {
		f.Severity = Warning
	}
	return []Finding{f}
}
