package doctor

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/nvmepass/nvmepass/internal/inventory"
	"github.com/nvmepass/nvmepass/internal/sysfs"
)

func (m *Machine) link(c *inventory.Controller) []Finding {
	const id = "pcie-link"
	l, ok := sysfs.ReadPCILink(c.Dir)
	if !ok {
		return nil
	}
	source := "/sys/class/nvme/" + c.Name + "/device/current_link_speed, current_link_width"
	found := fmt.Sprintf("%g GT/s, %d lanes", l.Speed, l.Width)
	slow, narrow := l.MaxSpeed > l.Speed, l.MaxWidth > l.Width
	if !slow && !narrow {
		return []Finding{fine(id, found, source)}
	}
	f := Finding{
		ID: id, Severity: Warning, Found: fmt.Sprintf("%s; the drive can do %g GT/s, %d lanes", found, l.MaxSpeed, l.MaxWidth), Source: source,
		Why:    "bandwidth is below the drive's; at small blocks the rate may be the drive's all the same",
		Fix:    []string{"sudo lspci -s " + path.Base(l.Dir) + " -vv | grep -e LnkCap: -e LnkSta:"},
		Advice: "seat the drive anew, or look for the slot's speed and bifurcation in the firmware's setup",
	}
	if l.PortSpeed > 0 && l.PortWidth > 0 && l.PortSpeed <= l.Speed && slow || l.PortWidth > 0 && l.PortWidth <= l.Width && narrow {
		f.Found += fmt.Sprintf("; the port above it does %g GT/s, %d lanes", l.PortSpeed, l.PortWidth)
		f.Advice = "move the drive to a faster slot"
	}
	return []Finding{f}
}

func (m *Machine) aspm(c *inventory.Controller) []Finding {
	const id, file = "pcie-aspm", "/sys/module/pcie_aspm/parameters/policy"
	policy := chosen(m.read(file))
	switch {
	case c.Transport != "pcie" || policy == "":
		return nil
	case strings.HasPrefix(policy, "power"):
		return []Finding{{
			ID: id, Severity: Warning, Found: "policy " + policy, Source: file, Why: "the link sleeps between commands and takes microseconds to wake, at low depth for each command",
			Fix: []string{write("performance", file)}, Undo: []string{write(policy, file)},
		}}
	}
	return []Finding{fine(id, "policy "+policy, file)}
}

func (m *Machine) iommu(c *inventory.Controller) []Finding {
	const id = "iommu"
	if c.Transport != "pcie" {
		return nil
	}
	file := "/sys/class/nvme/" + c.Name + "/device/iommu_group/type"
	kind := sysfs.Attr(c.Dir, "device/iommu_group/type")
	f := Finding{ID: id, Source: file, Fix: m.bootParameter("iommu.passthrough=1"), Undo: m.noBootParameter("iommu.passthrough=1")}
	switch kind {
	case "":
		return []Finding{fine(id, "none in the drive's way", file)}
	case "identity":
		return []Finding{fine(id, "passed through", file)}
	case "DMA-FQ":
		f.Severity, f.Found = Note, "translates the drive's addresses, flushed in batches (DMA-FQ)"
		f.Why = "each command maps and unmaps its memory, and the largest command may be limited to 128 KiB"
	default:
		f.Severity, f.Found = Warning, "translates the drive's addresses, flushed for each command ("+kind+")"
		f.Why = "each command waits for the IOMMU to forget its memory, which can cost more than all that is compared; and the largest command may be limited to 128 KiB"
	}
	return []Finding{f}
}

func (m *Machine) numa(c *inventory.Controller) []Finding {
	const id = "numa"
	if c.NUMANode == nil {
		return nil
	}
	node := *c.NUMANode
	dir := fmt.Sprintf("/sys/devices/system/node/node%d", node)
	source := "/sys/class/nvme/" + c.Name + "/numa_node, " + dir
	near, err := sysfs.ParseCPUList(m.read(dir + "/cpulist"))
	if err != nil || len(near) == 0 || len(m.CPUs) == 0 {
		return nil
	}
	far := slices.DeleteFunc(slices.Clone(m.CPUs), func(cpu int) bool { return slices.Contains(near, cpu) })
	found := fmt.Sprintf("the drive is on node %d with CPUs %s; %d of %d CPUs that this process may run on are elsewhere", node, m.read(dir+"/cpulist"), len(far), len(m.CPUs))
	if len(far) == 0 {
		return []Finding{fine(id, fmt.Sprintf("all CPUs are on the drive's node %d", node), source)}
	}
	f := Finding{
		ID: id, Severity: Note, Found: found, Source: source,
		Why:    "a thread on another node reaches drive and completion queue over the processors' link, and rounds differ by where it ran" + m.distances(dir),
		Advice: fmt.Sprintf("run under numactl --cpunodebind=%d --membind=%d, or give --cpu %d", node, node, near[0]),
	}
	if len(far) == len(m.CPUs) {
		f.Severity = Warning
	}
	return []Finding{f}
}

// distances tells the kernel's measure of how far the other nodes are.
func (m *Machine) distances(dir string) string {
	far := 0
	for word := range strings.FieldsSeq(m.read(dir + "/distance")) {
		far = max(far, number(word))
	}
	const local = 10 // SLIT's distance of a node from itself
	if far <= local {
		return ""
	}
	return fmt.Sprintf("; the furthest is at distance %d, where %d is local", far, local)
}
