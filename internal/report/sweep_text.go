package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/nvmepass/nvmepass/internal/compare"
	"github.com/nvmepass/nvmepass/internal/iosetup"
	"github.com/nvmepass/nvmepass/internal/stats"
	"github.com/nvmepass/nvmepass/internal/sweep"
	"github.com/nvmepass/nvmepass/internal/trial"
	"github.com/nvmepass/nvmepass/internal/units"
)

// SweepBaseline is what to show beside a result: nothing, a table in print, or
// a recorded run under its name.
type SweepBaseline struct {
	Published *sweep.Published
	Name      string
	Record    *sweep.Result
}

// SweepText renders a sweep: bandwidth by block size and path, intervals, where
// one read stops being one command, cliffs, and the baseline if there is one.
// Errors are those of w.
func SweepText(w io.Writer, r *sweep.Result, base SweepBaseline) error {
	t := sweepText{page: newPage(0, r.Environment.Emulated), r: r}
	c := &r.Config
	t.line(unbroken(append([]string{"random reads by block size", fmt.Sprintf("QD %d", c.QD)}, schedule(&c.Settings)...)...))
	t.line("requested: " + requested(&c.Mode))
	t.host(r.ToolVersion, &r.Environment, &r.Outcome)
	t.section(driveLine(ascii(c.Device), r.Environment.Devices))
	t.limits()
	t.bandwidth()
	t.intervals()
	t.iops()
	t.published(base.Published)
	t.recorded(base)
	t.effective(sweepDescribe, func(yield func(string, []trial.Round)) {
		for _, p := range c.Paths {
			for _, size := range c.Sizes {
				if cell := r.Cell(sweep.Cell{BlockSize: size, Path: p}); cell != nil {
					yield(sizePathLabel(r, p, cell), cell.Rounds)
				}
			}
		}
	})
	t.notes()
	t.foot(r.Warnings, r.Totals)
	return t.writeTo(w)
}

type sweepText struct {
	*page
	r     *sweep.Result
	texts []string            // remarks on cells that are not run
	cells map[string][]string // and the cells of each
}

// sizePathLabel is the path alone if all of its cells ran in one mode.
func sizePathLabel(r *sweep.Result, p sweep.Path, c *sweep.CellResult) string {
	var first *iosetup.Effective
	for i := range r.Cells {
		if e := trial.Effective(r.Cells[i].Rounds); r.Cells[i].Path == p && e != nil {
			if first != nil && !first.Equal(e) {
				return c.String()
			}
			first = e
		}
	}
	return string(p)
}

func sweepDescribe(s *iosetup.Effective) string {
	if len(s.RingFlags) > 0 {
		return describe(s)
	}
	how := "interrupts"
	if s.Polled {
		how = "polled"
	}
	if s.HugePages {
		how += ", huge pages"
	}
	return how + ", preadv2, no ring"
}

func size(n int) string { return units.FormatSize(int64(n)) }

// limits say where one read stops being one command.
func (t *sweepText) limits() {
	l := &t.r.Limits
	bound := func(n uint64, unknown string) string {
		if n == 0 {
			return unknown
		}
		return units.FormatSize(int64(n))
	}
	s := fmt.Sprintf("one command carries at most %s (MDTS %s, max_hw_sectors %s)", bound(l.OneCommand, "any size"), bound(l.MDTS, "none"), bound(l.MaxHWSectors, "not known"))
	s += fmt.Sprintf("; the block layer splits reads above %s", bound(l.Unsplit, "no size"))
	if l.Unsplit != 0 && l.Unsplit < l.OneCommand {
		s += " where their memory is scattered"
	}
	if l.Chunk != 0 {
		s += fmt.Sprintf(", and at multiples of %s", bound(l.Chunk, ""))
	}
	t.line(s)
	if first := t.r.FirstAbove(); first != 0 {
		t.line(fmt.Sprintf("> marks the sizes, from %s on, that one command does not carry; cmds: how many commands a read on the block node takes at least", size(first)))
	}
}

