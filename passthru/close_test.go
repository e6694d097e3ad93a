package passthru

import (
	"context"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/ringtest"
	"github.com/nvmepass/nvmepass/internal/sys"
	"github.com/nvmepass/nvmepass/nvme"
	"github.com/nvmepass/nvmepass/uringcmd"
)

// endless is a time that no test waits for.
const endless = time.Hour

// TestCloseLeavesMemoryToLateGoroutines: when Close has given up, a goroutine
// that still holds a slot can touch its buffer, and what it then sends ends
// with an error instead of waiting for a worker that is gone.
func TestCloseLeavesMemoryToLateGoroutines(t *testing.T) {
	needIOURing(t)
	for _, cfg := range []Config{{}, {Poll: true}, {Workers: 2}} {
		cfg.Depth, cfg.BufferSize, cfg.StallLimit = 4, 4096, 20*time.Millisecond
		d := engineDevice(t, cfg, nil)
		if cfg.Poll {
			d.kernel = &ringtest.Kernel{}
		}
		_, err := d.ReadAt(make([]byte, 512), 0)
		require.NoError(t, err)
		e := d.running.Load()
		slot, err := e.acquire(t.Context())
		require.NoError(t, err)
		err = d.Close()
		require.ErrorIs(t, err, uringcmd.ErrStalled)
		require.ErrorContains(t, err, "stay mapped")
		clear(e.data(slot))
		e.slots[slot].cmd = nvme.NewFlush(d.nsid)
		e.start(slot)
		held, err := e.wait(context.Background(), slot)
		require.True(t, held)
		require.ErrorIs(t, err, os.ErrClosed)
		e.release(slot)
	}
}

// TestCloseGivesUpOnCommands that do not come back: it ends the wait of their
// callers, and does not wait for the worker to lose patience as well.
func TestCloseGivesUpOnCommands(t *testing.T) {
	var hold atomic.Bool
	k := &ringtest.Kernel{}
	k.Answer = func(ringtest.Entry) (int32, uint64, bool) { return 0, 0, !hold.Load() }
	d := engineDevice(t, Config{Depth: 2, BufferSize: 512, Poll: true, StallLimit: 2 * time.Second}, k)
	_, err := d.ReadAt(make([]byte, 512), 0)
	require.NoError(t, err)
	e := d.running.Load()
	e.limit = 10 * time.Millisecond // Close's alone: the worker has read its own
	hold.Store(true)
	ended := make(chan error, 1)
	go func() {
		_, err := d.ReadAt(make([]byte, 512), 0)
		ended <- err
	}()
	require.Eventually(t, func() bool { return e.free.count() == 1 }, time.Minute, time.Millisecond)
	require.ErrorIs(t, d.Close(), uringcmd.ErrStalled)
	err = <-ended
	require.ErrorIs(t, err, uringcmd.ErrStalled)
	require.ErrorContains(t, err, "closed with 1 commands in flight")
	require.NoError(t, d.Close(), "closing again does nothing")
}

// brokenEnter is the running kernel until an enter is made to fail.
type brokenEnter struct {
	sys.Linux
	fail atomic.Bool
}

func (k *brokenEnter) Enter(fd, toSubmit, minComplete, flags uint32, blocking bool) (int, syscall.Errno) {
	if k.fail.CompareAndSwap(true, false) {
		return 0, syscall.EIO
	}
	return k.Linux.Enter(fd, toSubmit, minComplete, flags, blocking)
}

// TestCloseAfterRingFailure ends the read of the worker's event, which is no
// command that Close would have to wait for.
func TestCloseAfterRingFailure(t *testing.T) {
	needIOURing(t)
	k := &brokenEnter{}
	d := engineDevice(t, Config{Depth: 2, BufferSize: 512, StallLimit: endless}, nil)
	d.kernel = k
	_, err := d.ReadAt(make([]byte, 512), 0)
	require.NoError(t, err)
	k.fail.Store(true)
	_, err = d.ReadAt(make([]byte, 512), 0)
	require.ErrorIs(t, err, syscall.EIO)
	require.NoError(t, d.Close())
}

// TestCloseNoticesRingFailure: what a failed ring holds does not come back, and
// waiting for it is no use.
func TestCloseNoticesRingFailure(t *testing.T) {
	var hold, fail atomic.Bool
	k := &ringtest.Kernel{}
	k.Answer = func(ringtest.Entry) (int32, uint64, bool) { return 0, 0, !hold.Load() }
	k.OnEnter = func(n, _, flags uint32) (int, syscall.Errno) {
		if fail.CompareAndSwap(true, false) {
			hold.Store(false)
			return 0, syscall.EIO
		}
		done := k.Default(n, flags)
		for !hold.Load() && len(k.Held) > 0 {
			k.Release(0, 0)
		}
		return done, 0
	}
	d := engineDevice(t, Config{Depth: 4, BufferSize: 512, Poll: true, StallLimit: endless}, k)
	_, err := d.ReadAt(make([]byte, 512), 0)
	require.NoError(t, err)
	e := d.running.Load()
	hold.Store(true)
	var all sync.WaitGroup
	var werr, cerr error
	all.Go(func() { _, werr = d.WriteAt(make([]byte, 512), 0) })
	require.Eventually(t, func() bool { return e.free.count() == 3 }, time.Minute, time.Millisecond)
	all.Go(func() { cerr = d.Close() })
	require.Eventually(t, func() bool { return e.free.count() == 0 }, time.Minute, time.Millisecond)
	fail.Store(true)
	all.Wait()
	require.ErrorIs(t, werr, syscall.EIO)
	require.NoError(t, cerr, "the command came back while the ring was closed")
}

