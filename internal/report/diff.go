package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/nvmepass/nvmepass/internal/compare"
	"github.com/nvmepass/nvmepass/internal/diff"
	"github.com/nvmepass/nvmepass/internal/jobs"
	"github.com/nvmepass/nvmepass/internal/record"
)

// DiffText renders a comparison of two records: what differs beside the figures
// first, then one table for each device and metric, then what it comes to.
// Errors are those of w.
func DiffText(w io.Writer, r *diff.Result) error {
	t := diffText{r: r}
	t.head()
	t.differences()
	for _, g := range diffGroups(r) {
		t.group(g)
	}
	t.foot()
	return emit(w, t.b.String())
}

type diffText struct {
	b strings.Builder
	r *diff.Result
}

func (t *diffText) line(s string)    { wrap(&t.b, s, DefaultWidth, 2) }
func (t *diffText) section(s string) { t.b.WriteString("\n"); t.line(s) }

func (t *diffText) head() {
	for _, s := range []struct {
		name string
		side *diff.Side
	}{{"old", &t.r.Old}, {"new", &t.r.New}} {
		text := s.name + " " + ascii(s.side.Name) + ": " + unbroken(ascii(s.side.Title), "nvmepass "+orUnknown(s.side.ToolVersion), s.side.Started.Format("2006-01-02 15:04:05 MST"))
		if s.side.Emulated {
			text += ", EMULATED"
		}
		t.line(text)
	}
}

// differences lists settings, refused ones with an exclamation mark.
func (t *diffText) differences() {
	for _, d := range []struct {
		title, verb string
		list        []diff.Difference
	}{
		{"Environment", "differs", t.r.Environment}, {"Configuration", "differs", t.r.Config}, {"Effective settings", "differ", t.r.Effective},
	} {
		if len(d.list) == 0 {
			t.section(d.title + ": no difference")
			continue
		}
		t.section(d.title + " " + d.verb + ": old -> new")
		for _, x := range d.list {
			mark := ""
			if x.Refused {
				mark = " (!)"
			}
			was, is := changed(x.Old, x.New)
			wrap(&t.b, "- "+ascii(x.Setting)+mark+": "+ascii(was)+" -> "+ascii(is), DefaultWidth, 4)
		}
	}
}

// changed leaves out what two long lists have alike, such as two kernels' command
// lines.
func changed(old, updated string) (was, is string) {
	const short = 4
	separator := " "
	if strings.Contains(old+updated, ", ") {
		separator = ", "
	}
	a, b := strings.Split(old, separator), strings.Split(updated, separator)
	if len(a) < short && len(b) < short {
		return old, updated
	}
	rest := func(list, other []string) string {
		var out []string
		for _, s := range list {
			if !slices.Contains(other, s) {
				out = append(out, s)
			}
		}
		switch {
		case len(out) == len(list):
			return strings.Join(list, separator)
		case len(out) == 0:
			return "..."
		}
		return strings.Join(append(out, "..."), separator)
	}
	was, is = rest(a, b), rest(b, a)
	if was == is {
		return old, updated // they differ in order or number alone
	}
	return was, is
}

// diffGroup is the cells of one table.
type diffGroup struct {
	device, metric string
	cells          []*diff.CellDiff
}

func diffGroups(r *diff.Result) []diffGroup {
	var groups []diffGroup
	index := map[record.Key]int{}
	for i := range r.Cells {
		c := &r.Cells[i]
		key := record.Key{Device: c.Device, Metric: c.Metric}
		if _, ok := index[key]; !ok {
			index[key] = len(groups)
			groups = append(groups, diffGroup{device: c.Device, metric: c.Metric})
		}
		g := &groups[index[key]]
		g.cells = append(g.cells, c)
	}
	return groups
}

func (t *diffText) group(g diffGroup) {
	unit, per := record.Unit(g.metric)
	title := fmt.Sprintf("%s%s, geometric means; change with its 95 %% interval; same: within +-%s", unit, emulated(t.r.Old.Emulated || t.r.New.Emulated), percent(t.r.Margin, false))
	if g.device != "" {
		title = ascii(g.device) + ", " + title
	}
	t.section(title)
	variants := false
	for _, c := range g.cells {
		variants = variants || c.Variant != ""
	}
	tab := table{left: 2}
	header := []string{"QD_batch", "path"}
	if variants {
		header, tab.left = append(header, "switch"), 3
	}
	tab.add(append(header, "old "+unit, "new "+unit, "change", "from", "to", "rounds", "verdict")...)
	for _, c := range g.cells {
		row := []string{ascii(c.Row), ascii(c.Column)}
		if variants {
			row = append(row, ascii(c.Variant))
		}
		tab.add(append(row, scaled(c.Old.Mean, per), scaled(c.New.Mean, per), percentOf(c.Change), percentOf(c.CILow), percentOf(c.CIHigh),
			fmt.Sprintf("%d/%d", c.Old.Rounds, c.New.Rounds), diffVerdict(c))...)
	}
	tab.write(&t.b)
}

func scaled(v *float64, per float64) string {
	if v == nil {
		return "-"
	}
	return significant(*v / per)
}

func percentOf(v *float64) string {
	if v == nil {
		return "-"
	}
	return percent(*v, true)
}

