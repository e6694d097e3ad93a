package faults

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/nvme"
	"github.com/nvmepass/nvmepass/passthru"
)

// limitShape has drives with less than what is asked of them.
var limitShape = &Shape{
	Name: "limits", PollQueues: 1, Append: "nvme.io_queue_depth=32",
	Drives: []string{
		"size=16m,backend=memory,serial=shallow,queues=2",
		"size=16m,backend=memory,serial=crowded,queues=4",
		"size=16m,backend=memory,lba=4096,zoned,zone-size=4m,zasl=1,serial=zasl",
	},
}

// noPollShape was booted without nvme.poll_queues.
var noPollShape = &Shape{Name: "no-poll-queues", Drives: []string{"size=16m,backend=memory,serial=nopoll"}}

func capacityCases() []Case {
	return []Case{
		{
			Name: "depth-beyond-queues", Shape: limitShape, Bound: 2 * time.Minute, Exit: LibraryOnly, Run: depthBeyondQueues,
			Fault: "4096 commands at once for a drive with queues of 32 entries (nvme.io_queue_depth), one of them polled",
			Must:  "the kernel keeps what does not fit, or cancels it; none fails; every command ends, once, with its data",
		},
		{
			Name: "rings-beyond-poll-queues", Shape: limitShape, Bound: time.Minute, Exit: 0, Run: ringsBeyondPollQueues,
			Fault: "four polled rings for one poll queue",
			Must:  "a warning, and every command ends; before Linux 6.6, which would crash, a refusal that says so",
		},
		{
			Name: "no-poll-queues", Shape: noPollShape, Bound: time.Minute, Exit: 2, Run: noPollQueues,
			Fault: "polled I/O on a kernel that was booted without poll queues",
			Must:  "refused before anything is sent, with the boot option; Device, Queue and tool; without polling all works",
		},
		{
			Name: "append-beyond-limit", Shape: limitShape, Bound: time.Minute, Exit: 1, Run: appendBeyondLimit,
			Fault: "zone appends of 16 KiB to a drive whose ZASL is 8 KiB",
			Must:  "refused before they are sent, naming the limit; appends of 8 KiB are written where the drive says",
		},
	}
}

func depthBeyondQueues(t *testing.T, g *Guest) (o Outcome) {
	drive := g.Drive(t, "shallow")
	const depth = 4096
	for i, mode := range modes {
		with(t, drive.Generic, passthru.Config{}, func(d *passthru.Device) {
			Owned(t, func(t *testing.T) {
				q, err := d.NewQueue(passthru.QueueConfig{Depth: depth, Poll: mode.poll, BufferSize: 512})
				require.NoError(t, err)
				gen := uint32(i + 1)
				send := func(slot int, write bool) {
					if write {
						fillBlock(q.Buffer(slot)[:512], slot, gen)
						require.NoError(t, q.Write(slot, uint64(slot), 1))
					} else {
						require.NoError(t, q.Read(slot, uint64(slot), 1))
					}
				}
				for _, write := range []bool{true, false} {
					for slot := range depth {
						send(slot, write)
					}
					require.Equal(t, depth, q.InFlight())
					done := make([]passthru.Completion, depth)
					for got := 0; got < depth; {
						n, err := q.Reap(1, done)
						require.NoError(t, err)
						for _, c := range done[:n] {
							err := q.Err(c)
							o.tally(err)
							if errors.Is(err, passthru.ErrCancelled) { // by io_uring, before it was sent
								send(c.Slot, write)
								continue
							}
							require.NoError(t, err)
							got++
						}
					}
				}
				for slot := range depth {
					require.NoError(t, judgeBlock(q.Buffer(slot)[:512], slot, holding{gen, gen}))
				}
				require.NoError(t, q.Close())
			})
		})
	}
	for _, path := range []string{"passthru", "passthru-poll"} {
		got := g.ended(t, g.Tool(t, "run", drive.Generic, "--path", path, "--qd", "4096", "--batch", "1024", "--number-ios", "20000", "-o", "json", "--progress", "none"))
		require.EqualValues(t, 20000, got.Issued)
		o = o.Add(got)
	}
	o.Note = "every command succeeded"
	if o.Cancelled > 0 { // not always: signals can keep the kernel from starting a worker for them
		o.Note = "io_uring cancelled some before they were sent"
	}
	return o
}

