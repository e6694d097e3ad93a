package faults

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/lab"
	"github.com/nvmepass/nvmepass/passthru"
	"github.com/nvmepass/nvmepass/uringcmd"
)

// stuckShape has a driver that waits for its drives far longer than the library
// does, so that it is the library's limits that show.
var stuckShape = &Shape{
	Name: "stuck", PollQueues: 1, Slow: true, Append: "nvme_core.io_timeout=900 nvme_core.admin_timeout=900",
	Drives: []string{
		"size=16m,backend=memory,serial=slow",
		"size=16m,backend=memory,serial=paused",
		"size=16m,backend=memory,serial=hung",
		"size=16m,backend=memory,serial=dead-device",
		"size=16m,backend=memory,serial=dead-alone",
		"size=16m,backend=memory,serial=dead-open",
		"size=16m,backend=memory,serial=dead-queue",
		"size=16m,backend=memory,serial=dead-tool",
	},
	Actions: []lab.Verb{lab.VerbPause, lab.VerbThrottle},
}

// timeoutShape has drives that answer after four seconds. They are not throttled:
// QEMU 7.2 stands still when a queue is deleted whose commands wait for a limit.
var timeoutShape = &Shape{
	Name: "timeouts", PollQueues: 1, Slow: true,
	Drives: []string{
		"size=16m,backend=null,zeroes,latency=4s,serial=late",
		"size=16m,backend=null,zeroes,latency=4s,serial=late-tool",
	},
}

func stuckCases() []Case {
	return []Case{
		{
			Name: "slow-drive", Shape: stuckShape, Bound: 2 * time.Minute, Exit: 0, Run: slowDrive,
			Fault: "QMP: the drive is throttled to 100 commands a second in the middle of I/O, then released",
			Must:  "nothing is lost, doubled or given up; the data is right",
		},
		{
			Name: "paused-machine", Shape: stuckShape, Bound: 2 * time.Minute, Exit: 0, Run: pausedMachine,
			Fault: "QMP stop for 3 s and cont, twice, in the middle of I/O",
			Must:  "nothing is lost, doubled or given up; the data is right",
		},
		{
			Name: "hung-drive", Shape: stuckShape, Bound: 2 * time.Minute, Exit: 0, Run: hungDrive,
			Fault: "QMP: the drive is throttled to 1 byte a second, so that nothing comes back, and released after 5 s",
			Must:  "nothing is lost, doubled or given up; the data is right",
		},
		{
			Name: "dead-drive-device", Shape: stuckShape, Bound: 2 * time.Minute, Exit: LibraryOnly, Leaks: true, Run: deadDevice,
			Fault: "as hung-drive, but the drive stays as it is while the library looks; a Device with a StallLimit of 3 s",
			Must:  "every call ends with ErrStalled; later ones are refused at once; Close ends within twice the limit and says what it left",
		},
		{
			Name: "dead-drive-alone", Shape: stuckShape, Bound: time.Minute, Exit: LibraryOnly, Leaks: true, Run: deadAlone,
			Fault: "as dead-drive-device, with one goroutine, whose transfers could go by a synchronous ioctl",
			Must:  "as for dead-drive-device: the stall limit holds there, too",
		},
		{
			Name: "dead-drive-open", Shape: stuckShape, Bound: time.Minute, Exit: LibraryOnly, Leaks: true, Run: deadOpen,
			Fault: "as dead-drive-device, but the drive is dead before the Device's first command and before NewQueue",
			Must:  "both end with ErrStalled, and so does Close within twice the limit",
		},
		{
			Name: "dead-drive-queue", Shape: stuckShape, Bound: 2 * time.Minute, Exit: LibraryOnly, Leaks: true, Run: deadQueue,
			Fault: "as dead-drive-device, with a Queue, by interrupts and polled",
			Must:  "Reap and Submit end with ErrStalled; Close ends with LeakError and the count of commands",
		},
		{
			Name: "dead-drive-tool", Shape: stuckShape, Bound: 4 * time.Minute, Exit: 5, Leaks: true, Run: deadTool,
			Fault: "as dead-drive-device, with nvmepass run (its stall limit is 75 s)",
			Must:  "it says what stalled and that commands never came back, and ends with 5; its process goes once the kernel has its commands back",
		},
		{
			Name: "driver-timeout", Shape: timeoutShape, Bound: 3 * time.Minute, Exit: 0, Run: driverTimeout,
			Fault: "the drive answers after 4 s and a Device gives its commands 1 s (Config.Timeout): the driver aborts them, then resets the controller",
			Must:  "each command ends as ok or cancelled, none stalls; the Device goes on; without the time-out every command succeeds, by library and tool",
		},
		{
			Name: "driver-timeout-tool", Shape: timeoutShape, Bound: 2 * time.Minute, Exit: LibraryOnly, Run: driverTimeoutTool,
			Fault: "the drive answers after 4 s and the driver waits for 1 s (queue/io_timeout), under nvmepass run",
			Must:  "the run goes on to its end; it ends with 0, or with 5 if commands were cancelled, which it counts",
		},
	}
}

