package blockio

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/fixedbuf"
	"github.com/nvmepass/nvmepass/internal/ringtest"
	"github.com/nvmepass/nvmepass/internal/slotio"
	"github.com/nvmepass/nvmepass/nvme"
	"github.com/nvmepass/nvmepass/passthru"
	"github.com/nvmepass/nvmepass/uringcmd"
)

const (
	lba    = 512
	blocks = 1 << 30
)

var ne = binary.NativeEndian

// whole answers as a block device that transfers all that was asked for.
func whole(e ringtest.Entry) (int32, uint64, bool) { return int32(e.SQE().Len), 0, true }

func fakeQueue(t *testing.T, cfg passthru.QueueConfig, writable bool) (*Queue, *ringtest.Kernel) {
	t.Helper()
	k := &ringtest.Kernel{Answer: whole}
	q, err := open(target{file: slotio.File{Path: os.DevNull, Writable: writable, Kernel: k}, lba: lba, blocks: blocks}, &cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, q.Close()) })
	k.Consumed = nil
	return q, k
}

// TestB01BlockResults: only the whole length is success.
func TestB01BlockResults(t *testing.T) {
	const bs = 4096
	tests := []struct {
		res   int32
		is    error
		text  string
		write bool
	}{
		{res: bs},
		{res: bs, write: true},
		{res: bs / 2, is: io.ErrUnexpectedEOF, text: "block read of 4096 bytes at offset 5120: short transfer of 2048 bytes"},
		{res: bs + 1, is: io.ErrUnexpectedEOF},
		{res: 0, is: io.ErrUnexpectedEOF, text: "short transfer of 0 bytes"},
		{res: -5, is: syscall.EIO, text: "block read of 4096 bytes at offset 5120: the kernel failed it: input/output error (errno 5)"},
		{res: -5, is: syscall.EIO, text: "block write of 4096 bytes", write: true},
		{res: -19, is: syscall.ENODEV},
		{res: math.MinInt32, text: "errno 2147483648"},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("res=%d/write=%v", tt.res, tt.write), func(t *testing.T) {
			q, k := fakeQueue(t, passthru.QueueConfig{Depth: 2, BufferSize: bs}, true)
			k.Answer = func(ringtest.Entry) (int32, uint64, bool) { return tt.res, 0, true }
			publish := q.Read
			if tt.write {
				publish = q.Write
			}
			require.NoError(t, publish(1, 10, 8))
			done := make([]uringcmd.Completion, 2)
			n, err := q.Reap(1, done)
			require.NoError(t, err)
			require.Equal(t, 1, n)
			err = q.Err(done[0])
			require.Equal(t, tt.res == q.OKResult(), err == nil)
			if tt.res == bs {
				return
			}
			require.ErrorContains(t, err, tt.text)
			if tt.is != nil {
				require.ErrorIs(t, err, tt.is)
			}
			require.NotErrorIs(t, err, passthru.ErrCancelled)
			var status *nvme.StatusError
			require.False(t, errors.As(err, &status), "the block layer never hands out an NVMe status")
		})
	}
}

// TestShortCommandIsJudgedByItsOwnLength: OKResult is that of whole buffers.
func TestShortCommandIsJudgedByItsOwnLength(t *testing.T) {
	q, _ := fakeQueue(t, passthru.QueueConfig{Depth: 1, BufferSize: 4096}, false)
	require.NoError(t, q.Read(0, 0, 1))
	done := make([]uringcmd.Completion, 1)
	_, err := q.Reap(1, done)
	require.NoError(t, err)
	require.NotEqual(t, q.OKResult(), done[0].Res)
	require.NoError(t, q.Err(done[0]))
}

