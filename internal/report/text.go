package report

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/nvmepass/nvmepass/internal/compare"
	"github.com/nvmepass/nvmepass/internal/iosetup"
	"github.com/nvmepass/nvmepass/internal/stats"
)

// DefaultWidth is the number of columns that text is wrapped to.
const DefaultWidth = 100

// minWidth is the narrowest width that text is wrapped to.
const minWidth = 40

// TextOptions choose what [Text] shows. The zero value is the default.
type TextOptions struct {
	// Width is the number of columns that sentences are wrapped to; 0 means DefaultWidth, and less than 40 means 40. Tables
	// keep their own width, at most 100.
	Width int
	// Baseline returns the table to show beside a device's figures, or nil for none. It may be nil itself.
	Baseline func(device string) *compare.BaselineTable
}

// Text renders a result as the published table: for each device the median KIOPS by QD_batch and path, their intervals,
// the ratios to the block path, and what each cell cost. Errors are those of w.
func Text(w io.Writer, r *compare.Result, opt TextOptions) error {
	t := text{r: r, width: opt.Width}
	if t.width == 0 {
		t.width = DefaultWidth
	}
	t.width = max(t.width, minWidth)
	t.head()
	for _, device := range r.Config.Devices {
		var base *compare.BaselineTable
		if opt.Baseline != nil {
			base = opt.Baseline(device)
		}
		t.device(device, base)
	}
	t.foot()
	_, err := io.WriteString(w, t.b.String())
	return err
}

type text struct {
	b     strings.Builder
	r     *compare.Result
	width int
}

func (t *text) line(s string)    { wrap(&t.b, s, t.width, 2) }
func (t *text) emulated() string { return emulated(t.r.Environment.Emulated) }
func (t *text) section(s string) { t.b.WriteString("\n"); t.line(s) }

// head says what was run and where.
func (t *text) head() {
	c, e := &t.r.Config, &t.r.Environment
	rule := "fio's rule (reap 1 to batch)"
	if c.Rule == iosetup.RuleTIOUring {
		rule = "t/io_uring's rule (wait for a whole batch)"
	}
	pin := "not pinned"
	if c.CPU != nil {
		pin = "pinned to CPU " + strconv.Itoa(*c.CPU)
	}
	t.line(unbroken(fmt.Sprintf("%d B %s", c.BlockSize, ascii(c.RW)), rule,
		fmt.Sprintf("%s x %v after %v warm-up", plural(c.Rounds, "round"), c.Runtime, c.Warmup), fmt.Sprintf("seed %d", c.Seed), pin))
	t.line("requested: " + requested(&c.Mode))
	host := []string{"nvmepass " + orUnknown(t.r.ToolVersion), "kernel " + orUnknown(e.Kernel)}
	if e.CPUModel != "" {
		host = append(host, fmt.Sprintf("%s x %d", ascii(e.CPUModel), e.CPUCount))
	}
	if e.Governor != "" {
		host = append(host, "governor "+ascii(e.Governor))
	}
	t.line(unbroken(append(host, t.r.Started.Format("2006-01-02 15:04:05 MST"))...))
	if e.Emulated {
		how := []string{}
		if e.EmulatedReason != "" {
			how = append(how, ascii(e.EmulatedReason))
		}
		if e.Lab {
			how = append(how, "nvmepass lab")
		}
		if e.Accelerator != "" {
			how = append(how, "accelerator "+ascii(e.Accelerator))
		}
		s := "EMULATED: figures compare paths on this machine only, not drives"
		if len(how) > 0 {
			s += " (" + unbroken(how...) + ")"
		}
		t.line(s)
	}
	if t.r.Interrupted {
		t.line("INTERRUPTED: " + orUnknown(t.r.StopReason))
	}
}

func orUnknown(s string) string {
	if s == "" {
		return "(not known)"
	}
	return ascii(s)
}

// device renders everything about one device.
func (t *text) device(device string, base *compare.BaselineTable) {
	t.section(t.drive(device))
	var n notes
	t.figures(device, &n)
	t.intervals(device)
	t.ratios(device, base)
	if base != nil {
		t.baseline(base)
	}
	t.ablation(device, &n)
	t.costs(device)
	if lines := effective(t.r, device); len(lines) > 0 {
		t.section("Effective settings")
		for _, s := range lines {
			t.line(ascii(s))
		}
	}
	if len(n.texts) > 0 {
		t.section("Notes")
		n.write(&t.b, t.width)
	}
}

