package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/nvmepass/nvmepass/internal/compare"
	"github.com/nvmepass/nvmepass/internal/iosetup"
	"github.com/nvmepass/nvmepass/internal/jobs"
)

// RunJSON writes a run as one indented JSON document in the form of
// [jobs.Schema]; [jobs.Decode] reads it back.
func RunJSON(w io.Writer, r *jobs.Result) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(r); err != nil {
		return fmt.Errorf("render run as JSON: %w", err)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// RunText renders a run for people.
func RunText(w io.Writer, r *jobs.Result) error {
	t := runText{r: r, text: text{width: DefaultWidth, r: &compare.Result{Environment: r.Environment}}}
	t.head()
	t.figures()
	t.jobs()
	t.directions()
	t.latencies()
	t.settings()
	t.counts()
	_, err := io.WriteString(w, t.b.String())
	return err
}

// runText borrows lines and drives from the text of a comparison.
type runText struct {
	text
	r *jobs.Result
}

func (t *runText) head() {
	c, e := &t.r.Config, &t.r.Environment
	rule := "t/io_uring's rule (wait for a whole batch)"
	if c.Rule == iosetup.RuleFio {
		rule = "fio's rule (reap 1 to batch)"
	}
	parts := []string{fmt.Sprintf("%d B %s by %s", c.BlockSize, ascii(string(c.RW)), ascii(string(c.Path))), fmt.Sprintf("QD %d, batch %d", c.Depth.QD, c.Depth.Batch), rule, t.jobsText()}
	if c.Runtime > 0 {
		parts = append(parts, fmt.Sprintf("%v after %v warm-up", c.Runtime, c.Warmup))
	}
	t.line(unbroken(append(parts, t.load()...)...))
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
		t.line("EMULATED: figures compare paths on this machine only, not drives (" + orUnknown(e.EmulatedReason) + ")")
	}
	if t.r.Interrupted {
		t.line("INTERRUPTED: the figures are of the part that was run")
	}
	for _, d := range c.Devices {
		t.line(t.drive(d))
	}
}

func (t *runText) jobsText() string {
	c := &t.r.Config
	s := plural(c.Jobs, "job")
	if c.SharedRing {
		s += fmt.Sprintf(" with a ring for all %d devices", len(c.Devices))
	}
	return s
}

// load says what differs from a run that is limited by nothing but time.
func (t *runText) load() (parts []string) {
	c := &t.r.Config
	if c.RW.Mixed() {
		parts = append(parts, fmt.Sprintf("%d %% reads", c.ReadPercent))
	}
	if c.Distribution != "random" {
		parts = append(parts, "distribution "+ascii(c.Distribution))
	}
	if c.Number > 0 {
		parts = append(parts, fmt.Sprintf("%d commands per job", c.Number))
	}
	if c.Offset > 0 || c.Size > 0 {
		size := "the end"
		if c.Size > 0 {
			size = byteSize(c.Offset + c.Size)
		}
		parts = append(parts, fmt.Sprintf("from %s to %s", byteSize(c.Offset), size))
	}
	if c.RateIOPS > 0 {
		parts = append(parts, fmt.Sprintf("at most %d IOPS per job (%s)", c.RateIOPS, ascii(c.RateProcess)))
	}
	if c.Rate > 0 {
		parts = append(parts, fmt.Sprintf("at most %s/s per job (%s)", byteSize(c.Rate), ascii(c.RateProcess)))
	}
	return append(parts, fmt.Sprintf("seed %d", c.Seed))
}

var figuresHeader = []string{"IOPS", "max IOPS", "BW MiB/s", "IOS/call", "in flight", "user ns/IO", "system ns/IO"}

// row is the figures of a device, a job or all.
func row(f *jobs.Figures) []string {
	most := "-"
	if f.Samples != nil {
		most = fmt.Sprintf("%.0f", f.Samples.Max)
	}
	bw := "-"
	if f.BytesPerSecond != nil {
		bw = significant(*f.BytesPerSecond / (1 << 20))
	}
	ring := f.Ring
	if ring == nil {
		ring = &jobs.Ring{}
	}
	calls := "-"
	if ring.SubmitPerCall != nil && ring.ReapPerCall != nil {
		calls = significant(*ring.SubmitPerCall) + "/" + significant(*ring.ReapPerCall)
	}
	return []string{rounded(f.IOPS), most, bw, calls, optional(ring.MeanInFlight), optional(ring.UserCPUNSPerIO), optional(ring.SystemCPUNSPerIO)}
}

