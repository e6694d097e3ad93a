package faults

import (
	"bytes"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/lab"
	"github.com/nvmepass/nvmepass/passthru"
)

// resetShape has drives that go through the fire, one for each case, since what
// a fault leaves of one must not spoil another.
var resetShape = &Shape{
	Name: "resets", PollQueues: 1,
	Drives: []string{
		"size=16m,backend=memory,serial=reset-sysfs",
		"size=16m,backend=memory,serial=reset-ioctl",
		"size=16m,backend=memory,serial=reset-tool",
		"size=16m,backend=memory,serial=rescan",
	},
}

var hotplugShape = &Shape{
	Name: "hotplug", PollQueues: 1,
	Drives: []string{
		"size=16m,backend=memory,serial=unplug,hotplug",
		"size=16m,backend=memory,serial=unplug-polled,hotplug",
		"size=16m,backend=memory,serial=unplug-tool,hotplug",
		"size=16m,backend=memory,serial=shrinks,hotplug",
		"size=16m,backend=memory,serial=pci-remove",
		"size=16m,backend=memory,serial=pci-tool",
		"size=16m,backend=memory,serial=unbind",
	},
	Actions: []lab.Verb{lab.VerbUnplug, lab.VerbPlug, lab.VerbResize},
}

func resetCases() []Case {
	return []Case{
		{
			Name: "reset-by-sysfs", Shape: resetShape, Bound: 4 * time.Minute, Exit: LibraryOnly, Run: resetBySysfs,
			Fault: "five times reset_controller of sysfs in the middle of I/O",
			Must:  "what is in flight ends as ok or cancelled; the same Device goes on; acknowledged data is there",
		},
		{
			Name: "reset-by-ioctl", Shape: resetShape, Bound: 4 * time.Minute, Exit: LibraryOnly, Run: resetByIoctl,
			Fault: "five times NVME_IOCTL_RESET (nvme reset) in the middle of I/O",
			Must:  "as for reset-by-sysfs",
		},
		{
			Name: "reset-tool", Shape: resetShape, Bound: 4 * time.Minute, Exit: LibraryOnly, Run: resetTool,
			Fault: "as reset-by-sysfs, under nvmepass run, polled and not",
			Must:  "the run goes on to its end; it ends with 0, or with 5 if commands were cancelled, which it counts",
		},
		{
			Name: "rescan", Shape: resetShape, Bound: time.Minute, Exit: 0, Run: rescan,
			Fault: "rescan_controller of sysfs over and over in the middle of I/O",
			Must:  "nothing is lost, doubled or given up; the data is right",
		},
	}
}

func hotplugCases() []Case {
	return []Case{
		{
			Name: "unplug", Shape: hotplugShape, Bound: 3 * time.Minute, Exit: LibraryOnly, Run: unplug,
			Fault: "QMP device_del of the controller in the middle of I/O, then device_add",
			Must:  "what is in flight ends; then every command says ENODEV; Close ends; once it is back, a new Device finds what was acknowledged",
		},
		{
			Name: "unplug-tool", Shape: hotplugShape, Bound: 2 * time.Minute, Exit: 5, Run: unplugTool,
			Fault: "as unplug, under nvmepass run",
			Must:  "the run ends at once, says that the drive is gone, prints its counts, and ends with 5",
		},
		{
			Name: "replaced-by-smaller", Shape: hotplugShape, Bound: 2 * time.Minute, Exit: 1, Run: replacedBySmaller,
			Fault: "the drive is pulled, cut to half its size (QMP block_resize), and plugged in again",
			Must:  "the old Device says ENODEV; a new one has the new limits and refuses what lies beyond, naming the end",
		},
		{
			Name: "pci-remove", Shape: hotplugShape, Bound: 2 * time.Minute, Exit: LibraryOnly, Run: pciRemove,
			Fault: "remove of the PCI device in sysfs in the middle of I/O, then rescan of the bus",
			Must:  "as for unplug",
		},
		{
			Name: "pci-remove-tool", Shape: hotplugShape, Bound: 2 * time.Minute, Exit: 5, Run: pciRemoveTool,
			Fault: "as pci-remove, under nvmepass verify",
			Must:  "it ends at once, says that the drive is gone, and ends with 5",
		},
		{
			Name: "driver-unbind", Shape: hotplugShape, Bound: 2 * time.Minute, Exit: LibraryOnly, Run: driverUnbind,
			Fault: "the controller is taken from the driver (unbind in sysfs) in the middle of I/O, then given back",
			Must:  "as for unplug",
		},
	}
}