// drive describes the device itself.
func (t *text) drive(device string) string {
	name := ascii(device)
	for i := range t.r.Environment.Devices {
		d := &t.r.Environment.Devices[i]
		if d.Path != device {
			continue
		}
		parts := []string{orUnknown(d.Model)}
		if d.Firmware != "" {
			parts = append(parts, "firmware "+ascii(d.Firmware))
		}
		format := fmt.Sprintf("LBA %d B", d.LBAFormat.DataBytes)
		if d.LBAFormat.MetadataBytes > 0 {
			format += fmt.Sprintf(" + %d B metadata (%s)", d.LBAFormat.MetadataBytes, orUnknown(d.LBAFormat.MetadataLayout))
		}
		if d.LBAFormat.ProtectionType > 0 {
			format += fmt.Sprintf(", protection type %d", d.LBAFormat.ProtectionType)
		}
		parts = append(parts, format)
		if d.MaxHWSectorsBytes != nil {
			parts = append(parts, "largest command "+byteSize(*d.MaxHWSectorsBytes))
		}
		if d.PollQueues != nil {
			parts = append(parts, "poll queues "+strconv.Itoa(*d.PollQueues))
		}
		if d.Scheduler != "" {
			parts = append(parts, "scheduler "+ascii(d.Scheduler))
		}
		if d.TemperatureBeforeCelsius != nil && d.TemperatureAfterCelsius != nil {
			parts = append(parts, fmt.Sprintf("%d C before, %d C after", *d.TemperatureBeforeCelsius, *d.TemperatureAfterCelsius))
		}
		return name + ": " + unbroken(parts...)
	}
	return name
}

// matrix writes one table in the published shape.
func (t *text) matrix(device string, field func(*compare.CellResult) string) {
	header := []string{"QD_batch"}
	unpolled := false
	for _, path := range t.r.Config.Paths {
		name := ascii(string(path))
		if notPolled(t.r, device, path) {
			unpolled = true
			name += "*"
		}
		header = append(header, name)
	}
	tab := table{left: 1}
	tab.add(header...)
	for _, depth := range t.r.Config.Depths {
		row := []string{depth.String()}
		for _, path := range t.r.Config.Paths {
			s := "-"
			if c := t.r.Cell(compare.Cell{Device: device, Path: path, Depth: depth}); c != nil {
				s = field(c)
			}
			row = append(row, s)
		}
		tab.add(row...)
	}
	tab.write(&t.b)
	if unpolled {
		t.line("* not polled: the kernel completed these by interrupts")
	}
}

// emulated is the mark in the title of every table whose figures come from an emulated drive.
func emulated(yes bool) string {
	if yes {
		return " (EMULATED)"
	}
	return ""
}

// plural writes a number with its noun.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

func (t *text) figures(device string, n *notes) {
	fewest, most := 0, 0
	for i := range t.r.Cells {
		if c := &t.r.Cells[i]; c.Device == device && c.Measured > 0 {
			if fewest == 0 || c.Measured < fewest {
				fewest = c.Measured
			}
			most = max(most, c.Measured)
		}
	}
	rounds := plural(most, "round")
	if fewest != most {
		rounds = strconv.Itoa(fewest) + " to " + rounds
	}
	t.section("KIOPS" + t.emulated() + ", median of " + rounds)
	t.matrix(device, func(c *compare.CellResult) string {
		s := "-"
		switch mark := n.mark(c); {
		case c.IOPS.Median != nil:
			s = significant(*c.IOPS.Median/1000) + mark
		case mark != "":
			s = "error" + mark
		}
		return s
	})
}

func (t *text) intervals(device string) {
	if !t.any(device, func(c *compare.CellResult) bool { return c.IOPS.CILow != nil }) {
		return
	}
	t.section("95 % interval" + t.emulated() + ", +- of the median")
	t.matrix(device, func(c *compare.CellResult) string { return halfWidth(c.IOPS) })
}

