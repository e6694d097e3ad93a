package jobs

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/nvmepass/nvmepass/internal/ioqueue"
	"github.com/nvmepass/nvmepass/internal/sys"
	"github.com/nvmepass/nvmepass/internal/workload"
	"github.com/nvmepass/nvmepass/passthru"
)

// Options are what a caller wants to hear of a run.
type Options struct {
	// Live is called once per Interval, and after each value from Status, with
	// what happened since the call before. It may be nil.
	Live func(Live)
	// Interval is 1 s if it is 0.
	Interval time.Duration
	// Status asks for a call of Live out of turn; it may be nil.
	Status <-chan struct{}
}

// headroom is how much the heap may grow during a run before garbage is
// collected after all: samples and progress lines are all that allocates.
const headroom = 256 << 20

// Run runs the jobs of a checked Config on its open devices until the run time
// is over, every job has done its number of commands, one of them fails, or ctx
// is done. The result is nil only if no job could start; it is valid also
// beside an error.
func Run(ctx context.Context, c Config, devs []*passthru.Device, opt Options) (*Result, error) {
	r, err := prepare(ctx, &c, devs)
	if err != nil {
		return nil, err
	}
	if opt.Interval == 0 {
		opt.Interval = time.Second
	}
	r.opt = opt
	return r.run(ctx)
}

// crew is all jobs of one run.
type crew struct {
	cfg      *Config
	opt      Options
	jobs     []*job
	warnings []string
	ctl      workload.Control
	began    time.Time
	measured bool // the window has begun
	last     time.Time
	total    Spread
	device   []Spread
}

func prepare(ctx context.Context, c *Config, devs []*passthru.Device) (*crew, error) {
	allowed, err := sys.AllowedCPUs()
	if err != nil {
		return nil, fmt.Errorf("find the CPUs that this process may use: %w", err)
	}
	topo := readTopology("/sys", allowed)
	r := &crew{cfg: c, device: make([]Spread, len(devs))}
	perDevice := make([]int, len(devs))
	nodes := make([]int, len(devs))
	for i, d := range devs {
		nodes[i] = d.NUMANode()
	}
	for n := range c.Jobs {
		j := &job{number: n, drives: c.drives(n), queueOf: ioqueue.Open}
		var on []int
		for _, i := range j.drives {
			j.devs, on = append(j.devs, devs[i]), append(on, nodes[i])
		}
		if j.cpus, err = topo.place(c.CPUs, n, on); err != nil {
			return nil, err
		}
		for _, i := range j.drives {
			if w := topo.far(j.cpus, c.Devices[i], nodes[i]); w != "" && !slices.Contains(r.warnings, w) {
				r.warnings = append(r.warnings, w)
			}
		}
		first := j.drives[0]
		if j.cfg, err = c.workloadOf(smallest(j.devs), c.Seed+uint64(n)*0x9e3779b97f4a7c15, perDevice[first], c.jobsOn(first)); err != nil {
			return nil, err
		}
		j.cfg.Devices = len(j.devs)
		for _, i := range j.drives {
			perDevice[i]++
		}
		r.jobs = append(r.jobs, j)
	}
	for i, d := range devs {
		h := readHardware(d.BlockPath(), d.Poll().Count())
		depth := perDevice[i] * c.Depth.QD
		if c.SharedRing {
			depth /= len(devs)
		}
		r.warnings = append(r.warnings, h.warnings(c.Devices[i], c.Path.Polled(), perDevice[i], depth)...)
	}
	if c.SharedRing && c.Size == 0 && slices.ContainsFunc(devs, func(d *passthru.Device) bool { return d.Limits().Blocks != devs[0].Limits().Blocks }) {
		r.warnings = append(r.warnings, "the devices differ in size: a ring that they share reaches only as far as the smallest one does")
	}
	if c.RW == workload.Append {
		return r, r.shareZones(ctx, devs)
	}
	for i, d := range devs {
		if n := c.leftOut(d); n > 0 {
			r.warnings = append(r.warnings, fmt.Sprintf("the last %d blocks of the region of %s are left out: they hold no whole command of %d bytes", n, c.Devices[i], c.BlockSize))
		}
	}
	return r, nil
}

