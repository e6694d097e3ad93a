package report

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/nvmepass/nvmepass/internal/inventory"
)

// Info writes all that is to be known of devices, each controller once. Those with an error are the caller's to tell.
func Info(w io.Writer, info *inventory.Info) error {
	s := sheet{keys: 22}
	var told []string // controllers that several devices share
	for i := range info.Devices {
		d := &info.Devices[i]
		if d.Error != "" {
			continue
		}
		if d.Namespace != nil {
			infoNamespace(&s, d)
		}
		if c := d.Controller; c != nil && !slices.Contains(told, c.Name) {
			told = append(told, c.Name)
			infoController(&s, d.Controller)
		}
		for _, note := range d.Notes {
			s.note(note)
		}
	}
	_, err := io.WriteString(w, s.b.String())
	return err
}

func infoNamespace(s *sheet, d *inventory.Device) {
	n := d.Namespace
	what := "generic node of namespace"
	if d.Kind == "block" {
		what = "block node of namespace"
	}
	s.title("%s: %s %d", d.Path, what, n.NSID)
	s.row("generic node", n.Namespace.Generic)
	s.row("block node", n.Namespace.Block)
	if n.Multipath {
		var paths []string
		for _, p := range n.Paths {
			paths = append(paths, strings.TrimSuffix(fmt.Sprintf("%s by %s at %s %s, %s, %s", p.Name, p.Controller, p.Transport, p.Address, p.State, p.ANA), ", "))
		}
		s.rowf("multipath", "%d paths, one is chosen per command: %s", len(n.Paths), strings.Join(paths, "; "))
	}
	s.row("command set", n.CommandSet)
	s.rowf("size", "%d blocks, %d B (%s)", n.Blocks, n.SizeBytes, decimalSize(n.SizeBytes))
	if n.Source == "identify" {
		s.rowf("capacity and use", "%d and %d blocks", n.CapacityBlocks, n.UsedBlocks)
		s.row("identifiers", strings.Join(identifiers(n), ", "))
	}
	infoFormat(s, n)
	infoLimits(s, n)
	infoPoll(s, &n.Poll)
	if z := n.Zones; z != nil {
		s.rowf("zones", "%d of %d blocks; open zones: %s; active zones: %s; append: %s; descriptor extension: %d B",
			z.Count, z.SizeBlocks, atMost(uint64(z.MaxOpen), ""), atMost(uint64(z.MaxActive), ""), atMost(z.AppendBytes, " B"), z.ExtensionBytes)
	}
	if n.Source == "identify" {
		infoSizes(s, n)
		s.row("features", strings.Join(n.Features, "; "))
	}
	if n.Namespace.Block != "" {
		s.rowf("block queue", "scheduler %s, nr_requests %d, iostats %s, write cache %s",
			dash(n.Queue.Scheduler), n.Queue.NrRequests, dash(n.Queue.IOStats), dash(n.Queue.WriteCache))
	}
	s.row("rights, generic node", n.Generic.String())
	s.row("rights, block node", n.Block.String())
	s.row("CAP_SYS_ADMIN", yesNo(n.Generic.SysAdmin))
	for _, note := range n.Notes {
		s.note(note)
	}
}

func identifiers(n *inventory.NamespaceDetail) []string {
	var ids []string
	for _, id := range [][2]string{{"EUI64", n.EUI64}, {"NGUID", n.NGUID}, {"UUID", n.UUID}} {
		if id[1] != "" {
			ids = append(ids, id[0]+" "+id[1])
		}
	}
	return ids
}

