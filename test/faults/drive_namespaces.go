package faults

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/nvme"
	"github.com/nvmepass/nvmepass/passthru"
)

var namespaceShape = &Shape{
	Name: "namespaces", PollQueues: 1,
	Drives: []string{
		"size=16m,backend=memory,ns=2,multipath,serial=detach",
		"size=16m,backend=memory,ns=2,multipath,serial=detach-tool",
	},
}

func namespaceCases() []Case {
	return []Case{
		{
			Name: "namespace-detached", Shape: namespaceShape, Bound: 2 * time.Minute, Exit: LibraryOnly, Run: namespaceDetached,
			Fault: "a namespace is detached (Namespace Attachment) in the middle of I/O, its neighbour is not; then it is attached again",
			Must:  "I/O to it ends as failed, and then ENODEV; the neighbour goes on; a new Device finds what was acknowledged",
		},
		{
			Name: "namespace-detached-tool", Shape: namespaceShape, Bound: time.Minute, Exit: 5, Run: namespaceDetachedTool,
			Fault: "as namespace-detached, under nvmepass run",
			Must:  "the run ends at once, says that the drive is gone, prints its counts, and ends with 5",
		},
	}
}

// attach attaches namespace 1 of a drive to its controllers, or detaches it (NVMe
// Base Specification 2.0, 5.20). QEMU does that for drives with a subsystem, which
// multipath gives them.
func attach(t *testing.T, serial string, on bool) {
	t.Helper()
	list := make([]byte, 4096) // count, then controller IDs
	count := uint16(0)
	var one *passthru.Controller
	for _, path := range passthru.Controllers() {
		c, err := passthru.OpenController(path, &passthru.ControllerConfig{Writable: true})
		require.NoError(t, err)
		if c.Identity().SN != serial {
			require.NoError(t, c.Close())
			continue
		}
		count++
		binary.LittleEndian.PutUint16(list, count)
		binary.LittleEndian.PutUint16(list[2*count:], c.Identity().CNTLID)
		one = c
		defer func() { require.NoError(t, c.Close()) }()
	}
	cmd := nvme.Command{Opcode: nvme.AdminNSAttach, NSID: 1, DataLen: uint32(len(list))}
	if !on {
		cmd.CDW10 = 1
	}
	_, err := one.Do(Context(t), cmd, list)
	require.NoError(t, err)
}

func namespaceDetached(t *testing.T, g *Guest) (o Outcome) {
	ways, _, without := g.failing()
	o.Without = without
	for i, mode := range ways {
		neighbour := newLoad(i*loadArea, 4, 32)
		with(t, g.Drive(t, "detach", 2).Generic, passthru.Config{}, func(d *passthru.Device) {
			end := neighbour.start(d)
			o = o.Add(disappearsFrom(t, g, "detach", (2+i)*loadArea, mode.poll,
				func(Drive) { attach(t, "detach", false) },
				func(Drive) { attach(t, "detach", true) }))
			neighbour.await(t, 100)
			got := end()
			require.Equal(t, got.Issued, got.OK, "%v", neighbour.errs)
			neighbour.verify(t, d)
			o = o.Add(got)
		})
	}
	return o
}

func namespaceDetachedTool(t *testing.T, g *Guest) Outcome {
	drive := g.Drive(t, "detach-tool")
	p := g.StartRun(t, drive.Generic, "--bs", "4k", "--qd", "16", "--batch", "4", "--runtime", "60")
	attach(t, drive.Serial, false)
	run := g.Wait(t, p)
	attach(t, drive.Serial, true)
	require.Contains(t, run.Stderr, "the drive is gone")
	g.AwaitDrive(t, drive.Serial)
	o := recordOf(t, run)
	o.Note = "ENODEV: the drive is gone"
	return o
}
