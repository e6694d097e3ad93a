package report

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/nvmepass/nvmepass/internal/compare"
	"github.com/nvmepass/nvmepass/internal/iosetup"
	"github.com/nvmepass/nvmepass/internal/nopbench"
	"github.com/nvmepass/nvmepass/internal/stats"
	"github.com/nvmepass/nvmepass/internal/trial"
)

// NopBaseline is what to show beside a result: nothing, figures in print, or a
// recorded run under its name.
type NopBaseline struct {
	Published *nopbench.Published
	Name      string
	Record    *nopbench.Result
}

// NopText renders a measurement of the ring alone: total and rate of each cell,
// then the table, and the baseline if there is one. Errors are those of w.
func NopText(w io.Writer, r *nopbench.Result, base NopBaseline) error {
	t := nopText{page: newPage(0, r.Environment.Emulated), r: r}
	c := &r.Config
	what := "NOPs on an io_uring, no device"
	if c.Op == nopbench.URINGCmd {
		what = "NVMe reads to /dev/null, no device"
	}
	rule := "fio's rule (reap 1 to batch)"
	if c.Rule == iosetup.RuleTIOUring {
		rule = "t/io_uring's rule (wait for a whole batch)"
	}
	t.line(unbroken(append([]string{what, rule}, schedule(&c.Settings)...)...))
	t.line("requested: " + nopRequested(c))
	t.host(r.ToolVersion, &r.Environment, &r.Outcome)
	t.totals()
	t.table()
	t.ablation()
	t.published(base.Published)
	t.recorded(base)
	t.effective(nopDescribe, func(yield func(string, []trial.Round)) {
		for i := range r.Cells {
			yield(cellLabel(&r.Cells[i]), r.Cells[i].Rounds)
		}
	})
	t.foot(r.Warnings, r.Totals)
	return t.writeTo(w)
}

type nopText struct {
	*page
	r *nopbench.Result
}

// cellLabel is the row, or the variant, whose settings are those of all rows.
func cellLabel(c *nopbench.CellResult) string {
	if c.Variant != "" {
		return c.Variant
	}
	return c.Depth.String()
}