// hang makes a drive as good as stuck; release ends that.
func hang(t testing.TB, g *Guest, serial string) {
	t.Helper()
	g.Ask(t, lab.Action{Verb: lab.VerbThrottle, Drive: serial, Bandwidth: 1})
}

func release(t testing.TB, g *Guest, serial string) {
	t.Helper()
	g.Ask(t, lab.Action{Verb: lab.VerbThrottle, Drive: serial})
}

// unharmed runs verified traffic on a Device, by interrupts and polled, and a
// writing nvmepass run, with a fault in the middle of each. All commands must
// succeed.
func unharmed(t *testing.T, g *Guest, serial string, fault func()) (o Outcome) {
	drive := g.Drive(t, serial)
	for i, mode := range modes {
		with(t, drive.Generic, passthru.Config{Poll: mode.poll}, func(d *passthru.Device) {
			l := newLoad(i*loadArea, 8, 32)
			end := l.start(d)
			l.await(t, 100)
			fault()
			l.await(t, 100)
			got := end()
			require.Equal(t, got.Issued, got.OK, "%s: %v", mode.name, l.errs)
			l.verify(t, d)
			o = o.Add(got)
		})
	}
	for _, path := range []string{"passthru", "passthru-poll"} {
		p := g.StartRun(t, drive.Generic, "--path", path, "--rw", "randrw", "--allow-write", "--bs", "4k", "--offset", "8m", "--size", "4m",
			"--qd", "16", "--batch", "4", "--runtime", "8")
		fault()
		run := g.Wait(t, p)
		require.Zero(t, run.Exit)
		got := recordOf(t, run)
		require.Equal(t, got.Issued, got.OK)
		o = o.Add(got)
	}
	return o
}

func slowDrive(t *testing.T, g *Guest) Outcome {
	o := unharmed(t, g, "slow", func() {
		g.Ask(t, lab.Action{Verb: lab.VerbThrottle, Drive: "slow", IOPS: 100})
		time.Sleep(2 * time.Second)
		release(t, g, "slow")
	})
	o.Note = "every command succeeded"
	return o
}

func pausedMachine(t *testing.T, g *Guest) Outcome {
	o := unharmed(t, g, "paused", func() {
		for range 2 {
			g.Ask(t, lab.Action{Verb: lab.VerbPause, For: 3 * time.Second})
		}
	})
	o.Note = "every command succeeded"
	return o
}

func hungDrive(t *testing.T, g *Guest) Outcome {
	o := unharmed(t, g, "hung", func() {
		hang(t, g, "hung")
		time.Sleep(5 * time.Second)
		release(t, g, "hung")
	})
	o.Note = "every command succeeded"
	return o
}

// stall is the limit of the cases in which a drive does not come back.
const stall = 3 * time.Second

// slack is what a call may take beyond its limits on a busy emulated machine.
const slack = 15 * time.Second

