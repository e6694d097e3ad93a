package single

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/nvmepass/nvmepass/nvme"
)

// Text writes a document for people.
func Text(w io.Writer, d *Document) error {
	var b strings.Builder
	b.WriteString(d.title())
	switch {
	case d.DryRun:
		b.WriteString(": dry run, nothing was sent\n")
	case d.Status != nil && d.Status.SCT == 0 && d.Status.SC == 0:
		fmt.Fprintf(&b, ": %s, result %s\n", d.Status.Name, d.Result)
	case d.Status != nil:
		s := d.Status
		fmt.Fprintf(&b, ": failed\n  status       %s (sct=%d sc=0x%02x dnr=%d more=%d crd=%d)\n", s.Name, s.SCT, s.SC, oneIf(s.DNR), oneIf(s.More), s.CRD)
		if s.Description != "" {
			fmt.Fprintf(&b, "  meaning      %s\n", s.Description)
		}
		fmt.Fprintf(&b, "  result       %s\n", d.Result)
	default:
		b.WriteString(": failed, the drive has not answered it\n")
	}
	if d.LatencyNS != nil {
		fmt.Fprintf(&b, "latency %.1f us\n", float64(*d.LatencyNS)/1e3)
	}
	if d.Encoding != nil {
		d.Encoding.text(&b)
	}
	if d.Decoded != nil {
		if err := decodedText(&b, d.Decoded); err != nil {
			return err
		}
	}
	d.Data.text(&b, "data")
	d.Metadata.text(&b, "metadata")
	_, err := io.WriteString(w, b.String())
	return err
}

// title names the command, its namespace and its range.
func (d *Document) title() string {
	c := &d.Command
	s := c.Name
	if d.Device != "" {
		s += " " + printable(d.Device)
	}
	if c.NSID == nvme.AllNamespaces {
		s += " nsid=all"
	} else {
		s += fmt.Sprintf(" nsid=%d", c.NSID)
	}
	if c.SLBA != nil {
		s += fmt.Sprintf(" slba=0x%x blocks=%d", *c.SLBA, *c.Blocks)
	}
	return s
}

func oneIf(v bool) int {
	if v {
		return 1
	}
	return 0
}

// printable keeps control characters and other scripts from the terminal.
func printable(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r >= 0x20 && r <= 0x7e {
			b.WriteRune(r)
			continue
		}
		b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
	}
	return b.String()
}

func (e *Encoding) text(b *strings.Builder) {
	b.WriteString("submission queue entry of the ring, 128 bytes, in host byte order:\n")
	for _, f := range e.Fields {
		line := fmt.Sprintf("  %3d  %d  %-17s %s", f.Offset, f.Size, f.Name, f.Hex)
		if f.Meaning != "" {
			line = fmt.Sprintf("%-46s %s", line, f.Meaning)
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	hexText(b, "bytes of it", e.Bytes)
	hexText(b, "entry that the drive gets, 64 bytes, little-endian", e.Drive)
	b.WriteString("command dwords:\n")
	for _, w := range e.Dwords {
		fmt.Fprintf(b, "  cdw%-2d  %s\n", w.Number, w.Hex)
		for _, p := range w.Parts {
			line := fmt.Sprintf("           [%s]", p.Bits)
			line = fmt.Sprintf("%-19s %-24s 0x%x", line, p.Name, p.Value)
			if p.Meaning != "" {
				line = fmt.Sprintf("%-55s  %s", line, p.Meaning)
			}
			b.WriteString(line + "\n")
		}
	}
	if e.Payload != "" {
		hexText(b, "data that goes with it", e.Payload)
	}
}

// hexText writes hexadecimal digits, 32 bytes a line.
func hexText(b *strings.Builder, title, digits string) {
	b.WriteString(title + ":\n")
	for len(digits) > 0 {
		n := min(64, len(digits))
		b.WriteString("  " + digits[:n] + "\n")
		digits = digits[n:]
	}
}

func (d *Data) text(b *strings.Builder, what string) {
	switch {
	case d == nil:
	case d.File != "":
		to := printable(d.File)
		if d.File == "-" {
			to = "standard output"
		}
		fmt.Fprintf(b, "%s: %d bytes to %s\n", what, d.Bytes, to)
	default:
		fmt.Fprintf(b, "%s, %d bytes:\n", what, d.Bytes)
		HexDump(b, d.raw)
	}
}

// HexDump writes offset, 16 bytes and their characters on each line; a star
// stands for lines that repeat the one above.
func HexDump(b *strings.Builder, data []byte) {
	skipping := false
	for at := 0; at < len(data); at += 16 {
		line := data[at:min(at+16, len(data))]
		last := at+16 >= len(data)
		if at > 0 && !last && bytes.Equal(line, data[at-16:at]) {
			if !skipping {
				b.WriteString("*\n")
			}
			skipping = true
			continue
		}
		skipping = false
		fmt.Fprintf(b, "%08x ", at)
		for i := range 16 {
			if i%8 == 0 {
				b.WriteByte(' ')
			}
			if i < len(line) {
				fmt.Fprintf(b, "%02x ", line[i])
			} else {
				b.WriteString("   ")
			}
		}
		b.WriteString(" |")
		for _, c := range line {
			if c < 0x20 || c > 0x7e {
				c = '.'
			}
			b.WriteByte(c)
		}
		b.WriteString("|\n")
	}
}

// decodedText writes any value that JSON can hold, a name and a value on each
// line, in the order of its fields.
func decodedText(b *strings.Builder, v any) error {
	doc, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("render what was decoded: %w", err)
	}
	dec := json.NewDecoder(bytes.NewReader(doc))
	dec.UseNumber()
	return jsonText(b, dec, "", 0)
}

// jsonText writes the next value; name is that of its field or place.
func jsonText(b *strings.Builder, dec *json.Decoder, name string, depth int) error {
	tok, err := dec.Token()
	if err != nil {
		return err
	}
	indent := strings.Repeat("  ", depth)
	delim, nested := tok.(json.Delim)
	if !nested {
		text := fmt.Sprint(tok)
		switch v := tok.(type) {
		case string:
			text = printable(v)
		case nil:
			text = "-"
		}
		fmt.Fprintf(b, "%s%-*s : %s\n", indent, max(1, 28-2*depth), name, text)
		return nil
	}
	if name != "" {
		fmt.Fprintf(b, "%s%s:\n", indent, name)
		depth++
	}
	for i := 0; dec.More(); i++ {
		key := fmt.Sprintf("[%d]", i)
		if delim == '{' {
			k, err := dec.Token()
			if err != nil {
				return err
			}
			key = fmt.Sprint(k)
		}
		if err := jsonText(b, dec, key, depth); err != nil {
			return err
		}
	}
	_, err = dec.Token()
	return err
}
