package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/nvmepass/nvmepass/internal/lab"
	"github.com/nvmepass/nvmepass/internal/sys"
)

// fault is something that is done to a run while its traffic goes on.
type fault struct {
	name string
	// machine faults concern all of a machine or its drives, so that they are for
	// the lab's guest only.
	machine bool
	run     func(e *engine, rng *rand.Rand) error
}

// driverFaults and processFaults are injected side by side, so that they coincide.
var (
	driverFaults = []fault{
		{"controller reset", true, resetFault},
		{"controller reset", true, resetFault},
		{"namespace rescan", true, rescanFault},
		{"CPU taken offline and back", true, offlineFault},
		{"drive slowed down", true, slowFault},
		{"machine paused", true, pauseFault},
	}
	processFaults = []fault{
		{"signals to all threads", false, stormFault},
		{"profiling signals", false, profileFault},
		{"process stopped and continued", false, stopFault},
		{"collections in a row", false, collectFault},
		{"memory pressure", false, pressureFault},
	}
)

// faultNames are all that can be injected.
func faultNames() (names []string) {
	for _, f := range slices.Concat(driverFaults, processFaults) {
		names = append(names, f.name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// inject does one fault after another until ctx ends.
func (e *engine) inject(ctx context.Context, faults []fault, rng *rand.Rand) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Duration(100+rng.IntN(1900)) * time.Millisecond):
		}
		f := faults[rng.IntN(len(faults))]
		if f.machine && !e.o.lab || slices.Contains(e.o.leftOut(), f.name) {
			continue
		}
		g := e.watch.begin("fault: %s", f.name)
		err := f.run(e, rng)
		e.watch.end(g)
		switch {
		case errors.Is(err, os.ErrNotExist): // nothing of the kind here
		case err != nil:
			e.odd(nil, byNobody, f.name, err)
		default:
			e.tally.faults.add(f.name, 1)
		}
	}
}

func resetFault(e *engine, rng *rand.Rand) error {
	d := e.drives[rng.IntN(len(e.drives))]
	if !e.pollsAnything { // such a kernel crashes if polled commands are under way; see passthru/oldpoll.go
		d.onePoller.Lock()
		defer d.onePoller.Unlock()
	}
	return d.reset()
}

// reset returns when the controller is back. Every command that was under way
// before has ended then: the driver cancels what the controller holds, and waits
// until its queues are empty.
func (d *drive) reset() error {
	d.resets.begin()
	defer d.resets.end()
	return os.WriteFile("/sys/class/nvme/"+d.node+"/reset_controller", []byte("1"), 0)
}

func rescanFault(e *engine, rng *rand.Rand) error {
	return os.WriteFile("/sys/class/nvme/"+e.drives[rng.IntN(len(e.drives))].node+"/rescan_controller", []byte("1"), 0)
}

// offlineFault takes the last CPU away for a moment.
func offlineFault(_ *engine, rng *rand.Rand) (err error) {
	nodes, err := filepath.Glob("/sys/devices/system/cpu/cpu[0-9]*/online")
	if err != nil || len(nodes) == 0 {
		return os.ErrNotExist
	}
	node := nodes[len(nodes)-1]
	if err := os.WriteFile(node, []byte("0"), 0); err != nil {
		return err
	}
	time.Sleep(time.Duration(rng.IntN(400)) * time.Millisecond)
	return os.WriteFile(node, []byte("1"), 0)
}

// slowFault lets a namespace take a few requests per second only, so that commands
// pile up, and then all of them again.
func slowFault(e *engine, rng *rand.Rand) error {
	t := e.targets[rng.IntN(len(e.targets))]
	limit := lab.Action{Verb: lab.VerbThrottle, Drive: t.drive.serial, NSID: int(t.nsid), IOPS: 1 + rng.Int64N(200)}
	if err := lab.Ask(limit); err != nil {
		return err
	}
	time.Sleep(time.Duration(rng.IntN(1500)) * time.Millisecond)
	limit.IOPS = 0
	return lab.Ask(limit)
}