func rounded(v *float64) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf("%.0f", *v)
}

func (t *runText) figures() {
	t.section("Result" + t.emulated() + ": means over the window; max of whole seconds; CPU time of the ring's thread")
	tab := table{left: 1}
	tab.add(append([]string{"device"}, figuresHeader...)...)
	for i := range t.r.Devices {
		tab.add(append([]string{ascii(t.r.Devices[i].Device)}, row(&t.r.Devices[i].Figures)...)...)
	}
	if len(t.r.Devices) > 1 {
		tab.add(append([]string{"total"}, row(&t.r.Total)...)...)
	}
	tab.write(&t.b)
}

func (t *runText) jobs() {
	if len(t.r.Jobs) < 2 || len(t.r.Jobs) == len(t.r.Devices) && len(t.r.Config.CPUs) == 0 {
		return
	}
	t.section("Jobs" + t.emulated())
	tab := table{left: 3}
	tab.add(append([]string{"job", "device", "CPU"}, figuresHeader...)...)
	for i := range t.r.Jobs {
		j := &t.r.Jobs[i]
		device := strings.Join(j.Devices, ",")
		if len(j.Devices) > 1 {
			device = fmt.Sprintf("%d devices", len(j.Devices))
		}
		cpus := "any"
		if n := len(j.CPUs); n == 1 {
			cpus = fmt.Sprint(j.CPUs[0])
		} else if n > 1 {
			cpus = fmt.Sprintf("%d of node", n)
		}
		tab.add(append([]string{fmt.Sprint(i), ascii(device), cpus}, row(&j.Figures)...)...)
	}
	tab.write(&t.b)
}

// directions splits mixed work.
func (t *runText) directions() {
	if !t.r.Config.RW.Mixed() {
		return
	}
	t.section("By direction" + t.emulated())
	tab := table{left: 1}
	tab.add("direction", "IOPS", "BW MiB/s", "ok", "failed", "cancelled")
	for i := range t.r.Total.Directions {
		d := &t.r.Total.Directions[i]
		bw := "-"
		if d.BytesPerSecond != nil {
			bw = significant(*d.BytesPerSecond / (1 << 20))
		}
		tab.add(d.Direction, rounded(d.IOPS), bw, fmt.Sprint(d.OK), fmt.Sprint(d.Failed), fmt.Sprint(d.Cancelled))
	}
	tab.write(&t.b)
}

func (t *runText) settings() {
	t.section("Effective settings")
	var texts []string
	rings := map[string]int{}
	for i := range t.r.Jobs {
		s := describe(&t.r.Jobs[i].Settings)
		if rings[s]++; rings[s] == 1 {
			texts = append(texts, s)
		}
	}
	for _, s := range texts {
		t.line(ascii(plural(rings[s], "ring") + ": " + s))
	}
}

func (t *runText) counts() {
	for i := range t.r.Jobs {
		if e := t.r.Jobs[i].Error; e != "" {
			t.section(fmt.Sprintf("Job %d ended early: %s", i, ascii(e)))
		}
	}
	if len(t.r.Errors) > 0 {
		t.section("Errors: " + ascii(strings.ReplaceAll(csvErrors(t.r.Errors), "|", ", ")))
	}
	if len(t.r.Warnings) > 0 {
		t.section("Warnings")
		for _, s := range t.r.Warnings {
			t.line("- " + ascii(s))
		}
	}
	t.b.WriteString("\n")
	if len(t.r.Devices) > 1 {
		for i := range t.r.Devices {
			c := &t.r.Devices[i].Run
			t.line(fmt.Sprintf("%s: issued %d, ok %d, failed %d, cancelled %d", ascii(t.r.Devices[i].Device), c.Issued, c.OK, c.Failed, c.Cancelled))
		}
	}
	c := &t.r.Total.Run
	t.line(fmt.Sprintf("Total: issued %d, ok %d, failed %d, cancelled %d", c.Issued, c.OK, c.Failed, c.Cancelled))
}