// TestB06RefusedCommandLeavesNoTrace: as for passthru.Queue.
func TestB06RefusedCommandLeavesNoTrace(t *testing.T) {
	tests := []struct {
		name string
		slot int
		slba uint64
		nlb  uint32
		text string
	}{
		{"at the end", 1, blocks, 4, "beyond the namespace's"},
		{"across the end", 1, blocks - 3, 4, "beyond the namespace's"},
		{"wraps", 1, math.MaxUint64, 4, "beyond the namespace's"},
		{"offset wraps", 1, 1 << 55, 4, "beyond the namespace's"},
		{"no blocks", 1, 0, 0, "holds 1 to 4"},
		{"too many", 1, 0, 5, "holds 1 to 4"},
		{"like another in its low bits", 1, 0, 1<<24 | 4, "holds 1 to 4"},
		{"all", 1, 0, math.MaxUint32, "holds 1 to 4"},
		{"busy", 0, 0, 4, "in flight"},
		{"no such slot", 4, 0, 4, "slots 0 to 3"},
		{"negative slot", -1, 0, 4, "slots 0 to 3"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			q, k := fakeQueue(t, passthru.QueueConfig{Depth: 4, BufferSize: 2048}, false)
			done := make([]uringcmd.Completion, 4)
			require.NoError(t, q.ReadBatch([]int{0, 1, 2, 3}, []uint64{0, 0, 0, 0}, 4))
			_, err := q.Reap(4, done)
			require.NoError(t, err)
			k.Consumed = nil
			require.NoError(t, q.Read(0, 9, 4))
			require.ErrorContains(t, q.ReadBatch([]int{tt.slot, 3}, []uint64{tt.slba, 1}, tt.nlb), tt.text)
			require.Equal(t, 1, q.InFlight())
			n, err := q.Reap(4, done)
			require.NoError(t, err)
			require.Equal(t, 1, n)
			require.Len(t, k.Consumed, 1)
			require.EqualValues(t, 9*lba, k.Consumed[0].SQE().Off)
		})
	}
	q, _ := fakeQueue(t, passthru.QueueConfig{Depth: 1}, false)
	require.ErrorIs(t, q.WriteBatch([]int{0}, []uint64{0}, 1), passthru.ErrReadOnly)
	require.ErrorContains(t, q.ReadBatch([]int{0}, nil, 1), "1 slots and 0 addresses")
	require.ErrorContains(t, q.WriteBatch(nil, []uint64{1}, 1), "0 slots and 1 addresses")
}

// TestB37EntryIsWhatAFreshBuildGives: all 64 bytes, over random sequences.
func TestB37EntryIsWhatAFreshBuildGives(t *testing.T) {
	for name, cfg := range map[string]passthru.QueueConfig{
		"whole": {}, "plain": {PlainBuffers: true}, "plain file": {PlainFile: true}, "linear": {Linear: true},
	} {
		t.Run(name, func(t *testing.T) {
			cfg.Depth, cfg.BufferSize = 3, 4*lba
			q, k := fakeQueue(t, cfg, true)
			rng := rand.New(rand.NewPCG(1, 1))
			for range 300 {
				slot, slba, nlb, write := rng.IntN(3), rng.Uint64N(blocks-4), 1+rng.Uint32N(4), rng.IntN(2) == 0
				opcode, publish := byte(22), q.Read // READ
				if write {
					opcode, publish = 23, q.Write // WRITE
				}
				if q.Settings().FixedBuffers == fixedbuf.Whole {
					opcode -= 18 // READ_FIXED is 4, WRITE_FIXED is 5
				}
				k.Consumed = nil
				require.NoError(t, publish(slot, slba, nlb))
				_, err := q.Reap(1, make([]uringcmd.Completion, 1))
				require.NoError(t, err)
				want := make([]byte, 64)
				fd, flags := q.core.Target(slot)
				want[0], want[1] = opcode, flags
				ne.PutUint32(want[4:], uint32(fd))
				ne.PutUint64(want[8:], slba*lba)
				ne.PutUint64(want[16:], q.core.Bufs.Addr(slot))
				ne.PutUint32(want[24:], nlb*lba)
				got := k.Consumed[0].Image
				require.EqualValues(t, slot, ne.Uint32(got[32:]))
				ne.PutUint64(got[32:], 0)
				require.Equal(t, want, got)
			}
		})
	}
}