// nopRequested writes the switches that mean something to the operation.
func nopRequested(c *nopbench.Config) string {
	m := c.Mode
	var parts []string
	for part := range strings.SplitSeq(requested(&m), ", ") {
		name, _, _ := strings.Cut(part, " ")
		if c.Op.Has(name) || strings.HasPrefix(name, "sqpoll-") {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, ", ")
}

func nopDescribe(s *iosetup.Effective) string {
	flags := "none"
	if len(s.RingFlags) > 0 {
		flags = strings.Join(s.RingFlags, "|")
	}
	return fmt.Sprintf("registered files %s, registered ring %s, ring flags %s", onOff(s.RegisteredFiles), onOff(s.RegisteredRing), flags)
}

// base are the cells without the variants.
func (t *nopText) base() []*nopbench.CellResult {
	var cells []*nopbench.CellResult
	for i := range t.r.Cells {
		if t.r.Cells[i].Variant == "" {
			cells = append(cells, &t.r.Cells[i])
		}
	}
	return cells
}

// totals are the two lines of the kernel developers' own stress run, for each
// cell in one.
func (t *nopText) totals() {
	t.section("Commands that ended well in all windows, and the median of their rate" + t.mark())
	for _, c := range t.base() {
		rate := "-"
		if c.IOPS.Median != nil {
			rate = integer(*c.IOPS.Median)
		}
		t.line(fmt.Sprintf("%s: total ios: %d, IOPS: %s", c.Depth, c.TotalIOs, rate))
	}
}

func integer(v float64) string { return strconv.FormatFloat(v, 'f', 0, 64) }

func (t *nopText) table() {
	t.section("Commands per second" + t.mark() + ", median of the rounds and 95 % interval; CPU in ns per command")
	tab := table{left: 1}
	tab.add("QD_batch", "IOPS", "95 % interval", "ns/op", "+-", "submit/call", "reap/call", "user", "system", "rounds")
	for _, c := range t.base() {
		rate, ns := "-", "-"
		if c.IOPS.Median != nil {
			rate = integer(*c.IOPS.Median)
		}
		if c.NSPerOp.Median != nil {
			ns = strconv.FormatFloat(*c.NSPerOp.Median, 'f', 1, 64)
		}
		tab.add(c.Depth.String(), rate, interval(c.IOPS, integer), ns, halfWidth(c.NSPerOp), optional(c.SubmitPerCall), optional(c.ReapPerCall),
			optional(c.UserCPUNSPerIO), optional(c.SystemCPUNSPerIO), fmt.Sprintf("%d/%d", c.Measured, t.r.Config.Rounds))
	}
	tab.write(&t.b)
}

// ablation says for each switch what turning it over alone does.
func (t *nopText) ablation() {
	if !t.r.Config.Ablate {
		return
	}
	t.section("Ablation" + t.mark() + ": IOPS with one switch turned over, as a ratio to the same row above, paired by round; same: the interval contains 1.00")
	tab := table{left: 1}
	header := []string{"switch"}
	var variants []string
	for _, c := range t.base() {
		header = append(header, c.Depth.String())
	}
	for i := range t.r.Cells {
		if v := t.r.Cells[i].Variant; v != "" && !slices.Contains(variants, v) {
			variants = append(variants, v)
		}
	}
	tab.add(header...)
	for _, v := range variants {
		row := []string{ascii(v)}
		for _, b := range t.base() {
			row = append(row, t.turned(t.r.Cell(nopbench.Cell{Op: b.Op, Depth: b.Depth, Variant: v})))
		}
		tab.add(row...)
	}
	tab.write(&t.b)
}

func (t *nopText) turned(c *nopbench.CellResult) string {
	switch {
	case c == nil || len(c.Rounds) == 0:
		return "-"
	case c.Measured == 0:
		return "error"
	case c.WithoutEffect:
		return "no effect here"
	}
	return ratioText(c.RatioToBase)
}

func (t *nopText) published(p *nopbench.Published) {
	if p == nil {
		return
	}
	t.section(fmt.Sprintf("%s: %s (%s)", ascii(p.Name), ascii(p.Source), ascii(p.Conditions)))
	t.line(fmt.Sprintf("before: IOPS: %s; after: total ios: %d, IOPS: %s, %+.1f %%", integer(p.Before), p.TotalAfter, integer(p.After), 100*(p.After/p.Before-1)))
	for _, c := range t.base() {
		if c.IOPS.Median != nil {
			t.line(fmt.Sprintf("%s here%s: IOPS: %s, %s times the figure after", c.Depth, t.mark(), integer(*c.IOPS.Median), significant(*c.IOPS.Median/p.After)))
		}
	}
}

// recorded compares with another run, whose rounds belong to none of this one.
func (t *nopText) recorded(b NopBaseline) {
	if b.Record == nil {
		return
	}
	old := b.Record
	t.section(fmt.Sprintf("Ratio%s to %s%s, recorded %s (%s, rule %s, %s, kernel %s): not paired, with its 95 %% interval (Welch)", t.mark(),
		ascii(b.Name), emulated(old.Environment.Emulated), old.Started.Format("2006-01-02 15:04:05 MST"), old.Config.Op, old.Config.Rule,
		strings.Join(schedule(&old.Config.Settings), ", "), orUnknown(old.Environment.Kernel)))
	tab := table{left: 1}
	tab.add("QD_batch", "IOPS then", "IOPS now", "ratio", "95 % interval", "verdict")
	for _, c := range t.base() {
		was := old.Cell(nopbench.Cell{Op: c.Op, Depth: c.Depth})
		if was == nil || was.IOPS.Median == nil || c.IOPS.Median == nil {
			tab.add(c.Depth.String(), "-", "-", "-", "-", "not in both runs")
			continue
		}
		ratio, iv, verdict := "-", "-", "unknown"
		if r := trial.Unpaired(c.Rounds, was.Rounds); r != nil {
			ratio, iv, verdict = three(*r.Median), interval(r.Estimate, three), verdictText(r)
		}
		tab.add(c.Depth.String(), integer(*was.IOPS.Median), integer(*c.IOPS.Median), ratio, iv, verdict)
	}
	tab.write(&t.b)
}

func three(v float64) string { return strconv.FormatFloat(v, 'f', 3, 64) }

// verdictText says which of two runs was faster, as far as the rounds can tell.
func verdictText(r *compare.Ratio) string {
	switch r.Verdict {
	case stats.VerdictSame:
		return "same: the interval contains 1"
	case stats.VerdictHigher:
		return "faster than then"
	case stats.VerdictLower:
		return "slower than then"
	}
	return "unknown: fewer than 3 rounds"
}
