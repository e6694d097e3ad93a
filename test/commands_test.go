package test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/nvmeioctl"
	"github.com/nvmepass/nvmepass/internal/sys"
	"github.com/nvmepass/nvmepass/nvme"
	"github.com/nvmepass/nvmepass/passthru"
)

// plainDrive is a drive of 512-byte blocks whose data the test may overwrite.
func plainDrive(t *testing.T) *passthru.Device {
	t.Helper()
	return device(t, want{lba: 512, ms: 0, write: true})
}

// stampedBlocks are blocks of 512 bytes that no other address or round has.
func stampedBlocks(slba, blocks, round uint64) []byte {
	b := make([]byte, blocks*512)
	for i := range blocks {
		stamp(b[i*512:(i+1)*512], slba+i, round)
	}
	return b
}

// fill writes stamped blocks.
func fill(t *testing.T, d *passthru.Device, slba, blocks, round uint64) {
	t.Helper()
	_, err := d.WriteAt(stampedBlocks(slba, blocks, round), int64(slba*512))
	require.NoError(t, err)
}

func readBlocks(t *testing.T, d *passthru.Device, slba, blocks uint64) []byte {
	t.Helper()
	b := make([]byte, blocks*512)
	_, err := d.ReadAt(b, int64(slba*512))
	require.NoError(t, err)
	return b
}

// TestReadWriteOptions: each option reaches the drive, which carries the
// command out all the same.
func TestReadWriteOptions(t *testing.T) {
	d := plainDrive(t)
	ctx := context.Background()
	for round, o := range []nvme.IOOptions{
		{},
		{FUA: true},
		{LR: true},
		{FUA: true, LR: true},
		{Hint: nvme.HintFrequentAccess | nvme.HintLatencyLow | nvme.HintSequential},
		{Hint: nvme.HintOneTimeRead | nvme.HintIncompressible},
		{TimeoutMS: 10_000},
	} {
		data := stampedBlocks(1000, 24, uint64(round))
		require.NoError(t, d.WriteBlocks(ctx, 1000, data, nil, o), "%+v", o)
		got := make([]byte, len(data))
		require.NoError(t, d.ReadBlocks(ctx, 1000, got, nil, o), "%+v", o)
		require.True(t, bytes.Equal(data, got), "%+v", o)
	}
	require.NoError(t, d.Flush(ctx))
	_, err := d.Do(ctx, nvme.NewFlush(nvme.AllNamespaces), nil)
	require.ErrorContains(t, err, "takes no other")
}

// TestWriteZeroes in one and in several commands, with and without
// deallocation; the blocks around stay.
func TestWriteZeroes(t *testing.T) {
	d := plainDrive(t)
	require.True(t, d.Controller().ONCS.WriteZeroes())
	for _, deallocate := range []bool{false, true} {
		for _, blocks := range []uint64{1, 8, 100, 3000} {
			const slba = 2048
			fill(t, d, slba-1, blocks+2, blocks)
			require.NoError(t, d.WriteZeroes(context.Background(), passthru.Range{SLBA: slba, Blocks: blocks}, deallocate))
			want := stampedBlocks(slba-1, blocks+2, blocks)
			clear(want[512 : 512+blocks*512])
			require.True(t, bytes.Equal(want, readBlocks(t, d, slba-1, blocks+2)), "%d blocks, deallocate %v", blocks, deallocate)
		}
	}
	err := d.WriteZeroes(context.Background(), passthru.Range{SLBA: d.Limits().Blocks - 1, Blocks: 2}, false)
	require.ErrorContains(t, err, fmt.Sprintf("within the namespace's %d blocks", d.Limits().Blocks))
}

// TestWriteUncorrectable: reads of the blocks fail, or a drive that does not
// have the command says so and changes nothing.
func TestWriteUncorrectable(t *testing.T) {
	d := plainDrive(t)
	ctx := context.Background()
	fill(t, d, 3000, 8, 1)
	cmd, err := nvme.NewWriteUncorrectable(d.NSID(), d.Layout(), 3000, 8, nvme.IOOptions{})
	require.NoError(t, err)
	_, err = d.Do(ctx, cmd, nil)
	if !d.Controller().ONCS.WriteUncorrectable() {
		require.ErrorIs(t, err, nvme.InvalidOpcode)
		require.ErrorContains(t, err, "write-uncorrectable nsid=")
		require.True(t, bytes.Equal(stampedBlocks(3000, 8, 1), readBlocks(t, d, 3000, 8)))
		return
	}
	require.NoError(t, err)
	_, err = d.ReadAt(make([]byte, 512), 3000*512)
	require.ErrorIs(t, err, nvme.UnrecoveredReadError)
	fill(t, d, 3000, 8, 2)
	require.True(t, bytes.Equal(stampedBlocks(3000, 8, 2), readBlocks(t, d, 3000, 8)))
}