// row is a block size, marked where one command does not carry it.
func (t *sweepText) row(n int) string {
	if t.r.Limits.Pieces(n) > 1 {
		return "> " + size(n)
	}
	return "  " + size(n)
}

// matrix writes one table of sizes and paths.
func (t *sweepText) matrix(field func(*sweep.CellResult) string) {
	tab := table{left: 1}
	header := []string{"  bs", "cmds"}
	for _, p := range t.r.Config.Paths {
		header = append(header, ascii(string(p)))
	}
	tab.add(header...)
	for _, n := range t.r.Config.Sizes {
		row := []string{t.row(n), t.commands(n)}
		for _, p := range t.r.Config.Paths {
			s := "-"
			if c := t.r.Cell(sweep.Cell{BlockSize: n, Path: p}); c != nil {
				s = field(c)
			}
			row = append(row, s)
		}
		tab.add(row...)
	}
	tab.write(&t.b)
}

// commands is the number of commands that a read on the block node takes.
func (t *sweepText) commands(n int) string {
	pieces := t.r.Limits.Pieces(n)
	if pieces == 1 && t.r.Limits.MaySplit(n) {
		return "1 or 2"
	}
	return strconv.Itoa(pieces)
}

func (t *sweepText) bandwidth() {
	t.section("MiB/s" + t.mark() + ", median of the rounds; (!) a cliff: less than " + strconv.FormatFloat(sweep.CliffShare, 'f', 2, 64) + " of what a smaller size moves")
	t.matrix(func(c *sweep.CellResult) string {
		switch {
		case c.NotRun != "":
			return "-" + t.note(c)
		case c.BytesPerSecond.Median == nil && len(c.Rounds) > 0:
			return "error"
		case c.BytesPerSecond.Median == nil:
			return "-"
		case c.Cliff != nil:
			return "(!) " + mib(*c.BytesPerSecond.Median)
		}
		return mib(*c.BytesPerSecond.Median)
	})
}

func mib(bytesPerSecond float64) string { return significant(bytesPerSecond / (1 << 20)) }

// note numbers the reason why a cell is not run.
func (t *sweepText) note(c *sweep.CellResult) string {
	if t.cells == nil {
		t.cells = map[string][]string{}
	}
	if _, known := t.cells[c.NotRun]; !known {
		t.texts = append(t.texts, c.NotRun)
	}
	t.cells[c.NotRun] = append(t.cells[c.NotRun], c.String())
	for i, text := range t.texts {
		if text == c.NotRun {
			return fmt.Sprintf("[%d]", i+1)
		}
	}
	return ""
}

func (t *sweepText) notes() {
	if len(t.texts) == 0 {
		return
	}
	t.section("Not run")
	for i, text := range t.texts {
		wrap(&t.b, fmt.Sprintf("[%d] %s: %s", i+1, ascii(strings.Join(t.cells[text], ", ")), ascii(text)), t.width, 4)
	}
}

func (t *sweepText) has(of func(*sweep.CellResult) bool) bool {
	for i := range t.r.Cells {
		if of(&t.r.Cells[i]) {
			return true
		}
	}
	return false
}

func (t *sweepText) intervals() {
	if !t.has(func(c *sweep.CellResult) bool { return c.BytesPerSecond.CILow != nil }) {
		return
	}
	t.section("95 % interval" + t.mark() + ", +- of the median")
	t.matrix(func(c *sweep.CellResult) string { return halfWidth(c.BytesPerSecond) })
}

func (t *sweepText) iops() {
	t.section("Reads per second" + t.mark() + ", median")
	t.matrix(func(c *sweep.CellResult) string { return optional(c.IOPS.Median) })
}

