// Package hostenv collects what a recorded figure depends on beside the
// program: kernel, processor, drive, settings.
package hostenv

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/nvmepass/nvmepass/internal/compare"
	"github.com/nvmepass/nvmepass/internal/lab"
	"github.com/nvmepass/nvmepass/internal/sys"
	"github.com/nvmepass/nvmepass/passthru"
	"github.com/nvmepass/nvmepass/uringcmd"
)

// Collect reads the environment of a run on the given devices; open maps their
// paths as given. Temperatures go to TemperatureBeforeCelsius; After adds the
// others when the run is over. What cannot be found out stays empty.
func Collect(paths []string, open func(path string) *passthru.Device, cpu *int) compare.Environment {
	env := compare.Environment{
		Kernel:          sys.KernelRelease(),
		KernelCmdline:   readText("/proc/cmdline"),
		CPUModel:        cpuModel(readText("/proc/cpuinfo")),
		CPUCount:        runtime.NumCPU(),
		Mitigations:     mitigations("/sys/devices/system/cpu/vulnerabilities"),
		GoVersion:       runtime.Version(),
		IOUringFeatures: []string{},
		Lab:             lab.Inside(),
		Accelerator:     lab.GuestAccel(),
	}
	governor := 0
	if cpu != nil {
		governor = *cpu
	}
	env.Governor = readText(fmt.Sprintf("/sys/devices/system/cpu/cpu%d/cpufreq/scaling_governor", governor))
	if n, err := sys.MemlockLimit(); err == nil && n != ^uint64(0) {
		env.MemlockBytes = &n
	}
	if p, err := uringcmd.ProbeKernel(); err == nil {
		env.IOUringFeatures = p.Flags.Names()
	}
	for _, path := range paths {
		d := open(path)
		dev := device(path, d)
		dev.TemperatureBeforeCelsius = temperature(d)
		env.Devices = append(env.Devices, dev)
		if strings.HasPrefix(dev.Model, "QEMU") && !env.Emulated {
			env.Emulated, env.EmulatedReason = true, fmt.Sprintf("the drive calls itself %q", dev.Model)
		}
	}
	if env.Lab {
		env.Emulated, env.EmulatedReason = true, "ran in the lab: an emulated machine with an emulated drive"
	}
	return env
}

// After completes env with what is known only after the run.
func After(env *compare.Environment, open func(path string) *passthru.Device) {
	for i := range env.Devices {
		env.Devices[i].TemperatureAfterCelsius = temperature(open(env.Devices[i].Path))
	}
}

func device(path string, d *passthru.Device) compare.Device {
	c, n, l, lim := d.Controller(), d.Namespace(), d.Layout(), d.Limits()
	out := compare.Device{
		Path: path, CharNode: d.Path(), BlockNode: d.BlockPath(),
		Model: c.MN, Serial: c.SN, Firmware: c.FR, NSID: d.NSID(),
		LBAFormat: compare.LBAFormat{
			Index: n.FormatIndex(), DataBytes: l.LBASize, MetadataBytes: uint32(l.MetadataSize), MetadataLayout: "none", ProtectionType: int(l.PI),
		},
		Scheduler: d.Scheduler(),
	}
	switch {
	case l.MetadataSize > 0 && l.Extended:
		out.LBAFormat.MetadataLayout = "extended"
	case l.MetadataSize > 0:
		out.LBAFormat.MetadataLayout = "separate"
	}
	if lim.MDTS != 0 {
		out.MDTSBytes = &lim.MDTS
	}
	if lim.MaxHWSectors != 0 {
		out.MaxHWSectorsBytes = &lim.MaxHWSectors
	}
	if q := d.Poll().Count(); q >= 0 {
		out.PollQueues = &q
	}
	if node := d.NUMANode(); node >= 0 {
		out.NUMANode = &node
	}
	return out
}

func temperature(d *passthru.Device) *int {
	s, err := d.SMART()
	if err != nil {
		return nil
	}
	return compare.KelvinToCelsius(s.Temperature)
}

func readText(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

func cpuModel(cpuinfo string) string {
	for line := range strings.SplitSeq(cpuinfo, "\n") {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func mitigations(dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name()+": "+readText(filepath.Join(dir, e.Name())))
	}
	slices.Sort(out)
	return out
}
