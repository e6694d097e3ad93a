package main

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/nvmepass/nvmepass/internal/lab"
	"github.com/nvmepass/nvmepass/internal/sys"
	"github.com/nvmepass/nvmepass/nvme"
	"github.com/nvmepass/nvmepass/passthru"
)

// engine is one run on one machine: rounds of traffic on all paths at once under
// faults, each followed by a quiet moment in which every block is read twice, by
// two paths, and what the process holds is counted.
type engine struct {
	o       *options
	out     io.Writer
	outMu   sync.Mutex
	tally   tally
	watch   *watch
	targets []*target
	drives  []*drive
	stopper *stopper
	rounds  int
	usage   usageLog
	// pollsAnything: this kernel polls also for commands without data, and one
	// drive by several rings.
	pollsAnything bool
	orphans       orphans
	kernel        string

	older older // of a run that is spoiled on purpose
}

// roundTime is how long traffic runs between two quiet moments.
const roundTime = 15 * time.Second

func newEngine(o *options, out io.Writer) *engine {
	release := sys.KernelRelease()
	e := &engine{o: o, out: out, watch: newWatch(o.hang), kernel: release, pollsAnything: kernelAtLeast(release, 6, 6)}
	e.tally.began = time.Now()
	return e
}

// kernelAtLeast tells whether a release such as 6.1.0-13-cloud-amd64 is of a
// version or later.
func kernelAtLeast(release string, major, minor int) bool {
	var a, b int
	if _, err := fmt.Sscanf(release, "%d.%d", &a, &b); err != nil {
		return false
	}
	return a > major || a == major && b >= minor
}

// stallLimit of rings is above the watch's, so that what hangs is seen hanging.
func (e *engine) stallLimit() time.Duration { return 2 * e.o.hang }

func (e *engine) rng(parts ...any) *rand.Rand {
	h := fnv.New64a()
	_, _ = fmt.Fprintln(h, parts...)
	return rand.New(rand.NewPCG(e.o.seed, h.Sum64()))
}

// say prints a line, unless it is empty.
func (e *engine) say(line string) {
	if line == "" {
		return
	}
	e.outMu.Lock()
	defer e.outMu.Unlock()
	_, _ = fmt.Fprintln(e.out, line) // nobody can be told
}

// odd records what no fault explains.
func (e *engine) odd(t *target, p pathID, what string, err error) {
	name := ""
	if t != nil {
		name = t.name
	}
	e.say(e.tally.unexplained(Failure{Drive: name, Path: p.String(), Op: what, Error: err.Error()}))
}

// failed records an operation that did not succeed.
func (e *engine) failed(end outcome, o *op, s *session, err error) {
	if end == odd {
		e.odd(s.t, s.path, fmt.Sprintf("%s of %d blocks from %d", o.kind, o.n, o.slba), err)
		return
	}
	e.tally.faults.add("I/O error from the drive", 1)
}

// cancelled counts an operation by what cancelled it.
func (e *engine) cancelled(err error) {
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		e.tally.faults.add("context ended", 1)
	case errors.Is(err, os.ErrClosed):
		e.tally.faults.add("command refused by a closed device", 1)
	case errors.Is(err, errKilled):
		e.tally.faults.add("command of a killed process", 1)
	default:
		e.tally.faults.add("command cancelled by a reset", 1)
	}
}

func (e *engine) guard(t *target, p pathID, o *op) *guarded {
	return e.watch.begin("%s of %d blocks from %d by %s on %s", o.kind, o.n, o.slba, p, t.name)
}

// find learns the targets.
func (e *engine) find(paths []string) error {
	byName := map[string]*drive{}
	special := map[string]*lab.Drive{}
	if e.o.lab {
		for _, text := range labDrives {
			d, err := lab.ParseDrive(text)
			if err != nil {
				return err
			}
			special[d.Serial] = &d
		}
	}
	for _, path := range paths {
		t, err := learnTarget(path, e.o.span, e.o.seed, byName)
		if err != nil {
			return err
		}
		if d := special[t.drive.serial]; d != nil {
			t.expectErrors(d)
			t.alone = d.Metadata > 0
		}
		e.targets = append(e.targets, t)
		var can []string
		for p := byQueue; p < pathCount; p++ {
			if t.can(p) {
				can = append(can, p.String())
			}
		}
		e.say(fmt.Sprintf("soak: %s: %d blocks, %d a command, by %s", t.name, t.blocks, t.most, strings.Join(can, ", ")))
	}
	for _, d := range byName {
		e.drives = append(e.drives, d)
	}
	if len(e.targets) == 0 {
		return errors.New("no NVMe namespace to soak")
	}
	return nil
}