// published shows a table in print, and beside each figure ours at the size that
// lies to our limit as its size to the limit there.
func (t *sweepText) published(p *sweep.Published) {
	if p == nil {
		return
	}
	t.section(fmt.Sprintf("%s, MiB/s: %s (%s; one command carried %s), and here%s at the same place of the limit; x: of the first row", ascii(p.Name), ascii(p.Source), ascii(p.Conditions), size(p.Limit), t.mark()))
	tab := table{left: 1}
	header := []string{"bs"}
	for _, path := range p.Paths {
		header = append(header, string(path), "x")
	}
	header = append(header, "here at")
	for _, path := range p.Paths {
		header = append(header, string(path), "x")
	}
	tab.add(header...)
	for i, n := range p.Sizes {
		row := []string{size(n)}
		for j := range p.Paths {
			row = append(row, strconv.FormatFloat(p.MiBps[i][j], 'f', 0, 64), strconv.FormatFloat(p.MiBps[i][j]/p.MiBps[0][j], 'f', 2, 64))
		}
		here := p.At(n, t.r.Limits.OneCommand)
		row = append(row, size(here))
		for _, path := range p.Paths {
			row = append(row, t.here(path, here, p.At(p.Sizes[0], t.r.Limits.OneCommand))...)
		}
		tab.add(row...)
	}
	tab.write(&t.b)
}

// here is our figure at a size, and its share of that at the first size.
func (t *sweepText) here(p sweep.Path, n, first int) []string {
	c, f := t.r.Cell(sweep.Cell{BlockSize: n, Path: p}), t.r.Cell(sweep.Cell{BlockSize: first, Path: p})
	if c == nil || c.BytesPerSecond.Median == nil {
		return []string{"-", "-"}
	}
	share := "-"
	if f != nil && f.BytesPerSecond.Median != nil && *f.BytesPerSecond.Median > 0 {
		share = strconv.FormatFloat(*c.BytesPerSecond.Median / *f.BytesPerSecond.Median, 'f', 2, 64)
	}
	return []string{mib(*c.BytesPerSecond.Median), share}
}

// recorded compares with another run, whose rounds belong to none of this one.
func (t *sweepText) recorded(b SweepBaseline) {
	if b.Record == nil {
		return
	}
	old := b.Record
	t.section(fmt.Sprintf("Ratio%s to %s%s, recorded %s (%s, QD %d, %s, kernel %s): not paired, +- its 95 %% interval (Welch); same: the interval contains 1", t.mark(),
		ascii(b.Name), emulated(old.Environment.Emulated), old.Started.Format("2006-01-02 15:04:05 MST"), ascii(old.Config.Device), old.Config.QD,
		strings.Join(schedule(&old.Config.Settings), ", "), orUnknown(old.Environment.Kernel)))
	t.matrix(func(c *sweep.CellResult) string {
		was := old.Cell(c.Cell)
		if was == nil {
			return "-"
		}
		return shortRatio(trial.Unpaired(c.Rounds, was.Rounds))
	})
}

// shortRatio is ratioText without the value of what is the same, so that six
// paths fit a line.
func shortRatio(r *compare.Ratio) string {
	if r != nil && r.Verdict == stats.VerdictSame {
		return "same +-" + halfWidth(r.Estimate)
	}
	return ratioText(r)
}

// driveLine says what drive the figures are of.
func driveLine(name string, devices []compare.Device) string {
	if len(devices) == 0 {
		return name
	}
	d := &devices[0]
	parts := []string{orUnknown(d.Model), "firmware " + orUnknown(d.Firmware), fmt.Sprintf("LBA %d B", d.LBAFormat.DataBytes)}
	if d.PollQueues != nil {
		parts = append(parts, fmt.Sprintf("poll queues %d", *d.PollQueues))
	}
	if d.Scheduler != "" {
		parts = append(parts, "scheduler "+ascii(d.Scheduler))
	}
	if d.TemperatureBeforeCelsius != nil && d.TemperatureAfterCelsius != nil {
		parts = append(parts, fmt.Sprintf("%d C before, %d C after", *d.TemperatureBeforeCelsius, *d.TemperatureAfterCelsius))
	}
	return name + ": " + unbroken(parts...)
}
