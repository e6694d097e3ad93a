package doctor

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/nvmepass/nvmepass/internal/inventory"
	"github.com/nvmepass/nvmepass/internal/sysfs"
)

// nodes: passthrough needs the generic node, the block paths the block node.
func (m *Machine) nodes(s *subject) []Finding {
	var out []Finding
	if s.Generic == "" {
		f := Finding{
			ID: "node", Severity: Problem, Found: "the namespace has no generic node", Source: "/sys/class/nvme-generic",
			Why: "NVMe commands go through /dev/ngXnY only", Fix: []string{"sudo dmesg | grep -i nvme"},
		}
		if s.Block == "" && len(s.controllers) > 0 {
			f.Fix = append(f.Fix, write("1", "/sys/class/nvme/"+s.controllers[0].Name+"/rescan_controller"))
		}
		return []Finding{f}
	}
	out = append(out, fine("node", "generic node "+s.Generic, "/sys/class/nvme-generic"))
	if s.Block == "" {
		out = append(out, Finding{
			ID: "block-node", Severity: Note, Found: "the namespace has no block node", Source: "/sys/class/block",
			Why: "the paths block and block-poll cannot be compared, and the kernel's limits and poll queues cannot be read; the block layer does not take this command set or format",
		})
	} else if sysfs.Attr(s.BlockDir, "size") == "0" {
		out = append(out, Finding{
			ID: "block-node", Severity: Note, Found: "the block node has no capacity", Source: "/sys/block/" + path.Base(s.BlockDir) + "/size",
			Why: "the block layer cannot use this format (" + formatName(s.Format) + "), so that the paths block and block-poll cannot be compared",
		})
	}
	return out
}

// formatName is a format in short.
func formatName(f inventory.Format) string {
	if f.MetadataBytes == 0 {
		return fmt.Sprint(f.DataBytes)
	}
	return strings.TrimSpace(fmt.Sprintf("%d+%d %s", f.DataBytes, f.MetadataBytes, f.Metadata))
}

// udevRule gives a group access to generic nodes, which are root's alone by
// default.
const (
	udevFile = "/etc/udev/rules.d/60-nvme-generic.rules"
	udevRule = `SUBSYSTEM=="nvme-generic", GROUP="disk", MODE="0660"`
)

func (m *Machine) rights(s *subject) []Finding {
	const id = "rights"
	if s.Generic == "" {
		return nil
	}
	var out []Finding
	r := m.Source.Rights(s.Generic)
	switch v := m.version(); {
	case !r.Read:
		out = append(out, Finding{
			ID: id, Severity: Problem, Found: r.Reason, Source: "open(" + s.Generic + ")", Why: "passthrough cannot begin",
			Fix: []string{
				"sudo nvmepass doctor " + s.Generic + "    # as root, or for good:",
				"echo '" + udevRule + "' | sudo tee " + udevFile,
				"sudo udevadm control --reload && sudo udevadm trigger --subsystem-match=nvme-generic",
				"sudo usermod -aG disk $USER    # and log in again",
			},
			Undo: []string{"sudo rm " + udevFile, "sudo udevadm control --reload", "sudo chmod 0600 " + s.Generic + " && sudo chown root:root " + s.Generic, "sudo gpasswd -d $USER disk"},
		})
	case !m.SysAdmin && v.known() && !v.atLeast(6, 2):
		out = append(out, Finding{
			ID: id, Severity: Problem, Found: "this process lacks CAP_SYS_ADMIN", Source: "capget",
			Why: "before Linux 6.2 every NVMe command needs it", Fix: []string{"sudo nvmepass doctor " + s.Generic},
		})
	case !m.SysAdmin:
		out = append(out, Finding{
			ID: id, Severity: Note, Found: fmt.Sprintf("%s (%s) can be read, and this process lacks CAP_SYS_ADMIN", s.Generic, r.Mode), Source: "open, capget",
			Why: "reads work if the drive's effects log has them as supported; health and most admin commands do not",
			Fix: []string{"sudo nvmepass doctor " + s.Generic},
		})
	default:
		out = append(out, fine(id, fmt.Sprintf("%s (%s) can be read, with CAP_SYS_ADMIN", s.Generic, r.Mode), "open, capget"))
	}
	if b := m.Source.Rights(s.Block); s.Block != "" && !b.Read {
		out = append(out, Finding{
			ID: "block-rights", Severity: Warning, Found: b.Reason, Source: "open(" + s.Block + ")",
			Why: "the paths block and block-poll cannot be measured", Fix: []string{"sudo usermod -aG disk $USER    # and log in again"}, Undo: []string{"sudo gpasswd -d $USER disk"},
		})
	}
	return out
}