func infoFormat(s *sheet, n *inventory.NamespaceDetail) {
	f := n.Format
	if f.DataBytes == 0 {
		s.row("block", "")
		return
	}
	text := fmt.Sprintf("%d B of data", f.DataBytes)
	switch f.Metadata {
	case "none":
		text += ", no metadata"
	case "extended":
		text += fmt.Sprintf(" and %d B of metadata behind it (extended): %d B a block in the data buffer", f.MetadataBytes, f.DataBytes+f.MetadataBytes)
	case "separate":
		text += fmt.Sprintf(" and %d B of metadata in a buffer of its own (separate)", f.MetadataBytes)
	default:
		text += "; whether there is metadata is not known"
	}
	s.row("block", text)
	if f.Metadata == "extended" || f.Metadata == "separate" {
		s.row("protection", protectionText(f))
	}
	for _, x := range n.Formats {
		text := fmt.Sprintf("%d B", x.DataBytes)
		if x.MetadataBytes != 0 {
			text += fmt.Sprintf(" + %d B metadata", x.MetadataBytes)
		}
		if x.GuardBits != 0 && x.MetadataBytes != 0 {
			text += fmt.Sprintf(", guard %d", x.GuardBits)
		}
		text += fmt.Sprintf(", performance %s", [...]string{"best", "better", "good", "degraded"}[x.Performance&3])
		if x.InUse {
			text += ", in use"
		}
		s.row("LBA format "+strconv.Itoa(x.Index), text)
	}
	if len(n.Formats) > 0 {
		modes, types := "none", "none"
		if len(n.MetadataModes) > 0 {
			modes = strings.Join(n.MetadataModes, " or ")
		}
		if len(n.ProtectionTypes) > 0 {
			types = strings.Trim(strings.ReplaceAll(fmt.Sprint(n.ProtectionTypes), " ", ", "), "[]")
		}
		s.rowf("formats could have", "metadata %s; protection types %s", modes, types)
	}
}

func protectionText(f inventory.Format) string {
	if f.ProtectionType == 0 {
		return "none"
	}
	where := "last"
	if f.First {
		where = "first"
	}
	text := fmt.Sprintf("type %d, %d-bit guard, %s in the metadata", f.ProtectionType, f.GuardBits, where)
	if f.StorageTagBits != 0 {
		text += fmt.Sprintf(", storage tag of %d bits", f.StorageTagBits)
	}
	return text
}

func infoLimits(s *sheet, n *inventory.NamespaceDetail) {
	l := n.Limits
	if l.Known {
		text := fmt.Sprintf("%s, %d blocks", sizeOrNone(l.MaxTransferBytes), l.MaxBlocks)
		if l.MaxSeparateMDBytes != 0 {
			text += fmt.Sprintf("; separate metadata %s", byteSize(l.MaxSeparateMDBytes))
		}
		s.row("largest command", text+"; a longer one is refused, never split")
		s.row("MDTS", sizeOrNone(l.MDTSBytes))
	}
	kernel := "not known"
	if l.MaxHWSectorsBytes != 0 {
		kernel = fmt.Sprintf("%s (max_hw_sectors_kb), %d segments, buffers aligned to %d B or they are copied", byteSize(l.MaxHWSectorsBytes), l.MaxSegments, l.DMAAlignmentBytes)
	}
	s.row("kernel limit", kernel)
}

func infoPoll(s *sheet, p *inventory.Poll) {
	parameter := "not known"
	if p.Parameter >= 0 {
		parameter = strconv.Itoa(p.Parameter)
	}
	switch {
	case !p.Known:
		s.rowf("poll queues", "not known, since there is no block node (nvme.poll_queues %s)", parameter)
	case !p.Enabled:
		s.rowf("poll queues", "none (nvme.poll_queues %s): nvmepass doctor says how to get them", parameter)
	case p.Count < 0:
		s.rowf("poll queues", "some, which this kernel does not show (nvme.poll_queues %s)", parameter)
	default:
		s.rowf("poll queues", "%d (nvme.poll_queues %s)", p.Count, parameter)
	}
	for i, cpus := range p.CPUs {
		s.rowf(fmt.Sprintf("poll queue %d", i), "CPU %s", cpuList(cpus))
	}
}