func pauseFault(_ *engine, rng *rand.Rand) error {
	return lab.Ask(lab.Action{Verb: lab.VerbPause, For: time.Duration(50+rng.IntN(500)) * time.Millisecond})
}

// stormFault interrupts every thread as fast as it can: each system call that
// sleeps ends with EINTR, again and again.
func stormFault(e *engine, rng *rand.Rand) error {
	sent := uint64(0)
	for end := time.Now().Add(time.Duration(20+rng.IntN(150)) * time.Millisecond); time.Now().Before(end); {
		tasks, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return err
		}
		for _, task := range tasks {
			tid, err := strconv.Atoi(task.Name())
			if err != nil {
				return err
			}
			if sys.InterruptThread(tid) == nil { // it may have ended
				sent++
			}
		}
	}
	e.tally.faults.add("signals sent", sent)
	return nil
}

func profileFault(_ *engine, rng *rand.Rand) error {
	if err := pprof.StartCPUProfile(io.Discard); err != nil {
		return err
	}
	time.Sleep(time.Duration(50+rng.IntN(300)) * time.Millisecond)
	pprof.StopCPUProfile()
	return nil
}

func collectFault(_ *engine, rng *rand.Rand) error {
	old := debug.SetGCPercent(1)
	for range 1 + rng.IntN(5) {
		runtime.GC()
	}
	debug.SetGCPercent(old)
	return nil
}

// pressureFault takes memory, touches it, and gives it back to the system.
func pressureFault(_ *engine, rng *rand.Rand) error {
	var held [][]byte
	for range 1 + rng.IntN(24) {
		b := make([]byte, 4<<20)
		for i := 0; i < len(b); i += 4096 {
			b[i] = byte(i)
		}
		held = append(held, b)
	}
	time.Sleep(time.Duration(rng.IntN(200)) * time.Millisecond)
	runtime.KeepAlive(held)
	debug.FreeOSMemory()
	return nil
}

func stopFault(e *engine, rng *rand.Rand) error {
	return e.stopper.stop(time.Duration(10+rng.IntN(400)) * time.Millisecond)
}

// stopper is a process that stops this one and lets it go on.
type stopper struct {
	cmd     *exec.Cmd
	orders  io.WriteCloser
	answers *bufio.Scanner
}

func startStopper() (*stopper, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	s := &stopper{cmd: exec.Command(self, roleStopper)}
	s.cmd.Stderr = os.Stderr
	if s.orders, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.answers = bufio.NewScanner(out)
	return s, s.cmd.Start()
}

func (s *stopper) stop(d time.Duration) error {
	if _, err := fmt.Fprintln(s.orders, d.Milliseconds()); err != nil {
		return err
	}
	if !s.answers.Scan() {
		return fmt.Errorf("the process that stops this one has ended: %w", errors.Join(s.answers.Err(), io.ErrUnexpectedEOF))
	}
	if text := s.answers.Text(); text != "ok" {
		return errors.New(text)
	}
	return nil
}

func (s *stopper) close() error {
	return errors.Join(s.orders.Close(), s.cmd.Wait())
}

// stopperMain is that process.
func stopperMain(in io.Reader, out io.Writer) error {
	parent := os.Getppid()
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		ms, err := strconv.Atoi(strings.TrimSpace(lines.Text()))
		if err != nil {
			return err
		}
		answer := "ok"
		if err := syscall.Kill(parent, syscall.SIGSTOP); err != nil {
			answer = err.Error()
		}
		time.Sleep(time.Duration(ms) * time.Millisecond)
		if err := syscall.Kill(parent, syscall.SIGCONT); err != nil {
			answer = err.Error()
		}
		if _, err := fmt.Fprintln(out, answer); err != nil {
			return err
		}
	}
	return lines.Err()
}
