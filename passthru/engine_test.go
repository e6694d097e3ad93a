package passthru

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/ringtest"
	"github.com/nvmepass/nvmepass/internal/sys"
	"github.com/nvmepass/nvmepass/internal/uapi"
	"github.com/nvmepass/nvmepass/nvme"
	"github.com/nvmepass/nvmepass/uringcmd"
)

// engineDevice is a writable Device over /dev/null, or over a stand-in.
func engineDevice(t *testing.T, cfg Config, k *ringtest.Kernel) *Device {
	t.Helper()
	d := nullDevice(nvme.Layout{LBASize: 512})
	var err error
	d.fd, err = sys.OpenDevice(os.DevNull, true, false)
	require.NoError(t, err)
	if k != nil {
		d.kernel = k
	}
	cfg.Writable = true
	d.cfg, err = cfg.check()
	require.NoError(t, err)
	d.writable, d.poll.Enabled = true, true
	return d
}

// TestEngineManyGoroutines: with cancellation at random every operation ends
// once, and afterwards every slot is free.
func TestEngineManyGoroutines(t *testing.T) {
	needIOURing(t)
	for _, workers := range []int{1, 3} {
		d := engineDevice(t, Config{Depth: 24, BufferSize: 2048, Workers: workers}, nil)
		var ended atomic.Int64
		var wg sync.WaitGroup
		for g := range 200 {
			wg.Go(func() {
				rng := rand.New(rand.NewPCG(uint64(g), 5))
				buf := make([]byte, 512*(1+rng.IntN(40)))
				for range 30 {
					ctx, cancel := context.Background(), func() {}
					if rng.IntN(3) == 0 {
						ctx, cancel = context.WithTimeout(ctx, time.Duration(rng.IntN(200))*time.Microsecond)
					}
					var err error
					if rng.IntN(2) == 0 {
						_, err = d.ReadAtContext(ctx, buf, 512*rng.Int64N(100))
					} else {
						_, err = d.WriteAtContext(ctx, buf, 512*rng.Int64N(100))
					}
					cancel()
					if err != nil && !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("unexpected: %v", err)
					}
					ended.Add(1)
				}
			})
		}
		wg.Wait()
		require.EqualValues(t, 200*30, ended.Load())
		e := d.running.Load()
		require.Eventually(t, func() bool { return e.free.count() == 24 }, time.Minute, time.Millisecond, "every slot comes back")
		require.NoError(t, d.Close())
		_, err := d.ReadAt(make([]byte, 512), 0)
		require.ErrorIs(t, err, os.ErrClosed)
		_, err = d.Do(context.Background(), nvme.NewFlush(d.nsid), nil)
		require.ErrorIs(t, err, os.ErrClosed)
	}
}

// TestEngineSplits: a transfer above one buffer becomes commands that cover it
// without gap or overlap, several at a time.
func TestEngineSplits(t *testing.T) {
	k := &ringtest.Kernel{}
	d := engineDevice(t, Config{Depth: 4, BufferSize: 4 * 512, Poll: true}, k)
	n, err := d.WriteAt(make([]byte, 30*512), 5*512)
	require.NoError(t, err)
	require.Equal(t, 30*512, n)
	n, err = d.ReadAt(make([]byte, 3000), 1000) // from the middle of block 1 to the middle of block 7
	require.NoError(t, err)
	require.Equal(t, 3000, n)
	require.NoError(t, d.Close())
	covered := map[uint64]int{}
	reads := map[uint64]uint32{}
	for _, e := range k.Consumed[4:] { // those before proved the buffers
		cmd, err := nvme.DecodeCommand(e.Image[uapi.CmdOffset:])
		require.NoError(t, err)
		require.Equal(t, cmd.NLB()*512, cmd.DataLen)
		require.LessOrEqual(t, cmd.NLB(), uint32(4))
		if cmd.Opcode == nvme.OpRead {
			reads[cmd.SLBA()] = cmd.NLB()
			continue
		}
		for i := range uint64(cmd.NLB()) {
			covered[cmd.SLBA()+i]++
		}
	}
	require.Len(t, covered, 30)
	for lba := uint64(5); lba < 35; lba++ {
		require.Equal(t, 1, covered[lba], "block %d", lba)
	}
	require.Equal(t, map[uint64]uint32{1: 4, 5: 3}, reads)
}

