package faults

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/jobs"
	"github.com/nvmepass/nvmepass/nvme"
	"github.com/nvmepass/nvmepass/passthru"
)

// The first and the count of the sectors that fail, with the blocks of 512 bytes
// that these drives have.
const (
	badLBA   = 16384
	badCount = 4
)

var errorShape = &Shape{
	Name: "errors", PollQueues: 1,
	Drives: []string{
		"size=16m,backend=memory,serial=badread,error-sectors=16384+4",
		"size=16m,backend=memory,serial=badwrite,write-error-sectors=16384+4",
		"size=16m,backend=memory,serial=readonce,error-sectors=16384+4,errors-once",
		"size=16m,backend=memory,serial=writeonce,write-error-sectors=16384+4,errors-once",
		"size=16m,backend=memory,serial=dulbe",
	},
}

func errorCases() []Case {
	return []Case{
		{
			Name: "read-errors", Shape: errorShape, Bound: time.Minute, Exit: 3, Run: readErrors,
			Fault: "blkdebug: reads of four sectors fail, every time",
			Must:  "Unrecovered Read Error with the address, counted as failed; neighbours are read right; Device, Queue and tool, by interrupts and polled",
		},
		{
			Name: "write-errors", Shape: errorShape, Bound: time.Minute, Exit: 3, Run: writeErrors,
			Fault: "blkdebug: writes to four sectors fail, every time",
			Must:  "Write Fault with the address, counted as failed; the sector keeps its data, neighbours have theirs",
		},
		{
			Name: "read-error-once", Shape: errorShape, Bound: time.Minute, Exit: 3, Run: readErrorOnce,
			Fault: "blkdebug: the first read of each of four sectors fails",
			Must:  "the error is reported and not retried behind the caller's back; the next read succeeds",
		},
		{
			Name: "write-error-once", Shape: errorShape, Bound: time.Minute, Exit: 3, Run: writeErrorOnce,
			Fault: "blkdebug: the first write to each of four sectors fails",
			Must:  "the error is reported and not retried behind the caller's back; the next write is there",
		},
		{
			Name: "deallocated-blocks", Shape: errorShape, Bound: time.Minute, Exit: 3, Run: deallocatedBlocks,
			Fault: "the Error Recovery feature's DULBE bit is set, and blocks are read that were never written",
			Must:  "Deallocated or Unwritten Logical Block with the address, counted as failed; written blocks are read right",
		},
	}
}

// tally counts one command that a case sent itself.
func (o *Outcome) tally(err error) {
	o.Issued++
	switch {
	case err == nil:
		o.OK++
	case errors.Is(err, passthru.ErrCancelled):
		o.Cancelled++
	default:
		o.Failed++
	}
}

// requireStatus requires that an error is a drive's status and names the block.
func requireStatus(t *testing.T, err error, code nvme.Code, lba uint64) {
	t.Helper()
	var s *nvme.StatusError
	require.ErrorAs(t, err, &s)
	require.ErrorIs(t, err, code)
	require.Contains(t, err.Error(), fmt.Sprintf("slba=%#x", lba))
}

// sweepQueue sends one command per block of 16 around the bad ones through a
// Queue, and requires that just the bad ones fail, with code.
func sweepQueue(t *testing.T, d *passthru.Device, poll, write bool, code nvme.Code) (o Outcome) {
	t.Helper()
	Owned(t, func(t *testing.T) {
		q, err := d.NewQueue(passthru.QueueConfig{Depth: 16, Poll: poll})
		require.NoError(t, err)
		for i := range 16 {
			lba := uint64(badLBA - 6 + i)
			if write {
				fillBlock(q.Buffer(i)[:512], int(lba), 2)
				require.NoError(t, q.Write(i, lba, 1))
			} else {
				require.NoError(t, q.Read(i, lba, 1))
			}
		}
		done := make([]passthru.Completion, 16)
		for got := 0; got < 16; {
			n, err := q.Reap(1, done)
			require.NoError(t, err)
			for _, c := range done[:n] {
				lba := uint64(badLBA - 6 + c.Slot)
				err := q.Err(c)
				o.tally(err)
				if isBad(lba) {
					requireStatus(t, err, code, lba)
				} else {
					require.NoError(t, err)
				}
			}
			got += n
		}
		require.NoError(t, q.Close())
	})
	return o
}

func isBad(lba uint64) bool { return lba >= badLBA && lba < badLBA+badCount }

