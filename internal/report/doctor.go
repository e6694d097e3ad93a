package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/nvmepass/nvmepass/internal/doctor"
)

// Doctor writes findings, the worst first. Of what is fine it tells the number alone, unless verbose is set.
func Doctor(w io.Writer, r *doctor.Report, verbose bool) error {
	s := sheet{keys: 8}
	devices := "no namespace"
	if len(r.Devices) > 0 {
		devices = strings.Join(r.Devices, ", ")
	}
	s.title("kernel %s; %s", r.Kernel, devices)
	titles := map[doctor.Severity]string{
		doctor.Problem: "PROBLEMS, which make a polled passthrough run impossible",
		doctor.Warning: "WARNINGS, which make figures doubtful",
		doctor.Note:    "NOTES, worth knowing beside the figures",
		doctor.OK:      "OK",
	}
	for _, severity := range doctor.Severities() {
		if severity == doctor.OK && !verbose {
			continue
		}
		first := true
		for _, group := range together(r.Findings, severity) {
			if first {
				colour := map[doctor.Severity]func(string) string{doctor.Problem: bad, doctor.Warning: warn, doctor.Note: plain, doctor.OK: good}[severity]
				s.verdict(colour, titles[severity])
				first = false
			}
			findingText(&s, &group)
		}
	}
	verdict, colour := "A polled passthrough run is possible.", good
	if !r.Possible {
		verdict, colour = "A polled passthrough run is not possible as things stand.", bad
	}
	s.verdict(colour, fmt.Sprintf("%s %s, %s, %s; %d fine%s.", verdict, count(r.Counts.Problems, "problem"), count(r.Counts.Warnings, "warning"),
		count(r.Counts.Notes, "note"), r.Counts.OK, map[bool]string{false: " (-v shows them)"}[verbose || r.Counts.OK == 0]))
	return emit(w, s.b.String())
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// findings of several devices that say the same.
type findings struct {
	doctor.Finding
	devices []string
}

// together joins the findings of a severity that differ in the device alone.
func together(all []doctor.Finding, severity doctor.Severity) (out []findings) {
next:
	for _, f := range all {
		if f.Severity != severity {
			continue
		}
		for i := range out {
			if o := &out[i]; f.Device != "" && o.ID == f.ID && o.Found == f.Found && o.Source == f.Source && o.Why == f.Why && o.Advice == f.Advice && strings.Join(o.Fix, "\n") == strings.Join(f.Fix, "\n") {
				o.devices = append(o.devices, f.Device)
				continue next
			}
		}
		out = append(out, findings{f, []string{f.Device}})
	}
	return out
}

func findingText(s *sheet, f *findings) {
	head := f.ID
	if f.Device != "" {
		head += " " + strings.Join(f.devices, ", ")
	}
	if f.Severity == doctor.OK {
		wrap(&s.b, fixedSpace+fixedSpace+ascii(head+": "+f.Found), sheetWidth, 4)
		return
	}
	wrap(&s.b, fixedSpace+fixedSpace+ascii(head), sheetWidth, 4)
	sub := sheet{keys: 9}
	sub.row("  found", f.Found)
	sub.row("  source", f.Source)
	if f.Why != "" {
		sub.row("  why", f.Why)
	}
	if f.Advice != "" {
		sub.row("  advice", f.Advice)
	}
	s.b.WriteString(sub.b.String())
	commands(s, "fix", f.Fix)
	commands(s, "undo", f.Undo)
}

// commands are not wrapped and stand alone on their lines, so that all of them can
// be copied at once.
func commands(s *sheet, key string, lines []string) {
	if len(lines) > 0 {
		fmt.Fprintf(&s.b, "    %s\n", key)
	}
	for _, line := range lines {
		fmt.Fprintf(&s.b, "      %s\n", ascii(line))
	}
}