// TestB16CompareNeverWrites: match and mismatch are different results, also on
// a node that is open for reading, and data stays as it was.
func TestB16CompareNeverWrites(t *testing.T) {
	d := plainDrive(t)
	ctx := context.Background()
	fill(t, d, 4000, 64, 1)
	for _, dev := range []*passthru.Device{d, reopen(t, d, passthru.Config{})} {
		require.NoError(t, dev.CompareBlocks(ctx, 4000, stampedBlocks(4000, 64, 1), nil, nvme.IOOptions{}))
		require.ErrorIs(t, dev.CompareBlocks(ctx, 4000, stampedBlocks(4000, 64, 2), nil, nvme.IOOptions{}), nvme.CompareFailure)
		for _, at := range []int{0, 511, 512, 64*512 - 1} {
			almost := stampedBlocks(4000, 64, 1)
			almost[at] ^= 0x80
			err := dev.CompareBlocks(ctx, 4000, almost, nil, nvme.IOOptions{})
			require.ErrorIs(t, err, nvme.CompareFailure, "byte %d", at)
			require.ErrorContains(t, err, "compare nsid=")
		}
	}
	require.True(t, bytes.Equal(stampedBlocks(4000, 64, 1), readBlocks(t, d, 4000, 64)))
}

// TestVerify reads the media without a transfer, and finds what cannot be read.
func TestVerify(t *testing.T) {
	ctx := context.Background()
	verify := func(d *passthru.Device, slba uint64, nlb uint32) error {
		cmd, err := nvme.NewVerify(d.NSID(), d.Layout(), slba, nlb, nvme.IOOptions{})
		require.NoError(t, err)
		_, err = d.Do(ctx, cmd, nil)
		return err
	}
	d := plainDrive(t)
	fill(t, d, 5000, 128, 1)
	require.NoError(t, verify(d, 5000, 128))
	bad := device(t, want{serial: "bad", ms: 0})
	require.NoError(t, verify(bad, 0, 64))
	var status *nvme.StatusError
	require.ErrorAs(t, verify(bad, 2040, 16), &status)
	require.Contains(t, []nvme.Code{nvme.UnrecoveredReadError, nvme.InternalError}, status.Status.Code(), "QEMU 7.2 has the latter")
	require.EqualValues(t, 2040, status.SLBA)
	require.EqualValues(t, 16, status.NLB)
}

// setErrorRecovery sets the error recovery feature of a namespace, with reads of
// deallocated blocks as errors (DULBE) or not.
func setErrorRecovery(t *testing.T, d *passthru.Device, dulbe bool) {
	t.Helper()
	fd, err := sys.OpenDevice(d.Path(), false, false)
	require.NoError(t, err)
	defer func() { require.NoError(t, sys.Close(fd)) }()
	value := uint32(0)
	if dulbe {
		value = 1 << 16
	}
	_, err = nvmeioctl.Admin(fd, nvme.NewSetFeatures(d.NSID(), nvme.FeatErrorRecovery, value, nvme.FeatureOptions{}), nil)
	require.NoError(t, err)
	get, err := nvme.NewGetFeatures(d.NSID(), nvme.FeatErrorRecovery, nvme.FeatureCurrent, 0, 0)
	require.NoError(t, err)
	now, err := nvmeioctl.Admin(fd, get, nil)
	require.NoError(t, err)
	require.Equal(t, value, uint32(now))
}