func TestOpenRefuses(t *testing.T) {
	tests := []struct {
		name   string
		change func(x *target, c *passthru.QueueConfig)
		text   string
	}{
		{"depth", func(_ *target, c *passthru.QueueConfig) { c.Depth = 0 }, "depth 0: need 1 to"},
		{"B31 unaligned", func(x *target, c *passthru.QueueConfig) { x.lba, c.BufferSize = 4096, 512 }, "not a multiple of the logical block size 4096, as O_DIRECT needs"},
		{"negative", func(_ *target, c *passthru.QueueConfig) { c.BufferSize = -512 }, "buffer size -512"},
		{"small namespace", func(x *target, c *passthru.QueueConfig) { x.blocks, c.BufferSize = 3, 2048 }, "need 1 to 3 blocks of 512 bytes"},
		{"too many blocks", func(_ *target, c *passthru.QueueConfig) { c.BufferSize = 65537 * 512 }, "need 1 to 65536 blocks"},
		{"above what the kernel moves at once", func(x *target, c *passthru.QueueConfig) { x.lba, c.BufferSize = 65536, 65536*32768 }, "need 1 to 32767 blocks of 65536 bytes"},
		{"no node", func(x *target, _ *passthru.QueueConfig) { x.file.Path = "/dev/null/x" }, "open /dev/null/x: not a directory"},
		{"refused by the kernel", func(x *target, _ *passthru.QueueConfig) {
			x.file.Kernel = &ringtest.Kernel{Answer: func(ringtest.Entry) (int32, uint64, bool) { return -95, 0, true }}
		}, "operation not supported"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			x := target{file: slotio.File{Path: os.DevNull, Kernel: &ringtest.Kernel{Answer: whole}}, lba: lba, blocks: blocks}
			cfg := passthru.QueueConfig{Depth: 1}
			tt.change(&x, &cfg)
			_, err := open(x, &cfg)
			require.ErrorContains(t, err, tt.text)
		})
	}
}

// TestMediaErrorsDoNotStopAQueue: a bad first block is the run's to report.
func TestMediaErrorsDoNotStopAQueue(t *testing.T) {
	k := &ringtest.Kernel{Answer: func(ringtest.Entry) (int32, uint64, bool) { return -5, 0, true }}
	q, err := open(target{file: slotio.File{Path: os.DevNull, Kernel: k}, lba: lba, blocks: blocks}, &passthru.QueueConfig{Depth: 1})
	require.NoError(t, err)
	require.NoError(t, q.Close())
}

// TestB44LateCommands: Close gives up after the stall limit; no call crashes
// afterwards.
func TestB44LateCommands(t *testing.T) {
	k := &ringtest.Kernel{Answer: whole}
	q, err := open(target{file: slotio.File{Path: os.DevNull, Kernel: k}, lba: lba, blocks: blocks}, &passthru.QueueConfig{Depth: 2, StallLimit: 10 * time.Millisecond, Guard: true})
	require.NoError(t, err)
	require.NoError(t, q.CheckGuards())
	k.Answer = func(ringtest.Entry) (int32, uint64, bool) { return 0, 0, false }
	buffer := q.Buffer(1)
	require.NoError(t, q.Read(1, 0, 1))
	var leak *uringcmd.LeakError
	require.ErrorAs(t, q.Close(), &leak)
	require.Equal(t, 1, leak.InFlight)
	buffer[0] = 1

	done := make([]uringcmd.Completion, 1)
	require.NoError(t, q.Close())
	require.ErrorIs(t, q.Read(0, 0, 1), os.ErrClosed)
	require.ErrorIs(t, q.Submit(1), os.ErrClosed)
	_, err = q.Reap(1, done)
	require.ErrorIs(t, err, os.ErrClosed)
	require.Zero(t, q.Take(done)+q.Ready())
	require.Nil(t, q.Buffer(0))
	require.ErrorIs(t, q.CheckGuards(), os.ErrClosed)
	require.ErrorIs(t, q.Err(done[0]), os.ErrClosed)
	require.Equal(t, 2, q.Depth())
}

