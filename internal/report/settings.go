package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nvmepass/nvmepass/internal/compare"
	"github.com/nvmepass/nvmepass/internal/iosetup"
)

// describe writes effective settings in one line.
func describe(s *iosetup.Effective) string {
	parts := []string{"interrupts"}
	if s.Polled {
		parts[0] = "polled"
	}
	fixed := s.FixedBuffers
	if fixed == "" {
		fixed = "not known"
	}
	parts = append(parts, "fixed buffers "+fixed)
	parts = append(parts, "registered files "+onOff(s.RegisteredFiles), "registered ring "+onOff(s.RegisteredRing))
	if s.HugePages {
		parts = append(parts, "huge pages")
	}
	if s.Vectored {
		parts = append(parts, "vectored")
	}
	flags := "none"
	if len(s.RingFlags) > 0 {
		flags = strings.Join(s.RingFlags, "|")
	}
	return strings.Join(append(parts, "ring flags "+flags), ", ")
}

// requested writes a mode in one line: what is on by default always, the rest where it was asked for.
func requested(m *iosetup.Mode) string {
	var parts []string
	for _, s := range iosetup.Switches() {
		if on := s.On(*m); s.Default || on {
			parts = append(parts, s.Name+" "+onOff(on))
		}
	}
	if m.SQPollIdle > 0 {
		parts = append(parts, fmt.Sprintf("sqpoll-idle %v", m.SQPollIdle))
	}
	if m.SQPollCPU != nil {
		parts = append(parts, fmt.Sprintf("sqpoll-cpu %d", *m.SQPollCPU))
	}
	return strings.Join(parts, ", ")
}

func onOff(v bool) string {
	if v {
		return "on"
	}
	return "off"
}

// effective returns one line for each set of settings that took effect on a device, led by the paths that had it. A path
// appears twice when its cells differ.
func effective(r *compare.Result, device string) []string {
	var texts []string
	paths := map[string][]string{}
	for _, path := range r.Config.Paths {
		for _, s := range samples(r, device, path) {
			text := describe(&s.Settings)
			if _, known := paths[text]; !known {
				texts = append(texts, text)
			}
			if !slices.Contains(paths[text], string(path)) {
				paths[text] = append(paths[text], string(path))
			}
		}
	}
	for i, text := range texts {
		texts[i] = strings.Join(paths[text], ", ") + ": " + text
	}
	return texts
}

// notPolled reports whether a polled path ran without polling in any round that has a figure.
func notPolled(r *compare.Result, device string, path iosetup.Path) bool {
	return path.Polled() && slices.ContainsFunc(samples(r, device, path), func(s *compare.Sample) bool { return !s.Settings.Polled })
}

func samples(r *compare.Result, device string, path iosetup.Path) []*compare.Sample {
	var out []*compare.Sample
	for i := range r.Cells {
		c := &r.Cells[i]
		if c.Device != device || c.Path != path || c.Variant != "" {
			continue
		}
		for j := range c.Rounds {
			if round := &c.Rounds[j]; round.Error == "" && round.Sample != nil {
				out = append(out, round.Sample)
			}
		}
	}
	return out
}
