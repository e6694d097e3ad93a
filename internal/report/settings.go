package report

import (
	"slices"
	"strings"

	"github.com/nvmepass/nvmepass/internal/compare"
)

// describe writes effective settings in one line.
func describe(s *compare.Settings) string {
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
	flags := "none"
	if len(s.RingFlags) > 0 {
		flags = strings.Join(s.RingFlags, "|")
	}
	return strings.Join(append(parts, "ring flags "+flags), ", ")
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
func notPolled(r *compare.Result, device string, path compare.Path) bool {
	return path.Polled() && slices.ContainsFunc(samples(r, device, path), func(s *compare.Sample) bool { return !s.Settings.Polled })
}

func samples(r *compare.Result, device string, path compare.Path) []*compare.Sample {
	var out []*compare.Sample
	for i := range r.Cells {
		c := &r.Cells[i]
		if c.Device != device || c.Path != path {
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
