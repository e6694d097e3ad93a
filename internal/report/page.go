package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/nvmepass/nvmepass/internal/compare"
	"github.com/nvmepass/nvmepass/internal/iosetup"
	"github.com/nvmepass/nvmepass/internal/trial"
)

// page is text under construction, for results of repeated trials.
type page struct {
	b        strings.Builder
	width    int
	emulated bool
}

func newPage(width int, emulated bool) *page {
	if width == 0 {
		width = DefaultWidth
	}
	return &page{width: max(width, minWidth), emulated: emulated}
}

func (p *page) line(s string)    { wrap(&p.b, s, p.width, 2) }
func (p *page) section(s string) { p.b.WriteString("\n"); p.line(s) }
func (p *page) mark() string     { return emulated(p.emulated) }

func (p *page) writeTo(w io.Writer) error {
	_, err := io.WriteString(w, p.b.String())
	return err
}

// schedule says how often and where cells ran.
func schedule(s *trial.Settings) []string {
	pin := "not pinned"
	if s.CPU != nil {
		pin = fmt.Sprintf("pinned to CPU %d", *s.CPU)
	}
	return []string{fmt.Sprintf("%s x %v after %v warm-up", plural(s.Rounds, "round"), s.Runtime, s.Warmup), fmt.Sprintf("seed %d", s.Seed), pin}
}

// host says what ran where, and whether to its end.
func (p *page) host(tool string, e *compare.Environment, o *trial.Outcome) {
	host := []string{"nvmepass " + orUnknown(tool), "kernel " + orUnknown(e.Kernel)}
	if e.CPUModel != "" {
		host = append(host, fmt.Sprintf("%s x %d", ascii(e.CPUModel), e.CPUCount))
	}
	if e.Governor != "" {
		host = append(host, "governor "+ascii(e.Governor))
	}
	p.line(unbroken(append(host, o.Started.Format("2006-01-02 15:04:05 MST"))...))
	if e.Emulated {
		s := "EMULATED: figures compare cells on this machine only, not drives"
		var how []string
		if e.EmulatedReason != "" {
			how = append(how, ascii(e.EmulatedReason))
		}
		if e.Accelerator != "" {
			how = append(how, "accelerator "+ascii(e.Accelerator))
		}
		if len(how) > 0 {
			s += " (" + unbroken(how...) + ")"
		}
		p.line(s)
	}
	if o.Interrupted {
		p.line("INTERRUPTED: " + orUnknown(o.StopReason) + "; the figures are of what was measured until then")
	}
}

// effective writes a line for each set of settings that took effect, led by
// the cells that had it.
func (p *page) effective(describe func(*iosetup.Effective) string, each func(yield func(cell string, rounds []trial.Round))) {
	var texts []string
	cells := map[string][]string{}
	each(func(cell string, rounds []trial.Round) {
		for i := range rounds {
			if !rounds[i].Used() {
				continue
			}
			text := describe(&rounds[i].Sample.Settings)
			if !slices.Contains(texts, text) {
				texts = append(texts, text)
			}
			if !slices.Contains(cells[text], cell) {
				cells[text] = append(cells[text], cell)
			}
		}
	})
	if len(texts) == 0 {
		return
	}
	p.section("Effective settings")
	for _, text := range texts {
		p.line(ascii(strings.Join(cells[text], ", ") + ": " + text))
	}
}

// foot gives warnings and totals.
func (p *page) foot(warnings []string, c compare.Counts) {
	if len(warnings) > 0 {
		p.section("Warnings")
		for _, s := range warnings {
			p.line("- " + ascii(s))
		}
	}
	p.section(fmt.Sprintf("Total: issued %d, ok %d, failed %d, cancelled %d", c.Issued, c.OK, c.Failed, c.Cancelled))
}

// interval writes the 95 % interval of an estimate as two figures, through a
// function that writes one.
func interval(e compare.Estimate, figure func(float64) string) string {
	if e.CILow == nil || e.CIHigh == nil {
		return "-"
	}
	return figure(*e.CILow) + " to " + figure(*e.CIHigh)
}

// writeJSON writes any record as one indented JSON document.
func writeJSON(w io.Writer, what string, record any) error {
	var b bytes.Buffer // so that a failure leaves no half document
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(record); err != nil {
		return fmt.Errorf("render %s as JSON: %w", what, err)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// roundHeader names the columns of roundRow.
var roundHeader = []string{
	"round", "order", "started", "error", "window_ns", "ok", "failed", "cancelled", "bytes", "iops", "bytes_per_second", "enters", "submit_per_call", "reap_per_call",
	"mean_in_flight", "user_cpu_ns", "system_cpu_ns", "user_cpu_ns_per_io", "system_cpu_ns_per_io", "run_issued", "run_ok", "run_failed", "run_cancelled",
	"polled", "fixed_buffers", "registered_files", "registered_ring", "huge_pages", "vectored", "ring_flags", "command_errors",
}

// roundRow writes one round for CSV; fields are empty where there is no figure.
func roundRow(r *trial.Round) []string {
	row := []string{fmt.Sprint(r.Round), fmt.Sprint(r.Order), r.Started.Format("2006-01-02T15:04:05.999999999Z07:00"), r.Error}
	s := r.Sample
	if s == nil {
		return append(row, make([]string, len(roundHeader)-len(row))...)
	}
	return append(row,
		fmt.Sprint(s.WindowNS), csvUint(s.OK), csvUint(s.Failed), csvUint(s.Cancelled), csvUint(s.Bytes), csvFloat(r.IOPS), csvFloat(r.BytesPerSecond),
		csvUint(s.Enters), csvFloat(s.SubmitPerCall), csvFloat(s.ReapPerCall), csvFloat(s.MeanInFlight), fmt.Sprint(s.UserCPUNS), fmt.Sprint(s.SystemCPUNS),
		csvFloat(r.UserCPUNSPerIO), csvFloat(r.SystemCPUNSPerIO), csvUint(s.Run.Issued), csvUint(s.Run.OK), csvUint(s.Run.Failed), csvUint(s.Run.Cancelled),
		fmt.Sprint(s.Settings.Polled), s.Settings.FixedBuffers, fmt.Sprint(s.Settings.RegisteredFiles), fmt.Sprint(s.Settings.RegisteredRing),
		fmt.Sprint(s.Settings.HugePages), fmt.Sprint(s.Settings.Vectored), strings.Join(s.Settings.RingFlags, "|"), csvErrors(s.Errors),
	)
}
