package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nvmepass/nvmepass/test/faults"
)

// column is what came of the cases on one kernel.
type column struct {
	kernel  string
	path    string // of the kernel
	results map[string]faults.Result
	lost    []string // cases whose guest ended before they did
}

// document is docs/reliability.md.
type document struct {
	qemu    string
	columns []column
}

const head = `# Reliability

What happens when drives, kernels and users misbehave. Each fault below was really injected, in the [lab](design.md#the-lab): the kernel's own NVMe
driver, QEMU's drive, and this library and tool as they ship. ` + "`make faults`" + ` runs the cases and writes this file; nothing in it is written by hand. The
cases are in [test/faults](../test/faults).

Each case runs in a process of its own and ends within its bound, or is killed and fails. Of each, the harness checks that

- issued = ok + failed + cancelled: every command that was sent has one outcome, and none has two (commands that the library gave up, because nothing came back
  within its stall limit, are counted apart);
- the exit code of nvmepass is the one that is promised, where the tool takes part;
- nothing is left behind: no process, no descriptor, no ring, no locked or pinned memory, no goroutine. Where commands never come back, memory stays
  mapped on purpose (marked *stays mapped*), and the case ends with its process.

Data is compared wherever a write was acknowledged. The time is that of the case with its process, on an emulated machine; the counts are of the newest kernel.

`

// String is the file's text.
func (d *document) String() string {
	var b strings.Builder
	b.WriteString(head)
	versions := make([]string, len(d.columns))
	for i, c := range d.columns {
		versions[i] = c.kernel
	}
	fmt.Fprintf(&b, "Kernels: %s. QEMU %s.\n", strings.Join(versions, ", "), d.qemu)
	for _, g := range faults.Groups() {
		fmt.Fprintf(&b, "\n## %s\n\n| case | fault | what must happen | bound | exit code |", g.Title)
		for _, v := range versions {
			fmt.Fprintf(&b, " %s |", v)
		}
		b.WriteString(" issued = ok + failed + cancelled | seen |\n|---|---|---|---|---|" + strings.Repeat("---|", len(versions)) + "---|---|\n")
		for _, c := range g.Cases {
			b.WriteString(d.row(c))
		}
	}
	return b.String()
}

func (d *document) row(c faults.Case) string {
	must := c.Must
	if c.Leaks {
		must += " (*stays mapped*)"
	}
	cells := []string{c.Name, c.Fault, must, c.Bound.String(), exitText(c.Exit)}
	var last faults.Result
	for _, col := range d.columns {
		r, ok := col.results[c.Name]
		switch {
		case !ok:
			cells = append(cells, "not run")
			continue
		case r.Result == faults.Skip:
			cells = append(cells, "not there: "+r.Reason)
			continue
		}
		cell := fmt.Sprintf("%s, %v", r.Result, time.Duration(r.Seconds*float64(time.Second)).Round(100*time.Millisecond))
		if r.Outcome.Without != "" {
			cell += "; " + r.Outcome.Without
		}
		cells = append(cells, cell)
		last = r
	}
	o := last.Outcome
	count := fmt.Sprintf("%d = %d + %d + %d", o.Issued, o.OK, o.Failed, o.Cancelled)
	if o.Lost > 0 {
		count += fmt.Sprintf(" + %d given up", o.Lost)
	}
	if o.Nothing {
		count = "nothing is sent"
	}
	cells = append(cells, count, o.Note)
	for i := range cells {
		cells[i] = strings.ReplaceAll(cells[i], "|", `\|`)
	}
	return "| " + strings.Join(cells, " | ") + " |\n"
}

func exitText(code int) string {
	if code == faults.LibraryOnly {
		return "library"
	}
	return fmt.Sprint(code)
}

// ranNowhere is an error if one of the cases ran on no kernel.
func (d *document) ranNowhere(cases []faults.Case) error {
	var errs []error
	for _, c := range cases {
		ran := false
		for _, col := range d.columns {
			r, ok := col.results[c.Name]
			ran = ran || ok && r.Result != faults.Skip
		}
		if !ran {
			errs = append(errs, fmt.Errorf("case %s ran on no kernel", c.Name))
		}
	}
	return errors.Join(errs...)
}