// TestDeallocate several ranges in one command; with DULBE on, reads of them,
// and of nothing else, fail with the status for that. Blocks that are written
// again read again.
func TestDeallocate(t *testing.T) {
	d := plainDrive(t)
	ctx := context.Background()
	require.True(t, d.Controller().ONCS.DSM())
	require.True(t, d.Namespace().NSFEAT.DULBE())
	const base, blocks = 8192, 512
	ranges := []passthru.Range{{SLBA: base, Blocks: 64}, {SLBA: base + 128, Blocks: 8}, {SLBA: base + 256, Blocks: 128}}
	gone := func(lba uint64) bool {
		for _, r := range ranges {
			if lba >= r.SLBA && lba < r.SLBA+r.Blocks {
				return true
			}
		}
		return false
	}
	fill(t, d, base, blocks, 1)
	require.NoError(t, d.Deallocate(ctx, ranges...))
	want := stampedBlocks(base, blocks, 1)
	got := readBlocks(t, d, base, blocks)
	for i := range uint64(blocks) {
		if gone(base + i) {
			clear(want[i*512 : (i+1)*512])
		}
	}
	require.True(t, d.Namespace().DLFEAT.ReadsZero())
	require.True(t, bytes.Equal(want, got), "deallocated blocks read as zeros, the others as they were")

	setErrorRecovery(t, d, true)
	defer setErrorRecovery(t, d, false)
	for lba := uint64(base); lba < base+blocks; lba += 8 {
		err := d.ReadBlocks(ctx, lba, make([]byte, 8*512), nil, nvme.IOOptions{})
		if gone(lba) {
			require.ErrorIs(t, err, nvme.DeallocatedOrUnwritten, "block %#x", lba)
		} else {
			require.NoError(t, err, "block %#x", lba)
		}
	}
	n, err := d.ReadAt(make([]byte, 256*512), (base+64)*512)
	require.ErrorIs(t, err, nvme.DeallocatedOrUnwritten)
	require.Less(t, n, 256*512)
	fill(t, d, base, blocks, 2)
	require.True(t, bytes.Equal(stampedBlocks(base, blocks, 2), readBlocks(t, d, base, blocks)))

	require.NoError(t, d.WriteZeroes(ctx, passthru.Range{SLBA: base, Blocks: 64}, true))
	require.ErrorIs(t, d.ReadBlocks(ctx, base, make([]byte, 512), nil, nvme.IOOptions{}), nvme.DeallocatedOrUnwritten, "write zeroes with DEAC")
	setErrorRecovery(t, d, false)
	require.Equal(t, make([]byte, 64*512), readBlocks(t, d, base, 64))

	err = d.Deallocate(ctx, passthru.Range{SLBA: d.Limits().Blocks, Blocks: 1})
	require.ErrorContains(t, err, fmt.Sprintf("within the namespace's %d blocks", d.Limits().Blocks))
}

// TestCopy gathers several ranges at one place. Where a range is longer than
// the drive takes, the result says which.
func TestCopy(t *testing.T) {
	d := plainDrive(t)
	ctx := context.Background()
	ns := d.Namespace()
	require.True(t, d.Controller().ONCS.Copy())
	copyBlocks := func(dst uint64, ranges ...nvme.CopyRange) (uint64, error) {
		cmd, err := nvme.NewCopy(d.NSID(), d.Layout(), dst, ranges, nvme.CopyOptions{})
		require.NoError(t, err)
		var list []byte
		for _, r := range ranges {
			list = r.AppendTo(list, nvme.CopyFormat0, d.Layout())
		}
		return d.Do(ctx, cmd, list)
	}
	fill(t, d, 10000, 300, 1)
	fill(t, d, 12000, 100, 2)
	_, err := copyBlocks(12001, nvme.CopyRange{SLBA: 10100, NLB: 10}, nvme.CopyRange{SLBA: 10007, NLB: 1}, nvme.CopyRange{SLBA: 10200, NLB: 40})
	require.NoError(t, err)
	want := stampedBlocks(12000, 100, 2)
	at := 512
	for _, r := range [][2]uint64{{10100, 10}, {10007, 1}, {10200, 40}} {
		at += copy(want[at:], stampedBlocks(r[0], r[1], 1))
	}
	require.True(t, bytes.Equal(want, readBlocks(t, d, 12000, 100)))
	require.True(t, bytes.Equal(stampedBlocks(10000, 300, 1), readBlocks(t, d, 10000, 300)), "the sources stay")

	first, err := copyBlocks(12000, nvme.CopyRange{SLBA: 10000, NLB: 1}, nvme.CopyRange{SLBA: 10000, NLB: uint32(ns.MSSRL) + 1})
	var status *nvme.StatusError
	require.ErrorAs(t, err, &status)
	require.Contains(t, []nvme.Code{nvme.CommandSizeLimitExceeded, nvme.InternalError}, status.Status.Code(), "QEMU 7.2 has the latter")
	require.EqualValues(t, 1, first, "the range that was not copied")
	require.Equal(t, first, status.Result)
	require.True(t, bytes.Equal(want[512:], readBlocks(t, d, 12001, 99)))
	_, err = nvme.NewCopy(d.NSID(), d.Layout(), 12000, []nvme.CopyRange{{SLBA: 10000, NLB: uint32(ns.MSSRL) + 1}}, nvme.CopyOptions{Limits: ns.CopyLimits()})
	require.ErrorContains(t, err, fmt.Sprintf("at most %d in one range (MSSRL)", ns.MSSRL))
	_, err = nvme.NewCopy(d.NSID(), d.Layout(), 0, []nvme.CopyRange{{SLBA: d.Limits().Blocks, NLB: 1}}, nvme.CopyOptions{Write: nvme.IOOptions{Limits: nvme.Limits{Blocks: d.Limits().Blocks}}})
	require.ErrorContains(t, err, fmt.Sprintf("beyond the namespace's %d blocks", d.Limits().Blocks))
}