func (t *text) ratios(device string, base *compare.BaselineTable) {
	if !t.any(device, func(c *compare.CellResult) bool { return c.RatioToBlock != nil }) {
		return
	}
	title := "Ratio to block" + t.emulated() + ", paired by round, with its 95 % interval; same: the interval contains 1.00"
	if base != nil {
		title += "; beside it " + ascii(base.Name) + emulated(base.Emulated)
	}
	t.section(title)
	t.matrix(device, func(c *compare.CellResult) string {
		s := ratio(c)
		if base == nil || c.Path == iosetup.Block {
			return s
		}
		beside := "-"
		if v, ok := base.RatioToBlock(c.Path, c.Depth); ok {
			beside = strconv.FormatFloat(v, 'f', 2, 64) + "x"
		}
		return s + " | " + fmt.Sprintf("%5s", beside)
	})
}

func (t *text) any(device string, has func(*compare.CellResult) bool) bool {
	for i := range t.r.Cells {
		if c := &t.r.Cells[i]; c.Device == device && has(c) {
			return true
		}
	}
	return false
}

// ratio writes a cell's ratio to block: "1.26x +-3.1%", "same (1.01) +-2.0%", or with a question mark where there is no interval.
func ratio(c *compare.CellResult) string {
	if c.Path == iosetup.Block && c.IOPS.Median != nil {
		return "1"
	}
	return ratioText(c.RatioToBlock)
}

func ratioText(r *compare.Ratio) string {
	if r == nil || r.Median == nil {
		return "-"
	}
	v := strconv.FormatFloat(*r.Median, 'f', 2, 64)
	switch r.Verdict {
	case stats.VerdictSame:
		return "same (" + v + ") +-" + halfWidth(r.Estimate)
	case stats.VerdictHigher, stats.VerdictLower:
		return v + "x +-" + halfWidth(r.Estimate)
	default:
		return v + "x ?"
	}
}

func (t *text) baseline(b *compare.BaselineTable) {
	t.section(fmt.Sprintf("%s, KIOPS%s: %s (%s)", ascii(b.Name), emulated(b.Emulated), ascii(b.Source), ascii(b.Conditions)))
	tab := table{left: 1}
	header := []string{"QD_batch"}
	for _, path := range b.Paths {
		header = append(header, ascii(string(path)))
	}
	tab.add(header...)
	for _, depth := range b.Depths {
		row := []string{depth.String()}
		for _, path := range b.Paths {
			s := "-"
			if v, ok := b.IOPS(path, depth); ok {
				s = published(v)
			}
			row = append(row, s)
		}
		tab.add(row...)
	}
	tab.write(&t.b)
}

// published writes a figure in KIOPS; whole ones, as in print, stay whole.
func published(iops float64) string {
	if iops == math.Trunc(iops/1000)*1000 {
		return strconv.FormatFloat(iops/1000, 'f', 0, 64)
	}
	return significant(iops / 1000)
}

// costs says what each cell took: calls, queue, processor time.
func (t *text) costs(device string) {
	t.section("Per cell" + t.emulated() + ", medians: I/Os per call, mean in flight, CPU ns per I/O")
	tab := table{left: 2}
	tab.add("QD_batch", "path", "submit/call", "reap/call", "in flight", "user ns/IO", "system ns/IO", "rounds")
	for i := range t.r.Cells {
		c := &t.r.Cells[i]
		if c.Device != device || c.Variant != "" {
			continue
		}
		tab.add(c.Depth.String(), ascii(string(c.Path)), optional(c.SubmitPerCall), optional(c.ReapPerCall), optional(c.MeanInFlight),
			optional(c.UserCPUNSPerIO), optional(c.SystemCPUNSPerIO), fmt.Sprintf("%d/%d", c.Measured, t.r.Config.Rounds))
	}
	tab.write(&t.b)
}

// foot gives the totals and warnings.
func (t *text) foot() {
	if len(t.r.Warnings) > 0 {
		t.section("Warnings")
		for _, s := range t.r.Warnings {
			t.line("- " + ascii(s))
		}
	}
	c := &t.r.Totals
	t.section(fmt.Sprintf("Total: issued %d, ok %d, failed %d, cancelled %d", c.Issued, c.OK, c.Failed, c.Cancelled))
}