// states: a controller that is not live takes no commands.
func (m *Machine) states(s *subject) []Finding {
	const id = "controller-state"
	var live, dead []string
	for _, c := range s.controllers {
		if c.State == "live" {
			live = append(live, c.Name)
		} else if c.State != "" {
			dead = append(dead, c.Name+" is "+c.State)
		}
	}
	switch {
	case len(live)+len(dead) == 0:
		return nil
	case len(dead) == 0:
		return []Finding{fine(id, strings.Join(live, ", ")+" live", "/sys/class/nvme/*/state")}
	}
	f := Finding{
		ID: id, Severity: Warning, Found: strings.Join(dead, ", "), Source: "/sys/class/nvme/*/state",
		Why: "commands can take the other path only, and change to this one when it comes back", Fix: []string{"sudo dmesg | grep -i nvme"},
	}
	if len(live) == 0 {
		f.Severity, f.Why = Problem, "the drive takes no commands"
	}
	return []Finding{f}
}

// uses: others who use the drive disturb the figures, and writing is refused.
func (m *Machine) uses(s *subject) []Finding {
	const id = "in-use"
	source := "/sys/class/block, /proc/self/mountinfo, /proc/swaps"
	if s.BlockDir == "" {
		return nil
	}
	uses := m.Source.FS.Uses(s.BlockDir, m.Root+"/proc")
	if len(uses) == 0 {
		return []Finding{fine(id, "not mounted, no swap, no holders, no partitions", source)}
	}
	f := Finding{ID: id, Severity: Note, Source: source, Why: "commands that write are refused unless they are forced"}
	var found []string
	for _, u := range uses {
		found = append(found, u.String())
		switch u.Kind {
		case "mount":
			f.Fix, f.Undo = append(f.Fix, "sudo umount "+shellQuote(u.By)), append(f.Undo, "sudo mount /dev/"+u.Device+" "+shellQuote(u.By))
		case "swap":
			f.Fix, f.Undo = append(f.Fix, "sudo swapoff /dev/"+u.Device), append(f.Undo, "sudo swapon /dev/"+u.Device)
		case "holder":
			f.Fix = append(f.Fix, "lsblk /dev/"+u.Device)
		}
	}
	if slices.ContainsFunc(uses, func(u sysfs.Use) bool { return u.Kind != "partition" }) {
		f.Severity, f.Why = Warning, "other I/O goes to the drive during a run, so that figures are too low and differ from round to round; and "+f.Why
	}
	f.Found = strings.Join(found, ", ")
	return []Finding{f}
}

// shellQuote quotes a path for a shell where it has to be.
func shellQuote(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool {
		return !strings.ContainsRune("/._-+:@%=", r) && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// virtualDrives are models that are no drive at all, by prefix.
var virtualDrives = []struct{ prefix, what string }{
	{"QEMU NVMe", "an emulated drive"},
	{"VMware Virtual NVMe", "a virtual drive"},
	{"ORCL-VBOX-NVME", "a virtual drive"},
	{"Amazon Elastic Block Store", "a volume on a network"},
	{"nvme_card-pd", "a volume on a network"},
	{"MSFT NVMe Accelerator", "a volume on a network"},
	{"Linux", "an NVMe target of another Linux machine"},
}

func (m *Machine) emulated(s *subject) []Finding {
	const id, source = "emulated-drive", "/sys/class/nvme/*/model"
	for _, v := range virtualDrives {
		if strings.HasPrefix(s.Model, v.prefix) {
			return []Finding{{
				ID: id, Severity: Warning, Found: fmt.Sprintf("%q is %s", s.Model, v.what), Source: source,
				Why: "figures are those of the emulation or the network; do not quote them as a drive's",
			}}
		}
	}
	return []Finding{fine(id, fmt.Sprintf("%q is not known as emulated", s.Model), source)}
}