// TestRealFile writes and reads a file with O_DIRECT through the running
// kernel, every kind of buffer; and no command allocates.
func TestRealFile(t *testing.T) {
	if _, err := uringcmd.ProbeKernel(); errors.Is(err, uringcmd.ErrDisabled) {
		ringtest.Missing(t, "io_uring", err)
	}
	const n, bs = 64, 4096
	path := filepath.Join(t.TempDir(), "disk")
	require.NoError(t, os.WriteFile(path, make([]byte, n*bs), 0o600))
	x := target{file: slotio.File{Path: path, Writable: true, Direct: true}, lba: bs, blocks: n}
	for name, cfg := range map[string]passthru.QueueConfig{"fixed": {}, "plain": {PlainBuffers: true, PlainFile: true, PlainRing: true}} {
		t.Run(name, func(t *testing.T) {
			cfg.Depth = 8
			q, err := open(x, &cfg)
			if errors.Is(err, syscall.EINVAL) {
				ringtest.Missing(t, "a file system with O_DIRECT for temporary files", err)
			}
			require.NoError(t, err)
			defer func() { require.NoError(t, q.Close()) }()
			slots, slbas, done := []int{0, 1, 2, 3, 4, 5, 6, 7}, make([]uint64, 8), make([]uringcmd.Completion, 8)
			for first := uint64(0); first < n; first += 8 {
				for i := range slots {
					slbas[i] = first + uint64(i)
					copy(q.Buffer(i), bytes.Repeat([]byte{byte(slbas[i]), 0x5a}, bs/2))
				}
				require.NoError(t, q.WriteBatch(slots, slbas, 1))
				got, err := q.Reap(8, done)
				require.NoError(t, err)
				for _, c := range done[:got] {
					require.NoError(t, q.Err(c))
				}
				require.Equal(t, 8, got)
			}
			failed := 0
			read := func() {
				for i := range slbas {
					slbas[i] = uint64(63 - 7*i)
				}
				if q.ReadBatch(slots, slbas, 1) != nil {
					failed++
				}
				for left := 8; left > 0; {
					if q.Submit(1) != nil {
						failed++
						return
					}
					for _, c := range done[:q.Take(done)] {
						left--
						if c.Res != q.OKResult() {
							failed++
						}
					}
				}
			}
			// These waits sleep, for which the runtime may make a thread: its
			// allocations come on top of the loop's, so that the least counts.
			least := math.Inf(1)
			for range 5 {
				least = min(least, testing.AllocsPerRun(20, read))
			}
			require.Zero(t, least)
			require.Zero(t, failed)
			for i := range slots {
				require.Equal(t, bytes.Repeat([]byte{byte(63 - 7*i), 0x5a}, bs/2), q.Buffer(i))
			}
		})
	}
}

// TestCloseFromElsewhereChangesNothing: the owner goes on, and what is in flight
// is judged by its length.
func TestCloseFromElsewhereChangesNothing(t *testing.T) {
	q, _ := fakeQueue(t, passthru.QueueConfig{Depth: 1, BufferSize: 4096, Vectored: true, PlainBuffers: true}, false)
	require.NoError(t, q.Read(0, 0, 8))
	refused := make(chan error)
	go func() { refused <- q.Close() }()
	require.ErrorIs(t, <-refused, uringcmd.ErrWrongThread)
	done := make([]uringcmd.Completion, 1)
	n, err := q.Reap(1, done)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	done[0].Res = 4096
	require.NoError(t, q.Err(done[0]))
}
