package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/nvmepass/nvmepass/internal/inventory"
)

// List writes controllers and namespaces as tables, and below them why something is missing.
func List(w io.Writer, l *inventory.List) error {
	var b strings.Builder
	if len(l.Controllers) == 0 && len(l.Namespaces) == 0 {
		b.WriteString("There is no NVMe controller on this machine.\n")
		_, err := io.WriteString(w, b.String())
		return err
	}
	var why reasons
	namespaces := table{left: 11}
	namespaces.add("GENERIC", "BLOCK", "NSID", "MODEL", "SERIAL", "FIRMWARE", "SIZE", "FORMAT", "METADATA", "TRANSPORT", "")
	for i := range l.Namespaces {
		n := &l.Namespaces[i]
		nsid := "-"
		if n.NSID != 0 {
			nsid = strconv.FormatUint(uint64(n.NSID), 10)
		}
		transport := strings.TrimSpace(n.Transport + " " + n.Address)
		if n.Multipath {
			transport = fmt.Sprintf("%d paths", len(n.Paths))
		}
		namespaces.add(dash(n.Generic), dash(n.Block), nsid, dash(n.Model), dash(n.Serial), dash(n.Firmware),
			listSize(n), formatText(n), metadataText(n.Format), dash(transport), why.mark(n.Notes))
	}
	if len(l.Namespaces) > 0 {
		namespaces.write(&b)
		b.WriteString("\n")
	} else {
		b.WriteString("There is no namespace.\n\n")
	}
	paths := table{left: 5}
	paths.add("PATH", "OF", "CONTROLLER", "TRANSPORT", "STATE")
	for i := range l.Namespaces {
		n := &l.Namespaces[i]
		for _, p := range n.Paths {
			state := p.State
			if p.ANA != "" {
				state += ", " + p.ANA
			}
			paths.add(dash(p.Name), dash(n.Generic), dash(p.Controller), dash(p.Transport+" "+p.Address), dash(state))
		}
	}
	if len(paths.rows) > 1 {
		paths.write(&b)
		b.WriteString("\n")
	}
	controllers := table{left: 10}
	controllers.add("CONTROLLER", "MODEL", "SERIAL", "FIRMWARE", "TRANSPORT", "STATE", "SUBSYSTEM", "NUMA", "NAMESPACES", "")
	for i := range l.Controllers {
		c := &l.Controllers[i]
		numa, ids := "-", "none"
		if c.NUMANode != nil {
			numa = strconv.Itoa(*c.NUMANode)
		}
		if len(c.Namespaces) > 0 {
			ids = idList(c.Namespaces)
		}
		controllers.add(dash(c.Node), dash(c.Model), dash(c.Serial), dash(c.Firmware), dash(c.Transport+" "+c.Address), dash(c.State),
			dash(c.Subsystem), numa, ids, why.mark(c.Notes))
	}
	controllers.write(&b)
	why.write(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

// maxIDs is how many namespace IDs a line shows.
const maxIDs = 8

func idList(ids []uint32) string {
	var parts []string
	for i, id := range ids {
		if i == maxIDs {
			parts = append(parts, fmt.Sprintf("and %d more", len(ids)-maxIDs))
			break
		}
		parts = append(parts, strconv.FormatUint(uint64(id), 10))
	}
	return strings.Join(parts, ",")
}

func listSize(n *inventory.Namespace) string {
	if n.SizeBytes == 0 {
		return "-"
	}
	return decimalSize(n.SizeBytes)
}

// formatText is the block with its metadata, and the command set where that is not NVM.
func formatText(n *inventory.Namespace) string {
	f := n.Format
	text := "-"
	if f.DataBytes != 0 {
		text = strconv.FormatUint(uint64(f.DataBytes), 10)
		if f.MetadataBytes != 0 {
			text += fmt.Sprintf("+%d", f.MetadataBytes)
		}
	}
	if n.CommandSet != "" && n.CommandSet != "NVM" {
		text = strings.TrimPrefix(text+" "+n.CommandSet, "- ")
	}
	return text
}

func metadataText(f inventory.Format) string {
	if f.Metadata == "" || f.Metadata == "none" {
		return dash(f.Metadata)
	}
	text := f.Metadata
	if f.ProtectionType != 0 {
		text += fmt.Sprintf(" PI type %d guard %d", f.ProtectionType, f.GuardBits)
		if f.First {
			text += " first"
		}
	}
	return text
}

// reasons are the numbered remarks under a table; equal ones share a number.
type reasons struct{ texts []string }

func (r *reasons) mark(texts []string) string {
	var marks []string
	for _, text := range texts {
		i := slices.Index(r.texts, text)
		if i < 0 {
			i = len(r.texts)
			r.texts = append(r.texts, text)
		}
		marks = append(marks, fmt.Sprintf("[%d]", i+1))
	}
	return strings.Join(marks, "")
}

func (r *reasons) write(b *strings.Builder) {
	if len(r.texts) > 0 {
		b.WriteString("\n")
	}
	for i, text := range r.texts {
		wrap(b, fmt.Sprintf("[%d] %s", i+1, ascii(text)), sheetWidth, 4)
	}
}

// ListCSV writes one row for each namespace, and one for each controller without any. An empty field is not known.
func ListCSV(w io.Writer, l *inventory.List) error {
	out := csv.NewWriter(w)
	rows := [][]string{{
		"generic", "block", "nsid", "model", "serial", "firmware", "size_bytes", "data_bytes", "metadata_bytes", "metadata",
		"protection_type", "command_set", "transport", "address", "controllers", "subsystem", "source", "notes",
	}}
	for i := range l.Namespaces {
		n := &l.Namespaces[i]
		metadata, protection := "", ""
		if n.Format.Metadata != "" {
			metadata, protection = strconv.FormatUint(uint64(n.Format.MetadataBytes), 10), strconv.Itoa(n.Format.ProtectionType)
		}
		rows = append(rows, []string{
			n.Generic, n.Block, numberField(uint64(n.NSID)), csvText(n.Model), csvText(n.Serial), csvText(n.Firmware), numberField(n.SizeBytes),
			numberField(uint64(n.Format.DataBytes)), metadata, n.Format.Metadata, protection, n.CommandSet, n.Transport, n.Address,
			strings.Join(n.Controllers, " "), n.Subsystem, n.Source, csvText(strings.Join(n.Notes, "; ")),
		})
	}
	for i := range l.Controllers {
		if c := &l.Controllers[i]; len(c.Namespaces) == 0 {
			rows = append(rows, []string{
				"", "", "", csvText(c.Model), csvText(c.Serial), csvText(c.Firmware), "", "", "", "", "", "", c.Transport, c.Address,
				c.Name, c.Subsystem, "sysfs", csvText(strings.Join(c.Notes, "; ")),
			})
		}
	}
	return out.WriteAll(rows)
}

// csvText is a text that a drive gave as a field of CSV. Of one that begins as a
// formula, a spreadsheet would make a formula; none that is a name does.
func csvText(s string) string {
	if s = ascii(s); s != "" && strings.ContainsRune("=+-@", rune(s[0])) {
		return "'" + s
	}
	return s
}

// numberField is empty for 0, which stands for not known.
func numberField(n uint64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatUint(n, 10)
}
