package faults

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/ioqueue"
	"github.com/nvmepass/nvmepass/internal/iosetup"
	"github.com/nvmepass/nvmepass/internal/jobs"
	"github.com/nvmepass/nvmepass/internal/workload"
	"github.com/nvmepass/nvmepass/passthru"
)

func timeCases() []Case {
	return []Case{
		{
			Name:  "stopped-process",
			Fault: "SIGSTOP for twice the stall limit, then SIGCONT, while a Device and queues have commands in flight, and while they are closed",
			Must:  "no stall is reported of a drive that answers; every command is accounted for",
			Bound: 2 * time.Minute, Shape: userShape, Exit: LibraryOnly, Run: stopped,
		},
		{
			Name:  "children-of-a-live-ring",
			Fault: "fork and exec of children while rings have commands in flight",
			Must:  "no child has a node, a ring or its memory; nothing is lost, and closing waits for no child",
			Bound: time.Minute, Shape: userShape, Exit: LibraryOnly, Run: liveChildren,
		},
		{
			Name:  "clock-jumps",
			Fault: "the clock is set a year back and forth during a run with latencies and a rate limit",
			Must:  "durations, rates and latencies are as without",
			Bound: time.Minute, Shape: userShape, Exit: 0, Run: clockJumps,
		},
		{
			Name:  "cpu-offline",
			Fault: "the CPU that a run is pinned to is taken offline and brought back, by interrupt and polled",
			Must:  "the run goes on elsewhere, and every command is accounted for",
			Bound: 2 * time.Minute, Shape: userShape, Exit: 0, Run: cpuOffline,
		},
	}
}

// stallLimit is that of the stopped process: shorter than what it is stopped for.
const stallLimit = 800 * time.Millisecond

func init() { tasks["stopped"] = stoppedTask }

// stoppedTask works with a short stall limit until its standard input ends, and
// closes. It prints a line once it works.
func stoppedTask(c childTask) (any, error) {
	d, err := passthru.Open(c.Node, &passthru.Config{Writable: true, Depth: 4, BufferSize: loadBlock, Poll: c.Mode == "device-poll", StallLimit: stallLimit})
	if err != nil {
		return nil, err
	}
	over := make(chan struct{})
	go func() {
		_, _ = bufio.NewReader(os.Stdin).ReadByte() // its end
		close(over)
	}()
	if strings.HasPrefix(c.Mode, "device") {
		l := newLoad(0, 4, 16)
		end := l.start(d)
		for l.ok.Load() < 20 {
			time.Sleep(time.Millisecond)
		}
		fmt.Println("working")
		<-over
		closed := d.Close() // with commands in flight
		o := end()
		if len(l.errs) > 0 {
			closed = errors.Join(closed, fmt.Errorf("%v", l.errs))
		}
		return o, errors.Join(closed, l.wrong)
	}
	path, hold := strings.CutSuffix(c.Mode, "/hold")
	q, err := ioqueue.Open([]*passthru.Device{d}, ioqueue.Config{Path: iosetup.Path(path), Mode: iosetup.DefaultMode(), Depth: 8, HoldP: hold, StallLimit: stallLimit})
	if err != nil {
		return nil, err
	}
	fmt.Println("working")
	var o Outcome
	for {
		res, err := workload.Run(context.Background(), q, workload.Config{
			Batch: 2, Rule: iosetup.RuleFio, Pattern: workload.RandRead, Blocks: d.Limits().Blocks, NLB: 1, Runtime: 100 * time.Millisecond,
		})
		if err != nil {
			return nil, err
		}
		o = o.Add(countsOf(res.Total))
		select {
		case <-over:
		default:
			continue
		}
		for slot := range 8 {
			if err := q.Read(slot, uint64(slot), 1); err != nil {
				return nil, err
			}
		}
		o.Issued, o.OK = o.Issued+8, o.OK+8 // or else Close says so
		return o, errors.Join(q.Submit(0), q.Close(), d.Close())
	}
}

func stopped(t *testing.T, g *Guest) (o Outcome) {
	node := g.Drive(t, "slow0").Generic
	for _, mode := range []string{"device", "device-poll", "passthru", "passthru/hold", "block", "passthru-poll", "block-poll"} {
		cmd := childTask{Name: "stopped", Node: node, Mode: mode}.command(t)
		in, err := cmd.StdinPipe()
		require.NoError(t, err)
		pipe, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		out := bufio.NewScanner(pipe)
		require.True(t, out.Scan(), mode)
		require.Equal(t, "working", out.Text())
		pause := func() {
			require.NoError(t, cmd.Process.Signal(syscall.SIGSTOP))
			time.Sleep(2 * stallLimit)
			require.NoError(t, cmd.Process.Signal(syscall.SIGCONT))
		}
		for range 3 {
			pause()
			time.Sleep(70 * time.Millisecond)
		}
		require.NoError(t, in.Close())
		time.Sleep(5 * time.Millisecond) // it is about to close
		pause()
		require.True(t, out.Scan(), mode)
		var got Outcome
		require.NoError(t, json.Unmarshal(out.Bytes(), &got), out.Text())
		require.NoError(t, cmd.Wait(), mode)
		require.Zero(t, got.Failed+got.Cancelled, mode)
		o = o.Add(got)
	}
	forget(t, opened(t, node, passthru.Config{}), 4*16)
	return o
}