// survives runs verified traffic on one Device through a fault that the drive
// comes back from. Nothing may fail; commands may be cancelled.
func survives(t *testing.T, g *Guest, serial string, fault func(d Drive)) (o Outcome) {
	drive := g.Drive(t, serial)
	ways, _, without := g.failing()
	for i, mode := range ways {
		with(t, drive.Generic, passthru.Config{Poll: mode.poll}, func(d *passthru.Device) {
			l := newLoad(i*loadArea, 8, 32)
			end := l.start(d)
			for range 5 {
				l.await(t, 200)
				fault(drive)
			}
			l.await(t, 200)
			got := end()
			require.Zero(t, got.Failed, "%s: %v", mode.name, l.errs)
			l.verify(t, d)
			o = o.Add(got)
		})
	}
	o.Without = without
	o.Note = "the same Device goes on"
	return o
}

func resetBySysfs(t *testing.T, g *Guest) Outcome {
	return survives(t, g, "reset-sysfs", func(d Drive) { g.Write(t, "/sys/class/nvme/"+d.Controller+"/reset_controller", "1") })
}

// ioctlReset is NVME_IOCTL_RESET, _IO('N', 0x44) of linux/nvme_ioctl.h.
const ioctlReset = 0x4e44

func resetByIoctl(t *testing.T, g *Guest) Outcome {
	return survives(t, g, "reset-ioctl", func(d Drive) {
		f, err := os.Open("/dev/" + d.Controller)
		require.NoError(t, err)
		_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), ioctlReset, 0)
		require.Zero(t, errno, "%v", errno)
		require.NoError(t, f.Close())
	})
}

func resetTool(t *testing.T, g *Guest) (o Outcome) {
	drive := g.Drive(t, "reset-tool")
	_, paths, without := g.failing()
	for _, path := range paths {
		p := g.StartRun(t, drive.Generic, "--path", path, "--rw", "randrw", "--allow-write", "--bs", "4k", "--qd", "16", "--batch", "4",
			"--runtime", "4")
		for range 5 {
			g.Write(t, "/sys/class/nvme/"+drive.Controller+"/reset_controller", "1")
		}
		o = o.Add(g.ended(t, g.Wait(t, p)))
	}
	o.Without = without
	o.Note = "the run goes on to its end"
	return o
}

// ended are the counts of a run through resets. Whether any command was cancelled
// depends on what the resets met, and so does the exit code: the case has none.
func (g *Guest) ended(t *testing.T, run ToolRun) Outcome {
	t.Helper()
	o := recordOf(t, run)
	require.Zero(t, o.Failed)
	require.Equal(t, map[bool]int{false: 0, true: 5}[o.Cancelled > 0], run.Exit)
	g.lastExit = LibraryOnly
	return o
}

func rescan(t *testing.T, g *Guest) Outcome {
	drive := g.Drive(t, "rescan")
	o := unharmed(t, g, "rescan", func() {
		for range 20 {
			g.Write(t, "/sys/class/nvme/"+drive.Controller+"/rescan_controller", "1")
		}
	})
	o.Note = "every command succeeded"
	return o
}

// disappears runs verified traffic on a Device while its drive goes, and looks
// for what was acknowledged once it is back.
func disappears(t *testing.T, g *Guest, serial string, poll bool, take, back func(d Drive)) Outcome {
	return disappearsFrom(t, g, serial, 0, poll, take, back)
}

// disappearsFrom is disappears with traffic to blocks from first on.
func disappearsFrom(t *testing.T, g *Guest, serial string, first int, poll bool, take, back func(d Drive)) Outcome {
	t.Helper()
	drive := g.Drive(t, serial)
	d, err := passthru.Open(drive.Generic, &passthru.Config{Writable: true, Poll: poll, StallLimit: 30 * time.Second})
	require.NoError(t, err)
	l := newLoad(first, 8, 32)
	l.start(d)
	l.await(t, 200)
	take(drive)
	got := l.ends(t)
	require.True(t, gone(l.sample), "%v", l.sample)
	require.ErrorContains(t, l.sample, "the drive is gone")
	_, err = d.ReadAt(make([]byte, loadBlock), 0)
	require.True(t, gone(err), "%v", err)
	got.tally(err)
	require.NoError(t, d.Close())
	back(drive)
	with(t, g.AwaitDrive(t, serial).Generic, passthru.Config{}, func(d *passthru.Device) { l.verify(t, d) })
	got.Note = "ENODEV: the drive is gone"
	return got
}

func unplug(t *testing.T, g *Guest) (o Outcome) {
	ways, _, without := g.failing()
	o.Without = without
	for i, mode := range ways {
		serial := []string{"unplug", "unplug-polled"}[i]
		o = o.Add(disappears(t, g, serial, mode.poll,
			func(Drive) { g.Ask(t, lab.Action{Verb: lab.VerbUnplug, Drive: serial}) },
			func(Drive) { g.Ask(t, lab.Action{Verb: lab.VerbPlug, Drive: serial}) }))
	}
	return o
}