// smallest is the device with the fewest blocks: a ring that several share
// draws one address for all of them.
func smallest(devs []*passthru.Device) *passthru.Device {
	return slices.MinFunc(devs, func(a, b *passthru.Device) int {
		switch x, y := a.Limits().Blocks, b.Limits().Blocks; {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
}

// jobsOn counts the jobs that drive a device.
func (c *Config) jobsOn(device int) (n int) {
	for j := range c.Jobs {
		if slices.Contains(c.drives(j), device) {
			n++
		}
	}
	return n
}

// shareZones empties the zones of every device and deals them out to its jobs.
// A job ends when its zones are full.
func (r *crew) shareZones(ctx context.Context, devs []*passthru.Device) error {
	for i, d := range devs {
		first, blocks := r.cfg.region(d)
		zones, err := emptyZones(ctx, d, first, blocks)
		if err != nil {
			return &passthru.OpError{Op: "run on", Path: d.Path(), Err: err}
		}
		var jobs []*job
		for _, j := range r.jobs {
			if j.drives[0] == i {
				jobs = append(jobs, j)
			}
		}
		if len(zones) < len(jobs) {
			return &passthru.OpError{Op: "run on", Path: d.Path(), Err: fmt.Errorf("%d jobs append to %d zones: each needs one: use a lower --numjobs or a larger --size", len(jobs), len(zones))}
		}
		for k, z := range zones {
			j := jobs[k%len(jobs)]
			j.zones = append(j.zones, z)
		}
		for _, j := range jobs {
			n := uint64(len(j.zones)) * appendsPerZone(j.zones, j.cfg.NLB)
			if n == 0 {
				return &passthru.OpError{Op: "run on", Path: d.Path(), Err: fmt.Errorf("--bs %d is larger than a zone can take: use a smaller one", r.cfg.BlockSize)}
			}
			// The address of an append is its number.
			j.cfg.First, j.cfg.Blocks, j.cfg.Start = 0, n, 0
			if j.cfg.Count = n; r.cfg.Number > 0 {
				j.cfg.Count = min(n, r.cfg.Number)
			}
		}
	}
	return nil
}

func (r *crew) run(ctx context.Context) (*Result, error) {
	// Ring threads keep their P while they wait; what leads them needs one.
	if n := len(r.jobs) + 1; runtime.GOMAXPROCS(0) < n {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(n))
	}
	ready, start := make(chan error, len(r.jobs)), make(chan bool)
	ended := make(chan *job, len(r.jobs))
	var wg sync.WaitGroup
	for _, j := range r.jobs {
		wg.Go(func() {
			j.run(r.cfg, &r.ctl, ready, start)
			ended <- j
		})
	}
	var err error
	for range r.jobs {
		err = errors.Join(err, <-ready)
	}
	if err != nil || ctx.Err() != nil {
		close(start) // false
		wg.Wait()
		return nil, errors.Join(err, ctx.Err())
	}
	runtime.GC()
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(int64(mem.Sys - mem.HeapReleased + headroom)))
	defer debug.SetGCPercent(debug.SetGCPercent(-1))

	res := &Result{Schema: Schema, Started: timestamp(time.Now()), Config: *r.cfg, Warnings: append([]string{}, r.warnings...)}
	if r.cfg.Warmup == 0 {
		r.ctl.Measure()
	}
	r.began = time.Now()
	for range r.jobs {
		start <- true
	}
	res.Interrupted = r.lead(ctx, ended)
	wg.Wait()
	res.Finished = timestamp(time.Now())
	return r.complete(ctx, res)
}

// complete fills in what the jobs measured, and says what went wrong.
func (r *crew) complete(ctx context.Context, res *Result) (*Result, error) {
	r.sum(res)
	var errs []error
	for i, j := range r.jobs {
		if j.err != nil {
			err := j.err
			if len(r.jobs) > 1 {
				err = fmt.Errorf("job %d: %w", i, err)
			}
			errs = append(errs, err)
		}
		if j.leaked != nil {
			res.Warnings = append(res.Warnings, "commands never came back, and the kernel may still write to their memory: "+j.leaked.Error())
		}
	}
	if res.Interrupted {
		errs = append(errs, ctx.Err())
	}
	return res, errors.Join(errs...)
}

// lead takes the jobs through warm-up, samples and end. It returns when all
// have ended, and says whether ctx ended them.
func (r *crew) lead(ctx context.Context, ended <-chan *job) (interrupted bool) {
	tick := time.NewTicker(r.opt.Interval)
	defer tick.Stop()
	never := make(chan time.Time)
	warm, over := (<-chan time.Time)(never), (<-chan time.Time)(never)
	window := func() {
		number := r.ctl.Measure()
		if r.cfg.Runtime > 0 {
			over = time.After(r.cfg.Runtime)
		}
		r.baseline(number)
		tick.Reset(r.opt.Interval)
	}
	if r.cfg.Warmup > 0 {
		warm = time.After(r.cfg.Warmup)
	} else {
		window()
	}
	cancelled := ctx.Done()
	for left := len(r.jobs); left > 0; {
		select {
		case j := <-ended:
			left--
			if j.done = true; j.err != nil {
				r.ctl.End()
			}
		case <-cancelled:
			interrupted, cancelled = true, nil
			r.ctl.End()
		case <-over:
			if time.Since(r.last) > r.opt.Interval*wholeShare/100 {
				r.sample(true) // the last second ends with the window
			}
			over = never
			r.ctl.End()
		case <-warm:
			window()
		case <-tick.C:
			r.sample(true)
		case <-r.opt.Status:
			r.sample(false)
		}
	}
	return interrupted
}

func timestamp(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// Gone tells whether an error of Run means that a drive is no longer there.
func Gone(err error) bool {
	return errors.Is(err, syscall.ENODEV) || errors.Is(err, syscall.ENXIO)
}