func init() { tasks["inherited"] = inheritedTask }

// inheritedTask lists what it has of its parent's. A lasting one first waits for
// the end of its standard input.
func inheritedTask(c childTask) (any, error) {
	if c.Mode == "lasting" {
		_, _ = bufio.NewReader(os.Stdin).ReadByte()
	}
	var found []string
	fds, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		return nil, err
	}
	for _, fd := range fds {
		if target, err := os.Readlink(fd); err == nil && !strings.HasPrefix(target, "pipe:") {
			found = append(found, target)
		}
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if strings.Contains(string(maps), "io_uring") {
		found = append(found, "the mapping of a ring")
	}
	return found, err
}

func liveChildren(t *testing.T, g *Guest) (o Outcome) {
	node := g.Drive(t, "slow0").Generic
	for _, m := range modes {
		d, err := passthru.Open(node, &passthru.Config{Writable: true, Depth: 8, BufferSize: loadBlock, Poll: m.poll})
		require.NoError(t, err)
		l := newLoad(0, 8, 4)
		end := l.start(d)
		l.await(t, 50)
		for range 5 {
			var found []string
			childTask{Name: "inherited"}.do(t, &found)
			for _, target := range found {
				require.NotContains(t, target, "io_uring")
				require.NotContains(t, target, "/dev/ng")
				require.NotContains(t, target, "/dev/nvme")
				require.NotContains(t, target, "ring")
			}
		}
		lasting := childTask{Name: "inherited", Mode: "lasting"}.command(t)
		in, err := lasting.StdinPipe()
		require.NoError(t, err)
		require.NoError(t, lasting.Start())
		require.NoError(t, d.Close()) // while that child lives
		o = o.Add(end())
		require.NoError(t, in.Close())
		require.NoError(t, lasting.Wait())
		require.Empty(t, l.errs)
		again := opened(t, node, passthru.Config{})
		l.verify(t, again)
		forget(t, again, 8*4)
	}
	require.Zero(t, o.Failed+o.Cancelled)
	return o
}

func clockJumps(t *testing.T, g *Guest) (o Outcome) {
	node := g.Drive(t, "fast0").Generic
	began, wall := time.Now(), time.Now().Round(0)
	jump := func(by time.Duration) {
		tv := syscall.NsecToTimeval(wall.Add(time.Since(began) + by).UnixNano())
		require.NoError(t, syscall.Settimeofday(&tv))
	}
	defer jump(0)
	const year = 365 * 24 * time.Hour
	for _, args := range [][]string{{"--latency"}, {"--latency", "--rate-iops", "500"}, {"--path", "passthru-poll"}} {
		p := g.Start(t, nil, append([]string{"run", node, "--runtime", "2", "-o", "json", "--progress", "none"}, args...)...)
		g.AwaitQueue(t, p, node)
		for _, by := range []time.Duration{-year, year, -year, 0} {
			time.Sleep(300 * time.Millisecond)
			jump(by)
		}
		run := g.Wait(t, p)
		require.Zero(t, run.Exit)
		o = o.Add(recordOf(t, run))
		res, err := jobs.Decode(strings.NewReader(run.Stdout))
		require.NoError(t, err)
		window := time.Duration(res.Total.WindowNS)
		require.GreaterOrEqual(t, window, 1900*time.Millisecond, "%v", args)
		require.Less(t, window, 20*time.Second, "%v", args)
		for _, dir := range res.Total.Directions {
			if dir.Latency != nil {
				require.Less(t, time.Duration(dir.Latency.MaxNS), 20*time.Second)
			}
		}
	}
	require.Equal(t, o.Issued, o.OK)
	return o
}

func cpuOffline(t *testing.T, g *Guest) (o Outcome) {
	const online = "/sys/devices/system/cpu/cpu1/online"
	if _, err := os.Stat(online); err != nil {
		g.Lacks(t, "CPUs of this guest cannot be taken offline")
	}
	defer func() { require.NoError(t, os.WriteFile(online, []byte("1"), 0)) }()
	node := g.Drive(t, "fast0").Generic
	for _, path := range []string{"passthru", "block", "passthru-poll", "block-poll"} {
		p := g.Start(t, nil, "run", node, "--path", path, "--cpu", "1", "--qd", "8", "--runtime", "3", "-o", "json", "--progress", "none")
		awaitRing(t, p)
		time.Sleep(500 * time.Millisecond)
		g.Write(t, online, "0")
		time.Sleep(time.Second)
		g.Write(t, online, "1")
		run := g.Wait(t, p)
		require.Zero(t, run.Exit, path)
		one := recordOf(t, run)
		require.Equal(t, one.Issued, one.OK, path)
		o = o.Add(one)
	}
	return o.Add(usable(t, node))
}
