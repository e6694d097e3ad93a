package nopbench

import (
	"fmt"

	"github.com/nvmepass/nvmepass/internal/iosetup"
	"github.com/nvmepass/nvmepass/internal/trial"
)

// warnings returns what a reader of the figures must know beyond them.
func (r *Result) warnings() []string {
	out := trial.Warnings(&r.Config.Settings, r.Totals)
	var n trial.Notices
	missing := 0
	for i := range r.Cells {
		c := &r.Cells[i]
		if c.Measured == 0 {
			missing++
		}
		mode, err := iosetup.ModeVariant(r.Config.Mode, c.Variant)
		if err != nil { // of a record that was written by hand
			continue
		}
		for j := range c.Rounds {
			round := &c.Rounds[j]
			if round.Failed() {
				n.Add(c.String(), "no figure from a round: "+round.Error)
			}
			if !round.Used() {
				continue
			}
			for _, what := range round.Sample.Settings.Missing(mode) {
				n.Add(c.String(), what+" were asked for and did not take effect")
			}
			if mode.RegisteredRing && !round.Sample.Settings.RegisteredRing {
				n.Add(c.String(), "a registered ring was asked for and did not take effect")
			}
		}
	}
	if missing > 0 {
		out = append(out, fmt.Sprintf("%d of %d cells have no figure", missing, len(r.Cells)))
	}
	return append(out, n.Sentences()...)
}
