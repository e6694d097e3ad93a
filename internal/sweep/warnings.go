package sweep

import (
	"fmt"

	"github.com/nvmepass/nvmepass/internal/trial"
	"github.com/nvmepass/nvmepass/internal/units"
)

// warnings returns what a reader of the figures must know beyond them.
func (r *Result) warnings() []string {
	out := trial.Warnings(&r.Config.Settings, r.Totals)
	var n trial.Notices
	missing := 0
	for i := range r.Cells {
		c := &r.Cells[i]
		if c.NotRun == "" && c.Measured == 0 {
			missing++
		}
		for j := range c.Rounds {
			round := &c.Rounds[j]
			if round.Failed() {
				n.Add(c.String(), "no figure from a round: "+round.Error)
			}
			if round.Used() {
				r.settingsNotices(&n, c, round)
			}
		}
	}
	if missing > 0 {
		out = append(out, fmt.Sprintf("%d cells have no figure", missing))
	}
	out = append(out, n.Sentences()...)
	for i := range r.Cells {
		if c := &r.Cells[i]; c.Cliff != nil {
			out = append(out, fmt.Sprintf("cliff: %s moves %.2f of what it does at %s; likely cause: %s", c, c.Cliff.Ratio, units.FormatSize(int64(c.Cliff.BestSize)), c.Cliff.Cause))
		}
	}
	return out
}

func (r *Result) settingsNotices(n *trial.Notices, c *CellResult, round *trial.Round) {
	s := &round.Sample.Settings
	if c.Path == SyncPoll && !s.Polled {
		n.Add(string(c.Path), "NOT polled: from Linux 5.19 on the kernel ignores RWF_HIPRI for synchronous direct reads, so that the figures are of interrupts")
	}
	if c.Path.Synchronous() {
		return
	}
	if c.Path.PolledRing() && !s.Polled {
		n.Add(c.String(), "NOT polled: the figure is one of interrupts")
	}
	if c.Path == BlockPoll && r.Limits.MaySplit(c.BlockSize) {
		n.Add(c.String(), "not polled where the block layer splits a read: its parts complete by interrupt while the ring spins")
	}
	for _, what := range s.Missing(r.Config.Mode) {
		n.Add(c.String(), what+" were asked for and did not take effect")
	}
}