// TestCloseCutsTransfers: what was not sent when Close was called is not sent.
func TestCloseCutsTransfers(t *testing.T) {
	var hold atomic.Bool
	k := &ringtest.Kernel{}
	k.Answer = func(ringtest.Entry) (int32, uint64, bool) { return 0, 0, !hold.Load() }
	k.OnEnter = func(n, _, flags uint32) (int, syscall.Errno) {
		done := k.Default(n, flags)
		for !hold.Load() && len(k.Held) > 0 {
			k.Release(0, 0)
		}
		return done, 0
	}
	d := engineDevice(t, Config{Depth: 4, BufferSize: 512, Poll: true, StallLimit: endless}, k)
	_, err := d.ReadAt(make([]byte, 512), 0)
	require.NoError(t, err)
	e := d.running.Load()
	hold.Store(true)
	var all sync.WaitGroup
	var n int
	var werr, cerr error
	all.Go(func() { n, werr = d.WriteAt(make([]byte, 100*512), 0) })
	require.Eventually(t, func() bool { return e.free.count() == 0 }, time.Minute, time.Millisecond)
	all.Go(func() { cerr = d.Close() })
	<-e.closed
	hold.Store(false)
	all.Wait()
	require.NoError(t, cerr)
	require.ErrorIs(t, werr, os.ErrClosed)
	require.Equal(t, 4*512, n)
}

// TestCloseUnderLoad: every operation ends, with ErrClosed at last, and Close
// may be called by many.
func TestCloseUnderLoad(t *testing.T) {
	needIOURing(t)
	for _, allow := range []bool{false, true} {
		d := engineDevice(t, Config{Depth: 16, BufferSize: 4096, Workers: 2, AllowIoctl: allow}, nil)
		if allow {
			d.kernel = &ringtest.Kernel{SetupErr: syscall.EPERM}
		}
		var all sync.WaitGroup
		var begun atomic.Int64
		for g := range 300 {
			all.Go(func() {
				b := make([]byte, 512*(g%30))
				for {
					_, err := d.ReadAt(b, 0)
					begun.Add(1)
					switch {
					case errors.Is(err, os.ErrClosed):
						return
					case err != nil && (!allow || !errors.Is(err, syscall.ENOTTY)):
						t.Error(err)
						return
					}
				}
			})
		}
		require.Eventually(t, func() bool { return begun.Load() > 1000 }, 20*time.Second, time.Millisecond)
		for range 3 {
			all.Go(func() {
				if err := d.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	}
}

// TestCloseLeavesTheNodeToIoctls that have not ended: its number may otherwise
// be another file's when they look.
func TestCloseLeavesTheNodeToIoctls(t *testing.T) {
	d := engineDevice(t, Config{AllowIoctl: true, Depth: 2, BufferSize: 512, StallLimit: 10 * time.Millisecond}, &ringtest.Kernel{SetupErr: syscall.EPERM})
	_, err := d.ReadAt(make([]byte, 512), 0)
	require.ErrorIs(t, err, syscall.ENOTTY)
	e := d.running.Load()
	slot, err := e.acquire(t.Context())
	require.NoError(t, err)
	require.ErrorIs(t, d.Close(), uringcmd.ErrStalled)
	e.slots[slot].cmd = nvme.NewFlush(d.nsid)
	e.start(slot)
	_, err = e.wait(context.Background(), slot)
	require.ErrorIs(t, err, syscall.ENOTTY, "from the node, not EBADF")
	require.NoError(t, sys.Close(e.fd))
}

// TestQueueCloseFromElsewhere leaves the owner's queue alone.
func TestQueueCloseFromElsewhere(t *testing.T) {
	q, _ := fakeQueue(t, nullDevice(lba512), QueueConfig{Depth: 1}, nil)
	stop, stopped := make(chan struct{}), make(chan error)
	go func() {
		var err error
		for err == nil || errors.Is(err, uringcmd.ErrWrongThread) {
			select {
			case <-stop:
				stopped <- err
				return
			default:
				err = q.Close()
			}
		}
		stopped <- err
	}()
	done := make([]Completion, 1)
	for range 1000 {
		require.NoError(t, q.Read(0, 5, 1))
		n, err := q.Reap(1, done)
		require.NoError(t, err)
		require.Equal(t, 1, n)
	}
	close(stop)
	<-stopped
}