// percent writes a share with one digit after the point, whole ones above 100 %.
func percent(v float64, signed bool) string {
	digits := 1
	if math.Abs(v) >= 0.9995 {
		digits = 0
	}
	s := strings.TrimPrefix(strconv.FormatFloat(100*v, 'f', digits, 64), "-") + "%"
	if v < 0 && strings.Trim(s, "0.%") != "" {
		s = "-" + s
	}
	switch {
	case v > 9.995:
		return ">+999%"
	case signed && !strings.HasPrefix(s, "-"):
		return "+" + s
	}
	return s
}

// diffVerdict marks a cell that looks changed by itself but may be so by chance.
func diffVerdict(c *diff.CellDiff) string {
	s := string(c.Verdict)
	if byChance(c) {
		s += "*"
	}
	if c.RoundsNeeded != nil {
		s += " (" + needed(*c.RoundsNeeded) + ")"
	}
	switch c.Verdict {
	case diff.Slower:
		return bad(s)
	case diff.Faster:
		return good(s)
	case diff.TooNoisy, diff.NoFigure:
		return warn(s)
	}
	return s
}

func needed(n int) string {
	if n >= diff.MaxRoundsNeeded {
		return ">" + strconv.Itoa(n)
	}
	return strconv.Itoa(n)
}

func byChance(c *diff.CellDiff) bool {
	return c.Verdict == diff.TooNoisy && c.CILow != nil && (*c.CILow > 0 || *c.CIHigh < 0)
}

func (t *diffText) foot() {
	t.b.WriteString("\n")
	var counts []string
	for _, v := range diff.Verdicts() {
		if n := t.r.Counts[v]; n > 0 || v != diff.NoFigure {
			counts = append(counts, fmt.Sprintf("%d %s", n, v))
		}
	}
	t.line(plural(len(t.r.Cells), "cell") + ": " + strings.Join(counts, ", "))
	most, chance, few := 0, false, false
	for i := range t.r.Cells {
		c := &t.r.Cells[i]
		if c.RoundsNeeded != nil {
			most = max(most, *c.RoundsNeeded)
			few = few || c.Change == nil
		}
		chance = chance || byChance(c)
	}
	if most > 0 {
		rounds, remedy := "rounds", "--rounds "+needed(most)+", or longer rounds"
		switch {
		case t.r.Old.Schema == jobs.Schema:
			rounds, remedy = "seconds", "--runtime "+needed(most) // a run's rounds are its seconds
		case most > compare.MaxRounds:
			remedy = "longer rounds, which scatter less, or on a quieter machine"
		}
		t.line(fmt.Sprintf("too noisy: needs about as many %s in each run as stand in brackets to see a change of %s; record both with %s",
			rounds, percent(t.r.VisibleChange, false), remedy))
	}
	if few {
		t.line("too noisy (3): there is no interval from fewer than 3 rounds in each run")
	}
	if chance {
		t.line(fmt.Sprintf("* by itself its interval excludes no change, but among %s such a one may come by chance", plural(len(t.r.Cells), "cell")))
	}
	for _, only := range []struct {
		name  string
		cells []record.Key
	}{{"old", t.r.OnlyOld}, {"new", t.r.OnlyNew}} {
		if len(only.cells) > 0 {
			t.line(fmt.Sprintf("only in %s: %s", only.name, keys(only.cells)))
		}
	}
	if len(t.r.Warnings) > 0 {
		t.section("Warnings")
		for _, s := range t.r.Warnings {
			t.line("- " + ascii(s))
		}
	}
}

func keys(list []record.Key) string {
	const most = 12
	var names []string
	for i, k := range list {
		if i == most {
			return strings.Join(names, ", ") + fmt.Sprintf(" and %d more", len(list)-most)
		}
		names = append(names, ascii(strings.TrimSpace(k.Row+" "+k.Column+" "+k.Variant)))
	}
	return strings.Join(names, ", ")
}

// DiffJSON writes a comparison of two records as one JSON document in the form
// of [diff.Schema].
func DiffJSON(w io.Writer, r *diff.Result) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(r); err != nil {
		return fmt.Errorf("render diff as JSON: %w", err)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// DiffCSV writes a comparison of two records as one row for each cell, in units
// of the metric (I/Os per second, bytes per second, nanoseconds); changes are
// shares, 0.1 for a tenth more.
func DiffCSV(w io.Writer, r *diff.Result) error {
	var b bytes.Buffer
	out := csv.NewWriter(&b)
	rows := [][]string{{
		"device", "row", "column", "variant", "metric", "emulated", "old", "old_rounds", "new", "new_rounds", "change", "ci_low", "ci_high", "p", "p_adjusted", "verdict", "rounds_needed",
	}}
	for i := range r.Cells {
		c := &r.Cells[i]
		needed := ""
		if c.RoundsNeeded != nil {
			needed = strconv.Itoa(*c.RoundsNeeded)
		}
		rows = append(rows, []string{
			c.Device, c.Row, c.Column, c.Variant, c.Metric, strconv.FormatBool(r.Old.Emulated || r.New.Emulated),
			csvFloat(c.Old.Mean), strconv.Itoa(c.Old.Rounds), csvFloat(c.New.Mean), strconv.Itoa(c.New.Rounds),
			csvFloat(c.Change), csvFloat(c.CILow), csvFloat(c.CIHigh), csvFloat(c.P), csvFloat(c.PAdjusted), string(c.Verdict), needed,
		})
	}
	if err := out.WriteAll(rows); err != nil {
		return fmt.Errorf("render diff as CSV: %w", err)
	}
	_, err := w.Write(b.Bytes())
	return err
}
