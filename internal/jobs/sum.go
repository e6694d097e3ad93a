package jobs

import (
	"time"

	"github.com/nvmepass/nvmepass/internal/compare"
	"github.com/nvmepass/nvmepass/internal/latency"
	"github.com/nvmepass/nvmepass/internal/workload"
)

// tally adds up what jobs did, for one of the three tables of a Result.
type tally struct {
	began, ended time.Time
	run          compare.Counts
	cells        []workload.Counts // in the window, by direction
	hist         []*latency.Histogram
	ring         bool // the following are whole jobs'
	enters       uint64
	submitted    uint64
	reaped       uint64
	inFlight     float64
	user, system time.Duration
}

func newTally(directions int) *tally {
	return &tally{cells: make([]workload.Counts, directions), hist: make([]*latency.Histogram, directions), ring: true}
}

// job adds what one job did on one of its devices, or with device -1 on all.
func (t *tally) job(r *workload.Result, device, devices int) {
	w := &r.Window
	if !w.Began.IsZero() {
		if t.began.IsZero() || w.Began.Before(t.began) {
			t.began = w.Began
		}
		if end := w.Began.Add(w.Time); end.After(t.ended) {
			t.ended = end
		}
	}
	if device >= 0 && devices > 1 {
		t.ring = false
	} else {
		t.enters, t.submitted, t.reaped = t.enters+w.Enters, t.submitted+w.Submitted, t.reaped+w.Reaped
		t.inFlight += w.InFlight
		t.user, t.system = t.user+w.UserCPU, t.system+w.SystemCPU
	}
	if r.Cells == nil { // one direction on one device
		t.run = plus(t.run, r.Total)
		t.cell(0, workload.Counts{OK: w.OK, Failed: w.Failed, Cancelled: w.Cancelled}, nil)
		return
	}
	for i := range r.Cells {
		if device >= 0 && i%devices != device {
			continue
		}
		t.run = plus(t.run, r.Cells[i])
		if w.Cells == nil {
			continue // ended before the window began
		}
		var h *latency.Histogram
		if w.Latency != nil {
			h = w.Latency[i]
		}
		t.cell(i/devices, w.Cells[i], h)
	}
}

func (t *tally) cell(direction int, c workload.Counts, h *latency.Histogram) {
	to := &t.cells[direction]
	to.OK, to.Failed, to.Cancelled = to.OK+c.OK, to.Failed+c.Failed, to.Cancelled+c.Cancelled
	if h == nil {
		return
	}
	if t.hist[direction] == nil {
		t.hist[direction] = latency.New()
	}
	t.hist[direction].Merge(h)
}

func plus(a compare.Counts, b workload.Counts) compare.Counts {
	return compare.Counts{Issued: a.Issued + b.Issued, OK: a.OK + b.OK, Failed: a.Failed + b.Failed, Cancelled: a.Cancelled + b.Cancelled}
}

// figures is what the tally comes to.
func (t *tally) figures(c *Config) Figures {
	window := t.ended.Sub(t.began)
	f := Figures{WindowNS: window.Nanoseconds(), Run: t.run, Directions: []DirectionFigures{}}
	per := func(n uint64) *float64 { return compare.Float(float64(n) / window.Seconds()) }
	for i, d := range c.RW.Directions() {
		n := t.cells[i]
		f.OK, f.Failed, f.Cancelled = f.OK+n.OK, f.Failed+n.Failed, f.Cancelled+n.Cancelled
		bytes := n.OK * uint64(c.BlockSize)
		out := DirectionFigures{Direction: d.String(), OK: n.OK, Failed: n.Failed, Cancelled: n.Cancelled, Bytes: bytes, IOPS: per(n.OK), BytesPerSecond: per(bytes)}
		if t.hist[i] != nil {
			out.Latency = t.hist[i].Summary()
		}
		f.Directions = append(f.Directions, out)
	}
	f.Bytes = f.OK * uint64(c.BlockSize)
	f.IOPS, f.BytesPerSecond = per(f.OK), per(f.Bytes)
	if t.ring {
		calls, ok := float64(t.enters), float64(f.OK)
		f.Ring = &Ring{
			Enters: t.enters, SubmitPerCall: compare.Float(float64(t.submitted) / calls), ReapPerCall: compare.Float(float64(t.reaped) / calls),
			UserCPUNS: t.user.Nanoseconds(), SystemCPUNS: t.system.Nanoseconds(),
			UserCPUNSPerIO: compare.Float(float64(t.user) / ok), SystemCPUNSPerIO: compare.Float(float64(t.system) / ok),
		}
		if t.inFlight > 0 {
			f.Ring.MeanInFlight = compare.Float(t.inFlight)
		}
	}
	return f
}

// sum fills a Result from the jobs that ran.
func (r *crew) sum(res *Result) {
	directions := len(r.cfg.RW.Directions())
	total, devices := newTally(directions), make([]*tally, len(r.cfg.Devices))
	for i := range devices {
		devices[i] = newTally(directions)
	}
	res.Errors, res.Jobs, res.Devices = map[string]uint64{}, []JobResult{}, []DeviceResult{}
	for _, j := range r.jobs {
		out := JobResult{CPUs: append([]int{}, j.cpus...), Settings: j.effect}
		if out.Settings.RingFlags == nil {
			out.Settings.RingFlags = []string{}
		}
		if j.err != nil {
			out.Error = j.err.Error()
		}
		own := newTally(directions)
		for k, i := range j.drives {
			out.Devices = append(out.Devices, r.cfg.Devices[i])
			if j.result != nil {
				devices[i].job(j.result, k, len(j.drives))
			}
		}
		if j.result != nil {
			own.job(j.result, -1, len(j.drives))
			total.job(j.result, -1, len(j.drives))
			for text, n := range j.result.Errors {
				res.Errors[text] += n
			}
		}
		out.Figures = own.figures(r.cfg)
		res.Jobs = append(res.Jobs, out)
		r.warnSettings(res, &out)
	}
	for i, t := range devices {
		f := t.figures(r.cfg)
		f.Samples = r.device[i].orNil()
		res.Devices = append(res.Devices, DeviceResult{Device: r.cfg.Devices[i], Figures: f})
	}
	res.Total = total.figures(r.cfg)
	res.Total.Samples = r.total.orNil()
	res.warnCounts()
}
