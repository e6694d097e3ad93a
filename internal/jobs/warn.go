package jobs

import (
	"fmt"
	"slices"
)

func (res *Result) warn(text string) {
	if !slices.Contains(res.Warnings, text) {
		res.Warnings = append(res.Warnings, text)
	}
}

// warnSettings says what was asked of a job's ring and did not take effect.
func (r *crew) warnSettings(res *Result, j *JobResult) {
	if r.cfg.Path.Polled() && !j.Settings.Polled {
		res.warn("NOT polled: the figures are of interrupts")
	}
	for _, what := range j.Settings.Missing(r.cfg.Mode) {
		res.warn(what + " were asked for and did not take effect")
	}
}

// warnCounts says where counts and rates need a second look.
func (res *Result) warnCounts() {
	t := &res.Total
	if n := t.Run.Failed; n > 0 {
		res.warn(fmt.Sprintf("%d of %d commands failed: rates count only those that ended well", n, t.Run.Issued))
	}
	if n := t.Run.Cancelled; n > 0 {
		res.warn(fmt.Sprintf("%d of %d commands were cancelled by the driver", n, t.Run.Issued))
	}
	if lost := t.Run.Issued - t.Run.OK - t.Run.Failed - t.Run.Cancelled; lost != 0 {
		res.warn(fmt.Sprintf("%d of %d commands are not accounted for: they are still with the kernel", lost, t.Run.Issued))
	}
	if t.WindowNS == 0 {
		res.warn("the run ended before its measured window began: there are no figures")
	}
	c := &res.Config
	asked := c.rate() * float64(c.Jobs)
	if got := t.IOPS; got != nil && asked > 0 && *got < 0.95*asked && !res.Interrupted {
		res.warn(fmt.Sprintf("the rate of %.0f IOPS was not reached: latencies include the time that commands were late", asked))
	}
}
