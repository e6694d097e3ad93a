package jobs

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"

	"github.com/nvmepass/nvmepass/internal/ioqueue"
	"github.com/nvmepass/nvmepass/internal/iosetup"
	"github.com/nvmepass/nvmepass/internal/sys"
	"github.com/nvmepass/nvmepass/internal/workload"
	"github.com/nvmepass/nvmepass/nvme"
	"github.com/nvmepass/nvmepass/passthru"
	"github.com/nvmepass/nvmepass/uringcmd"
)

// job is one ring on one thread.
type job struct {
	number  int
	drives  []int // numbers of its devices
	devs    []*passthru.Device
	cpus    []int
	zones   []nvme.Zone // to append to
	cfg     workload.Config
	meter   workload.Meter
	prev    workload.Live // of the last sample that was made use of
	done    bool          // its last sample is in the meter
	result  *workload.Result
	effect  iosetup.Effective
	err     error
	leaked  error
	queueOf func(devs []*passthru.Device, c ioqueue.Config) (ioqueue.Queue, error)
}

// run opens the ring, says on ready whether that worked, waits for start, and
// runs unless abort is set by then.
func (j *job) run(c *Config, ctl *workload.Control, ready chan<- error, start <-chan bool) {
	runtime.LockOSThread() // never unlocked: the thread ends with the job
	q, err := j.open(c)
	if err != nil {
		j.err = err
		ready <- err
		return
	}
	defer func() {
		cerr := q.Close()
		if errors.As(cerr, new(*uringcmd.LeakError)) {
			j.leaked = cerr
		}
		j.err = errors.Join(j.err, cerr)
	}()
	ready <- nil
	if !<-start {
		return
	}
	j.result, j.err = workload.RunLed(q, j.cfg, ctl, &j.meter)
}

func (j *job) open(c *Config) (ioqueue.Queue, error) {
	if len(j.cpus) > 0 {
		if err := sys.SetThreadCPUs(j.cpus); err != nil {
			return nil, fmt.Errorf("bind job %d to CPU %s: %w", j.number, cpuText(j.cpus), err)
		}
	}
	buffer := c.BlockSize
	if c.RW.Commands() && c.RW != workload.Append {
		buffer = 0 // at most a range of 16 bytes
	}
	q, err := j.queueOf(j.devs, ioqueue.Config{
		Path: c.Path, Mode: c.Mode, Depth: c.Depth.QD, BufferSize: buffer,
		// The thread does nothing else while it waits.
		HoldP: true,
	})
	if err != nil {
		return nil, err
	}
	j.effect = ioqueue.Effective(q.Settings(), &c.Mode)
	if c.RW.Writes() {
		fillBuffers(q, c.Seed+uint64(j.number))
	}
	if c.RW.Commands() {
		if j.cfg.Build, err = builder(q, j.devs[0], c.RW, j.cfg.NLB, j.zones); err != nil {
			return nil, errors.Join(err, q.Close())
		}
		if c.RW == workload.Append {
			j.cfg.NLB = 1 // of the numbers that stand for addresses
		}
	}
	return q, nil
}

// fillBuffers writes random bytes, which no drive compresses or leaves out.
func fillBuffers(q ioqueue.Queue, seed uint64) {
	rng := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8), byte(seed >> 16), byte(seed >> 24)})
	for slot := range q.Depth() {
		_, _ = rng.Read(q.Buffer(slot)) // never fails
	}
}

// workloadOf is the part of c for one of several jobs on a device: number k of
// m. Those without random addresses begin at different places.
func (c *Config) workloadOf(d *passthru.Device, seed uint64, k, m int) (workload.Config, error) {
	dist, err := workload.ParseDistribution(c.Distribution)
	if err != nil {
		return workload.Config{}, err
	}
	first, blocks := c.region(d)
	return workload.Config{
		Batch: c.Depth.Batch, Rule: c.Rule, Pattern: c.RW, Distribution: dist, Seed: seed, First: first, Blocks: blocks,
		Start: float64(k) / float64(m), NLB: uint32(c.blocks(d)), ReadShare: float64(c.ReadPercent) / 100, Count: c.Number,
		Rate: c.rate(), Poisson: c.RateProcess == Poisson, Latency: c.Latency,
	}, nil
}