// run goes on until the time is over or enough blocks are verified.
func (e *engine) run(ctx context.Context) (err error) {
	if e.stopper, err = startStopper(); err != nil {
		return fmt.Errorf("start the process that stops this one: %w", err)
	}
	defer func() { err = errors.Join(err, e.stopper.close()) }()
	for _, t := range e.targets {
		if err := e.prepare(ctx, t); err != nil {
			return err
		}
	}
	ticker := make(chan struct{})
	progressing, stopProgress := context.WithCancel(ctx)
	go func() { defer close(ticker); e.progress(progressing) }()
	defer func() { stopProgress(); <-ticker }()

	for e.rounds = 0; !e.enough() && ctx.Err() == nil; e.rounds++ {
		e.traffic(ctx, e.rounds)
		e.quiet(ctx, e.rounds)
		u, err := e.usage.settled(releaseTime)
		if err != nil {
			return err
		}
		u.Seconds = e.tally.since()
		e.usage.add(u)
		e.sabotageRound()
	}
	e.final(ctx)
	return nil
}

// enough tells whether the run may end: after three rounds at least, because a
// leak shows only between rounds.
func (e *engine) enough() bool {
	mismatches, failures := e.tally.bad()
	switch {
	case mismatches+failures >= 2*maxReports, mismatches > 0 && e.o.sabotage != "":
		return true // it does not get better
	case e.rounds < minRounds:
		return false
	case e.o.blocks > 0:
		return e.tally.verified() >= e.o.blocks
	}
	return e.tally.since() >= e.o.duration.Seconds()
}

// minRounds are as many as leaks needs.
const minRounds = 3

// prepare writes every block once.
func (e *engine) prepare(ctx context.Context, t *target) error {
	d, err := passthru.Open(t.path, &passthru.Config{Writable: true})
	if err != nil {
		return err
	}
	defer d.Close()
	s := e.newSession(t, byDevice, e.rng("prepare", t.path))
	data, meta := make([]byte, t.host.DataLen(t.most)), make([]byte, t.host.MetadataLen(t.most))
	for slba := uint64(0); slba < t.blocks; {
		o := &op{kind: opWrite, slba: slba, n: uint32(min(uint64(t.most), t.blocks-slba))}
		if t.writeErrors.overlaps(o.slba, o.n) {
			o.n = 1 // so that the neighbours are written
		}
		slba += uint64(o.n)
		data, meta := data[:t.host.DataLen(o.n)], meta[:t.host.MetadataLen(o.n)]
		if err := s.prepare(s.whole, o, data, meta); err != nil {
			return err
		}
		err := d.WriteBlocks(ctx, o.slba, data, meta, nvme.IOOptions{PRACT: t.pract()})
		s.finish(s.whole, o, done{err: err})
		if err != nil && !t.writeErrors.overlaps(o.slba, o.n) {
			return fmt.Errorf("write the first stamps: %w", err)
		}
	}
	return nil
}

// worker keeps one path busy.
type worker struct {
	path  pathID
	quota int // of operations in one life of a queue, device or file
}

// crew are the workers that run side by side. Each takes a target at random for
// one life at a time, so that everything is opened and closed all the time.
var crew = []worker{
	{byDevice, 300}, {byDevice, 300}, {byDevicePoll, 200}, {byQueue, 400}, {byQueue, 400}, {byQueuePoll, 300},
	{byBlock, 400}, {byBlockPoll, 300}, {byFile, 200}, {byFile, 200}, {byChild, 150},
}

// traffic runs the crew and the faults for one round.
func (e *engine) traffic(ctx context.Context, round int) {
	ctx, cancel := context.WithTimeout(ctx, roundTime)
	defer cancel()
	var group, injecting sync.WaitGroup
	for i, faults := range [][]fault{driverFaults, processFaults} {
		rng := e.rng("faults", round, i)
		injecting.Go(func() { e.inject(ctx, faults, rng) })
	}
	for i, w := range crew {
		rng := e.rng("worker", round, i)
		var reach []*target
		for _, t := range e.targets {
			if t.can(w.path) {
				reach = append(reach, t)
			}
		}
		group.Go(func() {
			for len(reach) > 0 && ctx.Err() == nil {
				e.life(ctx, w, reach[rng.IntN(len(reach))], rng)
			}
		})
	}
	group.Wait()
	cancel()
	injecting.Wait()
}