func readErrors(t *testing.T, g *Guest) (o Outcome) {
	ways, paths, without := g.failing()
	drive := g.Drive(t, "badread")
	for _, mode := range ways {
		with(t, drive.Generic, passthru.Config{Poll: mode.poll}, func(d *passthru.Device) {
			p := make([]byte, 512)
			for lba := uint64(badLBA - 4); lba < badLBA+badCount+4; lba++ {
				fillBlock(p, int(lba), 1)
				_, err := d.WriteAt(p, int64(lba)*512)
				o.tally(err)
				require.NoError(t, err)
				_, err = d.ReadAt(p, int64(lba)*512)
				o.tally(err)
				if isBad(lba) {
					requireStatus(t, err, nvme.UnrecoveredReadError, lba)
					continue
				}
				require.NoError(t, err)
				require.NoError(t, judgeBlock(p, int(lba), holding{1, 1}))
			}
			o = o.Add(sweepQueue(t, d, mode.poll, false, nvme.UnrecoveredReadError))
		})
	}
	// A transfer of several blocks names its first.
	run := g.Tool(t, "io", "read", drive.Generic, "--start-block", "16384", "-o", "binary")
	require.Equal(t, 3, run.Exit)
	require.Contains(t, run.Stderr, "Unrecovered Read Error")
	require.Contains(t, run.Stderr, "slba=0x4000")
	run = g.Tool(t, "verify", drive.Generic, "--do", "both", "--allow-write", "--bs", "512", "--offset", "8387584", "--size", "8k", "--progress", "none")
	require.Equal(t, 3, run.Exit)
	require.Contains(t, run.Stdout+run.Stderr, "4 commands failed")
	for _, path := range paths {
		res := runRecord(t, g, "run", drive.Generic, "--path", path, "--rw", "read", "--bs", "512", "--offset", "8m", "--size", "8k", "--number-ios", "160", "--qd", "8", "--batch", "4")
		require.EqualValues(t, 160, res.Issued)
		require.EqualValues(t, 40, res.Failed, "4 of 16 blocks, ten times")
		o = o.Add(res)
	}
	o.Without = without
	o.Note = "Unrecovered Read Error (sct=2 sc=0x81), slba=0x4000 to 0x4003"
	return o
}

func writeErrors(t *testing.T, g *Guest) (o Outcome) {
	ways, paths, without := g.failing()
	drive := g.Drive(t, "badwrite")
	for _, mode := range ways {
		with(t, drive.Generic, passthru.Config{Poll: mode.poll}, func(d *passthru.Device) {
			p := make([]byte, 512)
			for lba := uint64(badLBA - 4); lba < badLBA+badCount+4; lba++ {
				fillBlock(p, int(lba), 1)
				_, err := d.WriteAt(p, int64(lba)*512)
				o.tally(err)
				if isBad(lba) {
					requireStatus(t, err, nvme.WriteFault, lba)
				} else {
					require.NoError(t, err)
				}
				want := holding{1, 1}
				if isBad(lba) {
					want = holding{0, 0}
				}
				_, err = d.ReadAt(p, int64(lba)*512)
				o.tally(err)
				require.NoError(t, err)
				require.NoError(t, judgeBlock(p, int(lba), want))
			}
			o = o.Add(sweepQueue(t, d, mode.poll, true, nvme.WriteFault))
		})
	}
	run := g.Tool(t, "verify", drive.Generic, "--do", "write", "--allow-write", "--bs", "512", "--offset", "8387584", "--size", "8k", "--progress", "none")
	require.Equal(t, 3, run.Exit)
	require.Contains(t, run.Stdout+run.Stderr, "Write Fault")
	require.Contains(t, run.Stdout+run.Stderr, "4 commands failed")
	for _, path := range paths {
		res := runRecord(t, g, "run", drive.Generic, "--path", path, "--rw", "write", "--allow-write", "--bs", "512", "--offset", "8m", "--size", "8k", "--number-ios", "160", "--qd", "8", "--batch", "4")
		require.EqualValues(t, 160, res.Issued)
		require.EqualValues(t, 40, res.Failed, "4 of 16 blocks, ten times")
		o = o.Add(res)
	}
	o.Without = without
	o.Note = "Write Fault (sct=2 sc=0x80), slba=0x4000 to 0x4003"
	return o
}

func readErrorOnce(t *testing.T, g *Guest) (o Outcome) {
	ways, _, without := g.failing()
	drive := g.Drive(t, "readonce")
	p := make([]byte, 512)
	for i, mode := range ways {
		with(t, drive.Generic, passthru.Config{Poll: mode.poll}, func(d *passthru.Device) {
			lba := uint64(badLBA + i)
			_, err := d.ReadAt(p, int64(lba)*512)
			o.tally(err)
			requireStatus(t, err, nvme.UnrecoveredReadError, lba)
			_, err = d.ReadAt(p, int64(lba)*512)
			o.tally(err)
			require.NoError(t, err)
		})
	}
	run := g.Tool(t, "io", "read", drive.Generic, "--start-block", "16386", "-o", "binary")
	require.Contains(t, run.Stderr, "Unrecovered Read Error")
	with(t, drive.Generic, passthru.Config{}, func(d *passthru.Device) {
		_, err := d.ReadAt(p, 16386*512)
		o.tally(err)
		require.NoError(t, err)
	})
	o.Without = without
	o.Note = "one error for each sector, then its data"
	return o
}