// cpuList writes CPUs as the kernel does, 0-3,8.
func cpuList(cpus []int) string {
	var parts []string
	for i := 0; i < len(cpus); {
		j := i
		for j+1 < len(cpus) && cpus[j+1] == cpus[j]+1 {
			j++
		}
		part := strconv.Itoa(cpus[i])
		if j > i {
			part += "-" + strconv.Itoa(cpus[j])
		}
		parts, i = append(parts, part), j+1
	}
	return strings.Join(parts, ",")
}

func infoSizes(s *sheet, n *inventory.NamespaceDetail) {
	a := n.Atomic
	whose := "the controller's"
	if a.PerNamespace {
		whose = "the namespace's own"
	}
	text := fmt.Sprintf("%s, %d through a power failure, compare and write %d (%s)", plural(int(a.WriteBlocks), "block"), a.PowerFailBlocks, a.CompareWriteBlocks, whose)
	if a.BoundaryBlocks != 0 {
		text += fmt.Sprintf("; not across a boundary each %d blocks from %d", a.BoundaryBlocks, a.OffsetBlocks)
	}
	s.row("atomic writes", text)
	s.row("optimal I/O boundary", blocksOrNone(uint64(a.OptimalBlocks)))
	var preferred []string
	for _, p := range n.Preferred {
		preferred = append(preferred, fmt.Sprintf("%s %d", p.Name, p.N))
	}
	if len(preferred) > 0 {
		s.row("preferred blocks", strings.Join(preferred, ", "))
	}
	if c := n.Copy; c != nil {
		s.rowf("copy", "%d ranges of %d blocks, %d blocks in all", c.Ranges, c.RangeBlocks, c.CommandBlocks)
	}
}

func infoController(s *sheet, c *inventory.ControllerDetail) {
	s.title("%s: controller", dash(c.Node))
	s.rowf("drive", "%s, serial %s, firmware %s", dash(c.Model), dash(c.Serial), dash(c.Firmware))
	s.row("transport", c.Transport+" "+c.Address)
	s.row("state", c.State)
	s.row("subsystem", strings.TrimSpace(c.Subsystem+" "+c.SUBNQN))
	numa := "none"
	if c.NUMANode != nil {
		numa = strconv.Itoa(*c.NUMANode)
	}
	s.row("NUMA node", numa)
	ids := "none"
	if len(c.Namespaces) > 0 {
		ids = idList(c.Namespaces)
	}
	s.row("active namespaces", ids)
	if c.Identified {
		s.rowf("controller", "ID %d, type %s, NVMe %s, vendor 0x%04x, OUI %s, up to %d namespaces", c.CNTLID, c.Type, c.Version, c.VID, c.OUI, c.NN)
		s.row("MDTS", sizeOrNone(c.MDTSBytes))
		if !c.TotalCapacity.IsZero() {
			s.row("total capacity", c.TotalCapacity.String()+" B")
		}
		s.row("command sets", strings.Join(c.CommandSets, ", or "))
		s.row("volatile write cache", yesNo(c.WriteCache))
		s.rowf("atomic writes", "%s, %d through a power failure", plural(int(c.AWUNBlocks), "block"), c.AWUPFBlocks)
		s.rowf("power states", "%d, autonomous transitions (APST) %s", c.PowerStates, map[bool]string{true: "supported", false: "not supported"}[c.APST])
		for _, w := range c.Capabilities {
			has := "none known"
			if len(w.Has) > 0 {
				has = strings.Join(w.Has, ", ")
			}
			s.rowf(w.Name, "0x%x: %s", w.Raw, has)
		}
	}
	s.row("rights", c.Rights.String())
	for _, note := range c.Notes {
		s.note(note)
	}
}

// atMost is a limit, of which 0 means that there is none of its own.
func atMost(n uint64, unit string) string {
	if n == 0 {
		return "no limit"
	}
	return fmt.Sprintf("at most %d%s", n, unit)
}

func sizeOrNone(n uint64) string {
	if n == 0 {
		return "no limit"
	}
	return byteSize(n)
}

func blocksOrNone(n uint64) string {
	if n == 0 {
		return "none"
	}
	return strconv.FormatUint(n, 10) + " blocks"
}