// TestOutOfRange: a block beyond the namespace is refused before any I/O with
// the limit in the text; the drive itself, asked by ioctl without that check,
// gives the status for it.
func TestOutOfRange(t *testing.T) {
	d := plainDrive(t)
	blocks := d.Limits().Blocks
	for _, slba := range []uint64{blocks, blocks - 7, 1 << 63, ^uint64(0)} {
		err := d.ReadBlocks(context.Background(), slba, make([]byte, 8*512), nil, nvme.IOOptions{})
		require.ErrorContains(t, err, fmt.Sprintf("beyond the namespace's %d blocks (last is %#x)", blocks, blocks-1))
		require.NotErrorIs(t, err, nvme.LBAOutOfRange)

		cmd, err := nvme.NewRead(d.NSID(), d.Layout(), 0, 8, nvme.IOOptions{})
		require.NoError(t, err)
		cmd.SetSLBA(slba)
		fd, err := sys.OpenDevice(d.Path(), false, false)
		require.NoError(t, err)
		_, err = nvmeioctl.IO(fd, cmd, nvme.SetNVM, make([]byte, 8*512))
		require.NoError(t, sys.Close(fd))
		require.ErrorIs(t, err, nvme.LBAOutOfRange)
	}
}

// TestCommandsTheDriveDoesNotHave end with its status or the kernel's errno,
// and the Device goes on.
func TestCommandsTheDriveDoesNotHave(t *testing.T) {
	d := plainDrive(t)
	ctx := context.Background()
	status, err := nvme.NewRUHStatus(d.NSID(), 512, nvme.Limits{})
	require.NoError(t, err)
	answer := make([]byte, 512)
	_, err = d.Do(ctx, status, answer)
	if d.Controller().CTRATT.FDP() {
		require.NoError(t, err)
		_, err = nvme.DecodeRUHStatus(answer)
		require.NoError(t, err)
	} else {
		require.ErrorIs(t, err, nvme.InvalidOpcode)
	}
	readOnly := reopen(t, d, passthru.Config{})
	for _, op := range []nvme.Opcode{0x80, 0xc1, 0xfe, 0xff} {
		for _, size := range []int{0, 4, 512, 4096, 100_000} {
			cmd := nvme.Command{Opcode: op, NSID: d.NSID(), DataLen: uint32(size), CDW10: 0xffffffff, CDW15: 0xffffffff}
			_, err := d.Do(ctx, cmd, make([]byte, size))
			require.ErrorIs(t, err, nvme.InvalidOpcode, "opcode %#x with %d bytes", uint8(op), size)
			_, err = readOnly.Do(ctx, cmd, make([]byte, size))
			require.ErrorIs(t, err, passthru.ErrReadOnly, "what a vendor's command does is not known")
		}
	}
	_, err = d.Append(ctx, 0, make([]byte, 512))
	require.ErrorContains(t, err, "not zoned")
	fill(t, d, 0, 8, 9)
	require.True(t, bytes.Equal(stampedBlocks(0, 8, 9), readBlocks(t, d, 0, 8)))
}