func writeErrorOnce(t *testing.T, g *Guest) (o Outcome) {
	ways, _, without := g.failing()
	drive := g.Drive(t, "writeonce")
	p := make([]byte, 512)
	for i, mode := range ways {
		with(t, drive.Generic, passthru.Config{Poll: mode.poll}, func(d *passthru.Device) {
			lba := uint64(badLBA + i)
			fillBlock(p, int(lba), 1)
			_, err := d.WriteAt(p, int64(lba)*512)
			o.tally(err)
			requireStatus(t, err, nvme.WriteFault, lba)
			_, err = d.WriteAt(p, int64(lba)*512)
			o.tally(err)
			require.NoError(t, err)
			_, err = d.ReadAt(p, int64(lba)*512)
			o.tally(err)
			require.NoError(t, err)
			require.NoError(t, judgeBlock(p, int(lba), holding{1, 1}))
		})
	}
	args := []string{"verify", drive.Generic, "--do", "write", "--allow-write", "--bs", "512", "--offset", "8389632", "--size", "1k", "--progress", "none"} // sectors 16386 and 16387
	run := g.Tool(t, args...)
	require.Contains(t, run.Stdout+run.Stderr, "Write Fault")
	first := run.Exit
	require.Zero(t, g.Tool(t, args...).Exit)
	require.Zero(t, g.Tool(t, "verify", drive.Generic, "--bs", "512", "--offset", "8389632", "--size", "1k", "--progress", "none").Exit)
	g.lastExit = first
	o.Without = without
	o.Note = "one error for each sector, then the data is there"
	return o
}

// Set Features of Error Recovery (05h): DULBE is bit 16 (NVM Command Set
// Specification, 4.1.3.2).
const (
	featureErrorRecovery = nvme.FID(0x05)
	dulbe                = 1 << 16
)

func deallocatedBlocks(t *testing.T, g *Guest) (o Outcome) {
	ways, _, without := g.failing()
	drive := g.Drive(t, "dulbe")
	c, err := passthru.OpenController("/dev/"+drive.Controller, &passthru.ControllerConfig{Writable: true})
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close()) }()
	ctx := Context(t)
	_, err = c.SetFeatures(ctx, 1, featureErrorRecovery, dulbe, nil, nvme.FeatureOptions{})
	require.NoError(t, err)
	const written, never = 4096, 8192 // LBAs, in clusters of their own
	for _, mode := range ways {
		with(t, drive.Generic, passthru.Config{Poll: mode.poll}, func(d *passthru.Device) {
			p := make([]byte, loadBlock)
			fillBlock(p, 1, 1)
			_, err := d.WriteAt(p, written*512)
			o.tally(err)
			require.NoError(t, err)
			_, err = d.ReadAt(p, written*512)
			o.tally(err)
			require.NoError(t, err)
			require.NoError(t, judgeBlock(p, 1, holding{1, 1}))
			_, err = d.ReadAt(p, never*512)
			o.tally(err)
			requireStatus(t, err, nvme.DeallocatedOrUnwritten, never)
			require.NoError(t, d.Deallocate(ctx, passthru.Range{SLBA: written, Blocks: loadBlock / 512}))
			o.tally(nil)
			_, err = d.ReadAt(p, written*512)
			o.tally(err)
			requireStatus(t, err, nvme.DeallocatedOrUnwritten, written)
		})
	}
	run := g.Tool(t, "io", "read", drive.Generic, "--start-block", "8192", "-o", "binary")
	require.Contains(t, run.Stderr, "Deallocated or Unwritten Logical Block")
	res := runRecord(t, g, "run", drive.Generic, "--rw", "read", "--bs", "4k", "--offset", "4m", "--size", "64k", "--number-ios", "16")
	require.EqualValues(t, 16, res.Failed)
	o.Without = without
	o.Note = "Deallocated or Unwritten Logical Block (sct=2 sc=0x87), also after a trim"
	return o.Add(res)
}

// runRecord runs `nvmepass run` and returns its counts.
func runRecord(t *testing.T, g *Guest, args ...string) Outcome {
	t.Helper()
	return recordOf(t, g.Tool(t, append(args, "-o", "json", "--progress", "none")...))
}

// recordOf reads the counts of a `nvmepass run -o json`.
func recordOf(t *testing.T, run ToolRun) Outcome {
	t.Helper()
	res, err := jobs.Decode(strings.NewReader(run.Stdout))
	require.NoError(t, err, run.Stderr)
	n := res.Total.Run
	return Outcome{Issued: n.Issued, OK: n.OK, Failed: n.Failed, Cancelled: n.Cancelled}
}