// life is one life of a worker's queue, device, file or child.
func (e *engine) life(ctx context.Context, w worker, t *target, rng *rand.Rand) {
	if w.path.polls() && !e.pollsAnything {
		if !t.drive.onePoller.TryLock() {
			time.Sleep(5 * time.Millisecond)
			return
		}
		defer t.drive.onePoller.Unlock()
	}
	s := e.newSession(t, w.path, rng)
	switch {
	case w.path.ring():
		s.ringTraffic(ctx, w.quota)
	case w.path == byFile:
		s.fileTraffic(ctx, w.quota)
	case w.path == byChild:
		s.childTraffic(ctx, w.quota)
	default:
		s.deviceTraffic(ctx, w.quota)
	}
}

// quiet ends what was given up, and has every block read by two paths: at least
// one of them is not the one that wrote it.
func (e *engine) quiet(ctx context.Context, round int) {
	e.settleOrphans()
	e.sabotageQuiet()
	e.sweeps(func(i int, t *target) {
		var ways []pathID
		for p := byQueue; p < byChild; p++ {
			if t.can(p) {
				ways = append(ways, p)
			}
		}
		for k := range 2 {
			e.sweep(ctx, t, ways[(2*round+i+k)%len(ways)], e.rng("sweep", round, i, k))
		}
	})
}

// sweeps calls f for each target, for some of them at a time.
func (e *engine) sweeps(f func(i int, t *target)) {
	var group sync.WaitGroup
	next := make(chan int)
	for range runtime.NumCPU() {
		group.Go(func() {
			for i := range next {
				f(i, e.targets[i])
			}
		})
	}
	for i := range e.targets {
		next <- i
	}
	close(next)
	group.Wait()
}

// final has every block read by every path.
func (e *engine) final(ctx context.Context) {
	e.sweeps(func(i int, t *target) {
		for p := byQueue; p < byChild; p++ {
			if t.can(p) {
				e.sweep(ctx, t, p, e.rng("final", i, p))
			}
		}
	})
}

// orphans are writes of processes that were killed. They may land until they are
// known to be gone.
type orphans struct {
	mu  sync.Mutex
	all []orphan
}

type orphan struct {
	t      *target
	w      *write
	killed time.Time
}

// orphanTime is after how long a command cannot be under way any more where no
// controller may be reset: the driver aborts it after 30 s and resets the
// controller after as much again.
const orphanTime = 90 * time.Second

func (e *engine) orphan(t *target, writes []*write) {
	e.orphans.mu.Lock()
	defer e.orphans.mu.Unlock()
	for _, w := range writes {
		e.orphans.all = append(e.orphans.all, orphan{t, w, time.Now()})
	}
}

// settleOrphans resets the controllers that orphans may be in, or waits for the
// driver's time-outs.
func (e *engine) settleOrphans() {
	e.orphans.mu.Lock()
	all := e.orphans.all
	e.orphans.all = nil
	e.orphans.mu.Unlock()
	gone := map[*drive]bool{}
	for _, x := range all {
		d := x.t.drive
		if e.o.lab && !gone[d] {
			g := e.watch.begin("controller reset of %s, to end what killed processes left", d.serial)
			err := d.reset()
			e.watch.end(g)
			if err != nil {
				e.odd(x.t, byChild, "controller reset", err)
				continue
			}
			e.tally.faults.add("controller reset", 1)
			gone[d] = true
		}
		if gone[d] || time.Since(x.killed) > orphanTime {
			x.t.model.settle(x.w)
			continue
		}
		e.orphans.mu.Lock()
		e.orphans.all = append(e.orphans.all, x)
		e.orphans.mu.Unlock()
	}
}

// progress prints a line every few seconds.
func (e *engine) progress(ctx context.Context) {
	tick := time.NewTicker(5 * time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			e.say(e.line())
		}
	}
}

// line is how far the run is.
func (e *engine) line() string {
	mismatches, failures := e.tally.bad()
	faults := uint64(0)
	for _, n := range e.tally.faults.snapshot() {
		faults += n
	}
	var b strings.Builder
	fmt.Fprintf(&b, "soak: %3.0fs: %.2fM blocks verified, %d mismatches, %d unexplained, %d faults;", e.tally.since(), float64(e.tally.verified())/1e6, mismatches, failures, faults)
	for p := byQueue; p < pathCount; p++ {
		c := &e.tally.paths[p]
		fmt.Fprintf(&b, " %s %d+%d+%d", p, c.ok.Load(), c.failed.Load(), c.cancelled.Load())
	}
	return b.String()
}

// nodes are the namespaces of this machine.
func nodes() ([]string, error) {
	found, err := filepath.Glob("/dev/ng*n*")
	if err == nil && len(found) == 0 {
		err = errors.New("no /dev/ngXnY here")
	}
	return found, err
}

// machine describes where a run took place.
func machine() string { return fmt.Sprintf("%s, %d CPUs", runtime.GOARCH, runtime.NumCPU()) }
