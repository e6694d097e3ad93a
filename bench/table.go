package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/nvmepass/nvmepass/internal/compare"
	"github.com/nvmepass/nvmepass/internal/stats"
)

// print renders a part as text: where and how it was measured, and a line for
// each comparison.
func (p *Part) print(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s\n", p.Title)
	if p.Environment.Emulated {
		fmt.Fprintf(&b, "EMULATED (%s): the figures compare the sides with each other and do not measure a drive\n", p.Environment.EmulatedReason)
	}
	fmt.Fprintf(&b, "%s\n", machine(&p.Environment))
	for _, s := range p.Settings {
		fmt.Fprintf(&b, "%s\n", s)
	}
	for _, s := range p.Repeated {
		fmt.Fprintf(&b, "a run was repeated: %s\n", s)
	}
	fmt.Fprintf(&b, "load of the machine: %s before, %s after\n", p.LoadBefore, p.LoadAfter)
	if p.Rounds > 1 {
		fmt.Fprintf(&b, "spread of the rounds, (highest-lowest)/median of iops, over the cells: %s\n", p.spread())
	}
	b.WriteString("\n")
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	mark := ""
	if p.Environment.Emulated {
		mark = " (EMULATED)"
	}
	fmt.Fprintf(t, "cell%s\tmetric\tours\ttheirs\tagainst\tratio\t95 %% interval\ttarget\toutcome\n", mark)
	met, undecided, targets := 0, 0, 0
	for _, c := range p.Comparisons {
		interval := "-"
		if c.High != 0 {
			interval = fmt.Sprintf("%.3f-%.3f", c.Low, c.High)
		}
		if c.Outcome != NoTarget {
			targets++
			if c.Outcome.met() {
				met++
			}
			if c.Outcome == Undecided {
				undecided++
			}
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%.3f\t%s\t%v\t%s\n", c.Cell, c.Metric, figure(c.Ours), figure(c.Theirs), c.Against, c.Ratio, interval, c.Target, c.Outcome)
	}
	_ = t.Flush() // to memory
	fmt.Fprintf(&b, "\n%d of %d targets met, %d missed, %d undecided\n", met, targets, targets-met-undecided, undecided)
	_, err := io.WriteString(w, b.String())
	return err
}

// machine is one line on what a part ran on.
func machine(e *compare.Environment) string {
	known := func(name, s string) string {
		if s == "" {
			s = "not known"
		}
		return name + " " + s
	}
	fields := []string{
		fmt.Sprintf("%s x %d", strings.TrimPrefix(known("", e.CPUModel), " "), e.CPUCount),
		known("kernel", e.Kernel), known("governor", e.Governor), known("", e.GoVersion)[1:],
	}
	if e.Accelerator != "" {
		fields = append(fields, "accelerator "+e.Accelerator)
	}
	return strings.Join(fields, ", ")
}

// spread is the range of the sides' spreads over all cells.
func (p *Part) spread() string {
	bySide := map[string][]float64{}
	var names []string
	for _, c := range p.Cells {
		for _, s := range c.Sides {
			iops := values(s.Samples, metricIOPS)
			median, ok := stats.Median(iops)
			if !ok {
				continue
			}
			if !slices.Contains(names, s.Name) {
				names = append(names, s.Name)
			}
			bySide[s.Name] = append(bySide[s.Name], (slices.Max(iops)-slices.Min(iops))/median)
		}
	}
	var out []string
	for _, name := range names {
		out = append(out, fmt.Sprintf("%s %.0f-%.0f %%", name, 100*slices.Min(bySide[name]), 100*slices.Max(bySide[name])))
	}
	return strings.Join(out, ", ")
}

// figure is a number with three significant digits at least.
func figure(v float64) string {
	switch {
	case v >= 1e6:
		return fmt.Sprintf("%.2fM", v/1e6)
	case v >= 1e5:
		return fmt.Sprintf("%.0fk", v/1e3)
	case v >= 1e3:
		return fmt.Sprintf("%.1fk", v/1e3)
	}
	return fmt.Sprintf("%.0f", v)
}