// TestEngineFirstErrorWins: n counts what was moved before the first command
// that failed, and the error is that command's.
func TestEngineFirstErrorWins(t *testing.T) {
	k := &ringtest.Kernel{}
	k.Answer = func(e ringtest.Entry) (int32, uint64, bool) {
		cmd, err := nvme.DecodeCommand(e.Image[uapi.CmdOffset:])
		if err == nil && cmd.SLBA() >= 8 {
			return int32(nvme.UnrecoveredReadError), 0, true
		}
		return 0, 0, true
	}
	d := engineDevice(t, Config{Depth: 4, BufferSize: 4 * 512, Poll: true}, k)
	n, err := d.ReadAt(make([]byte, 20*512), 0)
	require.Equal(t, 8*512, n)
	require.ErrorIs(t, err, nvme.UnrecoveredReadError)
	var status *nvme.StatusError
	require.ErrorAs(t, err, &status)
	require.EqualValues(t, 8, status.SLBA)
	require.NoError(t, d.Close())
}

// TestEngineCancelReturnsEarly: the caller is back at once, its memory is left
// alone, and the slot comes back with the completion.
func TestEngineCancelReturnsEarly(t *testing.T) {
	var hold atomic.Bool
	k := &ringtest.Kernel{}
	k.Answer = func(ringtest.Entry) (int32, uint64, bool) { return 0, 0, !hold.Load() }
	k.OnEnter = func(n, _, flags uint32) (int, syscall.Errno) {
		done := k.Default(n, flags)
		if !hold.Load() {
			for len(k.Held) > 0 {
				k.Release(0, 0)
			}
		}
		return done, 0
	}
	d := engineDevice(t, Config{Depth: 2, BufferSize: 512, Poll: true, StallLimit: 30 * time.Second}, k)
	_, err := d.ReadAt(make([]byte, 512), 0)
	require.NoError(t, err)
	hold.Store(true)
	for range 2 {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Millisecond)
		_, err = d.ReadAtContext(ctx, make([]byte, 512), 0)
		cancel()
		require.ErrorIs(t, err, context.DeadlineExceeded)
	}
	// Both slots are with the kernel: the next caller waits for one, bounded
	// by its own context.
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Millisecond)
	_, err = d.ReadAtContext(ctx, make([]byte, 512), 0)
	cancel()
	require.ErrorIs(t, err, context.DeadlineExceeded)
	hold.Store(false)
	_, err = d.ReadAt(make([]byte, 512), 0)
	require.NoError(t, err)
	require.NoError(t, d.Close())
}

// TestEngineStall: commands that never come back end with ErrStalled for those
// who wait, and Close says what it left mapped.
func TestEngineStall(t *testing.T) {
	var hold atomic.Bool
	k := &ringtest.Kernel{}
	k.Answer = func(ringtest.Entry) (int32, uint64, bool) { return 0, 0, !hold.Load() }
	d := engineDevice(t, Config{Depth: 2, BufferSize: 512, Poll: true, StallLimit: 50 * time.Millisecond}, k)
	_, err := d.ReadAt(make([]byte, 512), 0)
	require.NoError(t, err)
	hold.Store(true)
	_, err = d.ReadAt(make([]byte, 512), 0)
	require.ErrorIs(t, err, uringcmd.ErrStalled)
	_, err = d.ReadAt(make([]byte, 512), 0)
	require.ErrorIs(t, err, uringcmd.ErrStalled, "the engine does not go on with a broken ring")
	err = d.Close()
	var leak *uringcmd.LeakError
	require.ErrorAs(t, err, &leak)
	require.Equal(t, 1, leak.InFlight)
	require.Zero(t, k.Unmapped)
}

// TestB57Fallback: without io_uring the error says so by type, and with
// AllowIoctl commands take the other way.
func TestB57Fallback(t *testing.T) {
	k := &ringtest.Kernel{SetupErr: syscall.EPERM}
	d := engineDevice(t, Config{}, k)
	_, err := d.ReadAt(make([]byte, 512), 0)
	require.ErrorIs(t, err, uringcmd.ErrDisabled)
	require.ErrorContains(t, err, "AllowIoctl")
	require.NoError(t, d.Close())

	d = engineDevice(t, Config{AllowIoctl: true, Poll: true}, k)
	_, err = d.ReadAt(make([]byte, 512), 0)
	require.ErrorIs(t, err, uringcmd.ErrDisabled)
	require.ErrorContains(t, err, "leave out Config.Poll")
	require.NoError(t, d.Close())

	tooOld := &ringtest.Kernel{RefuseFlags: uapi.SetupSQE128}
	for _, k := range []*ringtest.Kernel{k, tooOld} {
		d = engineDevice(t, Config{AllowIoctl: true, Depth: 4}, k)
		_, err = d.ReadAt(make([]byte, 512), 0)
		require.ErrorIs(t, err, syscall.ENOTTY, "/dev/null was asked by ioctl")
		require.NoError(t, d.Close())
	}
}