func unplugTool(t *testing.T, g *Guest) Outcome {
	drive := g.Drive(t, "unplug-tool")
	p := g.StartRun(t, drive.Generic, "--bs", "4k", "--qd", "16", "--batch", "4", "--runtime", "60")
	g.Ask(t, lab.Action{Verb: lab.VerbUnplug, Drive: drive.Serial})
	run := g.Wait(t, p)
	require.Contains(t, run.Stderr, "the drive is gone")
	o := recordOf(t, run)
	o.Note = "ENODEV: the drive is gone"
	return o
}

func replacedBySmaller(t *testing.T, g *Guest) (o Outcome) {
	drive := g.Drive(t, "shrinks")
	old, err := passthru.Open(drive.Generic, nil)
	require.NoError(t, err)
	p := make([]byte, loadBlock)
	_, err = old.ReadAt(p, 12<<20)
	o.tally(err)
	require.NoError(t, err)
	g.Ask(t, lab.Action{Verb: lab.VerbUnplug, Drive: drive.Serial})
	g.Ask(t, lab.Action{Verb: lab.VerbResize, Drive: drive.Serial, Size: 8 << 20})
	g.Ask(t, lab.Action{Verb: lab.VerbPlug, Drive: drive.Serial})
	now := g.AwaitDrive(t, drive.Serial)
	_, err = old.ReadAt(p, 12<<20)
	o.tally(err)
	require.True(t, gone(err), "%v", err)
	require.NoError(t, old.Close())
	with(t, now.Generic, passthru.Config{}, func(d *passthru.Device) {
		require.EqualValues(t, 8<<20, d.Size())
		_, err := d.WriteAt(p, 12<<20)
		require.Error(t, err)
		require.ErrorContains(t, err, "8388608")
		_, err = d.WriteAt(p, 8<<20-loadBlock)
		o.tally(err)
		require.NoError(t, err)
	})
	run := g.Tool(t, "io", "read", now.Generic, "--start-block", "24576", "-o", "binary")
	require.Contains(t, run.Stderr, "16384")
	o.Note = "ENODEV for the old; the new one has 16384 blocks, and refuses block 24576 before it is sent"
	return o
}

func pciRemove(t *testing.T, g *Guest) Outcome {
	return disappears(t, g, "pci-remove", false,
		func(d Drive) { g.Write(t, d.PCI+"/remove", "1") },
		func(Drive) { g.Write(t, "/sys/bus/pci/rescan", "1") })
}

func pciRemoveTool(t *testing.T, g *Guest) (o Outcome) {
	drive := g.Drive(t, "pci-tool")
	p := g.Start(t, nil, "verify", drive.Generic, "--loops", "100000", "--bs", "4k", "--progress", "none", "--do", "both", "--allow-write", "-o", "json")
	g.AwaitQueue(t, p, drive.Generic)
	awaitWritten(t, drive)
	g.Write(t, drive.PCI+"/remove", "1")
	run := g.Wait(t, p)
	require.Contains(t, run.Stderr, "the drive is gone")
	g.Write(t, "/sys/bus/pci/rescan", "1")
	// verify counts blocks, not commands: one look at the drive that is back.
	with(t, g.AwaitDrive(t, drive.Serial).Generic, passthru.Config{}, func(d *passthru.Device) {
		_, err := d.ReadAt(make([]byte, loadBlock), 0)
		o.tally(err)
		require.NoError(t, err)
	})
	o.Note = "ENODEV: the drive is gone; counted is one read after its return"
	return o
}

// awaitWritten waits until the first block of an empty drive is not zero any
// more: a tool that writes it is at work.
func awaitWritten(t *testing.T, drive Drive) {
	t.Helper()
	with(t, drive.Generic, passthru.Config{}, func(d *passthru.Device) {
		p, empty := make([]byte, loadBlock), make([]byte, loadBlock)
		require.Eventually(t, func() bool {
			_, err := d.ReadAt(p, 0)
			return err == nil && !bytes.Equal(p, empty)
		}, 30*time.Second, 10*time.Millisecond, "nothing is written")
	})
}

func driverUnbind(t *testing.T, g *Guest) Outcome {
	const driver = "/sys/bus/pci/drivers/nvme/"
	address := func(d Drive) string { return d.PCI[len(d.PCI)-len("0000:00:00.0"):] }
	return disappears(t, g, "unbind", false,
		func(d Drive) { g.Write(t, driver+"unbind", address(d)) },
		func(d Drive) { g.Write(t, driver+"bind", address(d)) })
}