func deadDevice(t *testing.T, g *Guest) (o Outcome) {
	drive := g.Drive(t, "dead-device")
	ways, _, without := g.failing()
	o.Without = without
	for i, mode := range ways {
		d, err := passthru.Open(drive.Generic, &passthru.Config{Writable: true, StallLimit: stall, Timeout: 0, Poll: mode.poll})
		require.NoError(t, err)
		l := newLoad(i*loadArea, 8, 32)
		l.start(d)
		l.await(t, 100)
		hang(t, g, drive.Serial)
		began := time.Now()
		got := l.ends(t)
		require.Less(t, time.Since(began), 2*stall+slack)
		require.ErrorIs(t, l.sample, uringcmd.ErrStalled)
		require.Zero(t, got.Failed, "%v", l.errs)
		require.Positive(t, got.Lost)
		o = o.Add(got)
		// From now on it refuses everything at once.
		_, err = d.ReadAt(make([]byte, loadBlock), 0)
		require.ErrorIs(t, err, uringcmd.ErrStalled)
		began = time.Now()
		err = d.Close()
		require.Less(t, time.Since(began), 2*stall+slack)
		var leak *uringcmd.LeakError
		require.ErrorAs(t, err, &leak)
		require.Positive(t, leak.InFlight)
		require.ErrorContains(t, err, "stay mapped")
		release(t, g, drive.Serial)
		// What was acknowledged is there, for a Device that is new.
		with(t, drive.Generic, passthru.Config{}, func(d *passthru.Device) { l.verify(t, d) })
	}
	o.Note = "ErrStalled, then LeakError"
	return o
}

func deadAlone(t *testing.T, g *Guest) (o Outcome) {
	drive := g.Drive(t, "dead-alone")
	d, err := passthru.Open(drive.Generic, &passthru.Config{StallLimit: stall})
	require.NoError(t, err)
	p := make([]byte, loadBlock)
	_, err = d.ReadAt(p, 0)
	o.tally(err)
	require.NoError(t, err)
	hang(t, g, drive.Serial)
	began := time.Now()
	for err == nil { // the throttle lets the first pass
		_, err = d.ReadAt(p, 0)
		o.Issued++
		if err == nil {
			o.OK++
		}
	}
	require.Less(t, time.Since(began), 2*stall+slack)
	require.ErrorIs(t, err, uringcmd.ErrStalled)
	o.Lost++
	began = time.Now()
	require.ErrorAs(t, d.Close(), new(*uringcmd.LeakError))
	require.Less(t, time.Since(began), 2*stall+slack)
	release(t, g, drive.Serial)
	o.Note = "ErrStalled, then LeakError"
	return o
}

func deadOpen(t *testing.T, g *Guest) (o Outcome) {
	drive := g.Drive(t, "dead-open")
	// The throttle lets one command pass.
	hang(t, g, drive.Serial)
	d, err := passthru.Open(drive.Generic, &passthru.Config{StallLimit: stall})
	require.NoError(t, err) // admin commands are not held up
	p := make([]byte, loadBlock)
	began := time.Now()
	for err == nil {
		_, err = d.ReadAt(p, 0)
		o.Issued++
		if err == nil {
			o.OK++
		}
	}
	require.ErrorIs(t, err, uringcmd.ErrStalled)
	require.Less(t, time.Since(began), 2*stall+slack)
	o.Lost++
	Owned(t, func(t *testing.T) {
		began := time.Now()
		_, err := d.NewQueue(passthru.QueueConfig{Depth: 4, StallLimit: stall})
		require.ErrorIs(t, err, uringcmd.ErrStalled)
		require.Less(t, time.Since(began), 2*stall+slack)
	})
	began = time.Now()
	_ = d.Close() // whether something is left depends on what the first command met
	require.Less(t, time.Since(began), 2*stall+slack)
	release(t, g, drive.Serial)
	o.Note = "ErrStalled from the first command on"
	return o
}