// severalPolled tells whether this kernel bears several polled rings on a drive;
// see docs/design.md.
func severalPolled(g *Guest) bool { return !strings.HasPrefix(g.Kernel, "6.1.") }

func ringsBeyondPollQueues(t *testing.T, g *Guest) Outcome {
	drive := g.Drive(t, "crowded")
	args := []string{"run", drive.Generic, "--path", "passthru-poll", "--bs", "4k", "--number-ios", "2000", "--qd", "8", "--batch", "4"}
	many := g.Tool(t, append(args, "--numjobs", "4", "-o", "json", "--progress", "none")...)
	if !severalPolled(g) {
		require.NotZero(t, many.Exit)
		require.Contains(t, many.Stderr, "6.6")
		_, err := passthru.Open(drive.Generic, &passthru.Config{Poll: true, Workers: 4})
		require.ErrorContains(t, err, "6.6")
		o := runRecord(t, g, args...)
		o.Note = "four rings are refused, one works"
		return o
	}
	require.Contains(t, many.Stdout, "poll queue")
	o := recordOf(t, many)
	require.EqualValues(t, 8000, o.OK)
	with(t, drive.Generic, passthru.Config{Poll: true, Workers: 4}, func(d *passthru.Device) {
		l := newLoad(0, 16, 16)
		end := l.start(d)
		l.await(t, 1000)
		got := end()
		require.Equal(t, got.Issued, got.OK, "%v", l.errs)
		l.verify(t, d)
		o = o.Add(got)
	})
	o.Note = "every command succeeded"
	return o
}

func noPollQueues(t *testing.T, g *Guest) (o Outcome) {
	drive := g.Drive(t, "nopoll")
	const remedy = "nvme.poll_queues"
	d, err := passthru.Open(drive.Generic, &passthru.Config{Poll: true})
	if err == nil { // or with its first command
		_, err = d.ReadAt(make([]byte, 512), 0)
		require.NoError(t, d.Close())
	}
	require.ErrorContains(t, err, remedy)
	with(t, drive.Generic, passthru.Config{}, func(d *passthru.Device) {
		Owned(t, func(t *testing.T) {
			_, err := d.NewQueue(passthru.QueueConfig{Depth: 4, Poll: true})
			require.ErrorContains(t, err, remedy)
		})
		_, err := d.ReadAt(make([]byte, 512), 0)
		o.tally(err)
		require.NoError(t, err)
	})
	o = o.Add(runRecord(t, g, "run", drive.Generic, "--number-ios", "100"))
	run := g.Tool(t, "run", drive.Generic, "--path", "passthru-poll", "--number-ios", "100")
	require.Contains(t, run.Stderr, remedy)
	o.Note = "polling is refused with nvme.poll_queues; counted is what was sent without"
	return o
}

func appendBeyondLimit(t *testing.T, g *Guest) (o Outcome) {
	drive := g.Drive(t, "zasl")
	ctx := Context(t)
	with(t, drive.Generic, passthru.Config{}, func(d *passthru.Device) {
		require.EqualValues(t, 8<<10, d.Limits().MaxAppend)
		for blocks, fits := range map[uint32]bool{2: true, 4: false} {
			cmd, err := nvme.NewZoneAppend(d.NSID(), d.Layout(), 0, blocks, nvme.IOOptions{})
			require.NoError(t, err)
			_, err = d.Do(ctx, cmd, make([]byte, blocks*4096))
			if fits {
				o.tally(err)
				require.NoError(t, err)
				continue
			}
			require.ErrorContains(t, err, "8192")
		}
	})
	o = o.Add(runRecord(t, g, "run", drive.Generic, "--rw", "append", "--allow-write", "--bs", "8k", "--qd", "8", "--number-ios", "64"))
	require.Equal(t, o.Issued, o.OK)
	run := g.Tool(t, "run", drive.Generic, "--rw", "append", "--allow-write", "--bs", "16k", "--number-ios", "64")
	require.Contains(t, run.Stderr, "8192")
	o.Note = "16 KiB are refused with the limit of 8192 bytes"
	return o
}