// TestB10TransferLimits: the largest command works, one block more is refused
// before I/O with the number, and the byte-wise methods split.
func TestB10TransferLimits(t *testing.T) {
	for _, lba := range []uint32{512, 4096} {
		t.Run(fmt.Sprintf("lba=%d", lba), func(t *testing.T) {
			d := device(t, want{lba: lba, ms: 0, write: true})
			ctx := context.Background()
			lim := d.Limits()
			require.NotZero(t, lim.MaxTransfer)
			require.LessOrEqual(t, lim.MaxTransfer, lim.MDTS)
			require.LessOrEqual(t, lim.MaxTransfer, lim.MaxHWSectors)
			most := min(lim.MaxTransfer, uint64(lim.MaxSegments)*4096)
			most -= most % uint64(lba)
			data := make([]byte, most)
			for i := 0; i+8 <= len(data); i += 8 {
				binary.LittleEndian.PutUint64(data[i:], uint64(i)*0x9e3779b97f4a7c15)
			}
			require.NoError(t, d.WriteBlocks(ctx, 64, data, nil, nvme.IOOptions{}))
			got := make([]byte, most)
			require.NoError(t, d.ReadBlocks(ctx, 64, got, nil, nvme.IOOptions{}))
			require.True(t, bytes.Equal(data, got))

			over := make([]byte, lim.MaxTransfer+uint64(lba))
			require.ErrorContains(t, d.ReadBlocks(ctx, 0, over, nil, nvme.IOOptions{}), fmt.Sprintf("one command moves at most %d of layout %d (%d bytes)", lim.MaxBlocks, lba, lim.MaxTransfer))
			cmd, err := nvme.NewRead(d.NSID(), d.Layout(), 0, lim.MaxBlocks+1, nvme.IOOptions{})
			require.NoError(t, err)
			_, err = d.Do(ctx, cmd, over)
			require.ErrorContains(t, err, fmt.Sprintf("exceed the limit of %d bytes per command", lim.MaxTransfer))
			_, err = d.WriteAt(bytes.Repeat(data, 4), 0)
			require.NoError(t, err)
			all := make([]byte, 4*most)
			_, err = d.ReadAt(all, 0)
			require.NoError(t, err)
			require.True(t, bytes.Equal(bytes.Repeat(data, 4), all))
		})
	}
}

// TestB15OverlappingWriters: many goroutines write a small region at once. Those
// who own their blocks never see anything else in them, and blocks that all
// write hold one writer's data, whole.
func TestB15OverlappingWriters(t *testing.T) {
	found := plainDrive(t)
	const region, base, writers, rounds = 128, 20000, 16, 40
	for _, cfg := range []passthru.Config{{Writable: true}, {Writable: true, Workers: 2, Depth: 8}, {Writable: true, Poll: true, BufferSize: 1024}} {
		if cfg.Poll && found.Poll().Check() != nil {
			continue
		}
		t.Run(fmt.Sprintf("workers=%d/poll=%v", cfg.Workers, cfg.Poll), func(t *testing.T) {
			d := reopen(t, found, cfg)
			var wg sync.WaitGroup
			for w := range uint64(writers) {
				wg.Go(func() {
					rng := rand.New(rand.NewPCG(w, 15))
					want, got := make([]byte, 512), make([]byte, 512)
					for round := range uint64(rounds) {
						mine := base + rng.Uint64N(region/writers)*writers + w
						stamp(want, mine, w<<32|round)
						if _, err := d.WriteAt(want, int64(mine*512)); err != nil {
							t.Errorf("write: %v", err)
						}
						if _, err := d.ReadAt(got, int64(mine*512)); err != nil || !bytes.Equal(want, got) {
							t.Errorf("block %#x of writer %d: false mismatch (%v)", mine, w, err)
						}
						shared := stampedBlocks(base+region, 8, w)
						if _, err := d.WriteAt(shared, (base+region)*512); err != nil {
							t.Errorf("write: %v", err)
						}
					}
				})
			}
			wg.Wait()
			got := readBlocks(t, d, base+region, 8)
			for i := range uint64(8) {
				whole := false
				for w := range uint64(writers) {
					whole = whole || bytes.Equal(stampedBlocks(base+region+i, 1, w), got[i*512:(i+1)*512])
				}
				require.True(t, whole, "block %d is a mixture", i)
			}
		})
	}
}