func TestEngineBufferSize(t *testing.T) {
	for size, text := range map[int]string{100: "buffer size 100: ", 2 << 20: "above the 1048576 bytes"} {
		d := engineDevice(t, Config{BufferSize: size}, nil)
		_, err := d.ReadAt(make([]byte, 512), 0)
		require.ErrorContains(t, err, text)
		require.NoError(t, d.Close())
	}
}

// TestEngineAllocatesNothing per operation.
func TestEngineAllocatesNothing(t *testing.T) {
	needIOURing(t)
	d := engineDevice(t, Config{}, nil)
	buf := make([]byte, 4096)
	op := func() {
		if _, err := d.ReadAt(buf, 0); err != nil {
			t.Error(err)
		}
		if _, err := d.Do(context.Background(), nvme.NewFlush(d.nsid), nil); err != nil {
			t.Error(err)
		}
	}
	op()
	runtime.GC()
	require.Zero(t, testing.AllocsPerRun(200, op))
	require.NoError(t, d.Close())
}

func TestVectorCopy(t *testing.T) {
	v := vector{many: [][]byte{make([]byte, 3), nil, make([]byte, 5), make([]byte, 1)}}
	require.EqualValues(t, 9, v.len())
	v.copy(2, []byte{1, 2, 3, 4}, true)
	require.Equal(t, [][]byte{{0, 0, 1}, nil, {2, 3, 4, 0, 0}, {0}}, v.many)
	out := make([]byte, 7)
	v.copy(2, out, false)
	require.Equal(t, []byte{1, 2, 3, 4, 0, 0, 0}, out)
	one := oneVector([]byte{9, 8, 7})
	one.copy(1, out[:2], false)
	require.Equal(t, []byte{8, 7}, out[:2])
}

// TestEngineRingFailure: after an error of the ring itself, nobody touches
// memory that is gone, nothing is sent any more, and Close ends.
func TestEngineRingFailure(t *testing.T) {
	var fail atomic.Bool
	k := &ringtest.Kernel{}
	k.OnEnter = func(n, _, flags uint32) (int, syscall.Errno) {
		if fail.CompareAndSwap(true, false) {
			return 0, syscall.EIO
		}
		return k.Default(n, flags), 0
	}
	d := engineDevice(t, Config{Depth: 4, BufferSize: 2048, Poll: true, StallLimit: 100 * time.Millisecond}, k)
	_, err := d.ReadAt(make([]byte, 512), 0)
	require.NoError(t, err)
	fail.Store(true)
	_, err = d.ReadAt(make([]byte, 512), 0)
	require.ErrorIs(t, err, syscall.EIO)
	for range 10 {
		_, err = d.WriteAt(make([]byte, 20480), 0)
		require.ErrorIs(t, err, syscall.EIO)
	}
	require.NoError(t, d.Close(), "the command that was in flight came back in the end")
}

// TestB43FlushOnPolledRing: a flush goes to the drive as a command of its own
// also where completions are polled for, and its failure is the caller's.
func TestB43FlushOnPolledRing(t *testing.T) {
	var answer atomic.Int32
	k := &ringtest.Kernel{NeedGetEvents: true}
	k.Answer = func(ringtest.Entry) (int32, uint64, bool) { return answer.Load(), 0, true }
	d := engineDevice(t, Config{Depth: 2, BufferSize: 512, Poll: true}, k)
	require.NoError(t, d.Flush(t.Context()))
	last := k.Consumed[len(k.Consumed)-1]
	cmd, err := nvme.DecodeCommand(last.Image[uapi.CmdOffset:])
	require.NoError(t, err)
	require.Equal(t, nvme.OpFlush, cmd.Opcode)
	require.Zero(t, cmd.DataLen)
	require.Zero(t, last.SQE().OpFlags, "no fixed buffer without data")
	answer.Store(-int32(syscall.EOPNOTSUPP))
	require.ErrorIs(t, d.Flush(t.Context()), syscall.EOPNOTSUPP)
	answer.Store(int32(nvme.InternalError))
	require.ErrorIs(t, d.Flush(t.Context()), nvme.InternalError)
	answer.Store(0)
	require.NoError(t, d.Close())
}