func deadQueue(t *testing.T, g *Guest) (o Outcome) {
	drive := g.Drive(t, "dead-queue")
	ways, _, without := g.failing()
	o.Without = without
	for _, mode := range ways {
		with(t, drive.Generic, passthru.Config{}, func(d *passthru.Device) {
			Owned(t, func(t *testing.T) {
				q, err := d.NewQueue(passthru.QueueConfig{Depth: 16, Poll: mode.poll, StallLimit: stall, BufferSize: loadBlock})
				require.NoError(t, err)
				hang(t, g, drive.Serial)
				for i := range 16 {
					require.NoError(t, q.Read(i, uint64(i)*8, 8))
				}
				done := make([]passthru.Completion, 16)
				began := time.Now()
				for err == nil {
					var n int
					n, err = q.Reap(1, done)
					for _, c := range done[:n] {
						o.tally(q.Err(c))
					}
				}
				require.ErrorIs(t, err, uringcmd.ErrStalled)
				require.Less(t, time.Since(began), 2*stall+slack)
				left := uint64(q.InFlight())
				require.Positive(t, left)
				began = time.Now()
				err = q.Close()
				require.Less(t, time.Since(began), 2*stall+slack)
				var leak *uringcmd.LeakError
				require.ErrorAs(t, err, &leak)
				require.EqualValues(t, left, leak.InFlight)
				o.Issued += left
				o.Lost += left
			})
		})
		release(t, g, drive.Serial)
	}
	o.Note = "ErrStalled, then LeakError with the count"
	return o
}

func deadTool(t *testing.T, g *Guest) Outcome {
	drive := g.Drive(t, "dead-tool")
	p := g.StartRun(t, drive.Generic, "--bs", "4k", "--qd", "16", "--batch", "4", "--runtime", "600")
	hang(t, g, drive.Serial)
	// The message comes within twice the stall limit. Then the process waits for
	// the kernel, which has its commands until the drive answers.
	require.Eventually(t, func() bool { return strings.Contains(p.Stderr(), "stall limit") }, 2*uringcmd.DefaultStallLimit+slack, 100*time.Millisecond)
	release(t, g, drive.Serial)
	run := g.Wait(t, p)
	require.Contains(t, run.Stderr, "in flight")
	o := recordOf(t, run)
	o.Lost = o.Issued - o.OK - o.Failed - o.Cancelled
	require.Contains(t, run.Stdout, fmt.Sprintf("%d of %d commands are not accounted for: they are still with the kernel", o.Lost, o.Issued))
	o.Note = "no completion within the stall limit of 1m15s"
	return o
}

func driverTimeout(t *testing.T, g *Guest) (o Outcome) {
	drive := g.Drive(t, "late")
	ways, _, without := g.failing()
	o.Without = without
	for _, mode := range ways {
		for _, limit := range []time.Duration{time.Second, 0} {
			awaitLive(t, drive)
			// The engine's own first reads have the driver's patience.
			with(t, drive.Generic, passthru.Config{Poll: mode.poll, Timeout: limit}, func(d *passthru.Device) {
				for range 2 {
					got := eightReads(d)
					require.Zero(t, got.Failed)
					if limit == 0 {
						require.Zero(t, got.Cancelled)
					}
					o = o.Add(got)
				}
			})
		}
	}
	requireReset(t, drive)
	awaitLive(t, drive)
	require.Zero(t, g.Tool(t, "io", "read", drive.Generic, "-o", "binary").Exit)
	o.Note = "the same Device goes on"
	return o
}

// eightReads reads eight blocks at once.
func eightReads(d *passthru.Device) (o Outcome) {
	errs := make(chan error)
	for i := range 8 {
		go func() {
			_, err := d.ReadAt(make([]byte, loadBlock), int64(i)*loadBlock)
			errs <- err
		}()
	}
	for range 8 {
		o.tally(<-errs)
	}
	return o
}

func driverTimeoutTool(t *testing.T, g *Guest) Outcome {
	drive := g.Drive(t, "late-tool")
	p := g.StartRun(t, drive.Generic, "--bs", "4k", "--qd", "16", "--batch", "4", "--runtime", "20")
	g.Write(t, "/sys/class/block/"+filepath.Base(drive.Block)+"/queue/io_timeout", "1000") // ms
	run := g.Wait(t, p)
	requireReset(t, drive)
	o := g.ended(t, run)
	o.Note = "the run goes on to its end"
	return o
}
