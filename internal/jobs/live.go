package jobs

import (
	"time"

	"github.com/nvmepass/nvmepass/internal/workload"
)

// Live is what happened between two samples, over all jobs.
type Live struct {
	// Elapsed is the time since the start; Warmup says that the window has not
	// begun.
	Elapsed time.Duration
	Warmup  bool
	// Remaining is the time to the end, 0 if that is not a matter of time.
	// Share of the whole has passed, 0 to 1.
	Remaining time.Duration
	Share     float64

	IOPS, BytesPerSecond       float64
	SubmitPerCall, ReapPerCall float64
	// InFlight is the mean at each submission, summed over jobs.
	InFlight float64
	// Asked says that this sample answers Options.Status.
	Asked bool
	// Failed counts failed and cancelled commands since the start.
	Failed uint64
}

// answerWithin bounds how long a sample is waited for: a job may be in a system
// call for longer than that, and then counts with its next sample.
const answerWithin = 100 * time.Millisecond

// wholeShare is the part of an interval in per cent from which a sample counts:
// less says too little of a rate.
const wholeShare = 80

// collect waits for the sample of every job that runs.
func (r *crew) collect(number uint32) []workload.Live {
	out := make([]workload.Live, len(r.jobs))
	deadline := time.Now().Add(answerWithin)
	for i, j := range r.jobs {
		for {
			out[i] = j.meter.Read()
			// Numbers wrap around.
			if int32(out[i].Number-number)<<2 >= 0 && !out[i].At.IsZero() || j.done || time.Now().After(deadline) {
				break
			}
			time.Sleep(time.Millisecond)
		}
	}
	return out
}

// baseline begins the samples of the window.
func (r *crew) baseline(number uint32) {
	r.measured = true
	for i, l := range r.collect(number) {
		r.jobs[i].prev = l
	}
	r.last = time.Now()
}

// sample asks all jobs where they stand and tells what happened since the last
// time. whole says that an Interval has passed.
func (r *crew) sample(whole bool) {
	now := r.collect(r.ctl.Request())
	live := Live{Asked: !whole}
	var enters, submitted, reaped uint64
	perDevice := make([]float64, len(r.device))
	for i, l := range now {
		j := r.jobs[i]
		live.Failed += l.Total.Failed + l.Total.Cancelled
		if calls := l.Calls - j.prev.Calls; calls > 0 {
			live.InFlight += float64(l.InFlight-j.prev.InFlight) / float64(calls)
		}
		span := l.At.Sub(j.prev.At).Seconds()
		if j.prev.At.IsZero() {
			span = l.At.Sub(r.began).Seconds()
		}
		if span <= 0 {
			continue // no news of it
		}
		iops := float64(l.Total.OK-j.prev.Total.OK) / span
		live.IOPS += iops
		enters, submitted, reaped = enters+l.Enters-j.prev.Enters, submitted+l.Submitted-j.prev.Submitted, reaped+l.Reaped-j.prev.Reaped
		for c, n := range l.Cells {
			before := uint64(0)
			if c < len(j.prev.Cells) {
				before = j.prev.Cells[c].OK
			}
			perDevice[j.drives[c%len(j.drives)]] += float64(n.OK-before) / span
		}
		if len(l.Cells) == 0 {
			perDevice[j.drives[0]] += iops
		}
		j.prev = l
	}
	live.BytesPerSecond = live.IOPS * float64(r.cfg.BlockSize)
	if enters > 0 {
		live.SubmitPerCall, live.ReapPerCall = float64(submitted)/float64(enters), float64(reaped)/float64(enters)
	}
	at := time.Now()
	if whole && r.measured && at.Sub(r.last) > r.opt.Interval*wholeShare/100 {
		r.total.add(live.IOPS)
		for i, v := range perDevice {
			r.device[i].add(v)
		}
	}
	r.last = at
	live.Elapsed, live.Warmup = at.Sub(r.began), !r.measured
	if r.cfg.Runtime > 0 {
		all := r.cfg.Warmup + r.cfg.Runtime
		live.Remaining, live.Share = max(0, all-live.Elapsed), min(1, float64(live.Elapsed)/float64(all))
	}
	if r.opt.Live != nil {
		r.opt.Live(live)
	}
}
