package passthru

import (
	"context"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/ringtest"
	"github.com/nvmepass/nvmepass/nvme"
)

// operations of a Device that take a context.
func operations(d *Device) map[string]func(ctx context.Context) error {
	block := make([]byte, 512)
	return map[string]func(ctx context.Context) error{
		"read":       func(ctx context.Context) error { _, err := d.ReadAtContext(ctx, block, 0); return err },
		"nothing":    func(ctx context.Context) error { _, err := d.ReadAtContext(ctx, nil, 0); return err },
		"vector":     func(ctx context.Context) error { _, err := d.ReadVAtContext(ctx, [][]byte{block}, 0); return err },
		"write":      func(ctx context.Context) error { _, err := d.WriteAtContext(ctx, block, 0); return err },
		"flush":      d.Flush,
		"blocks":     func(ctx context.Context) error { return d.ReadBlocks(ctx, 0, block, nil, nvme.IOOptions{}) },
		"zeroes":     func(ctx context.Context) error { return d.WriteZeroes(ctx, Range{0, 8}, false) },
		"deallocate": func(ctx context.Context) error { return d.Deallocate(ctx, Range{0, 8}) },
	}
}

// TestContextThatIsDone: nothing is sent for a caller that does not wait, not
// even what a ring is made with.
func TestContextThatIsDone(t *testing.T) {
	past, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancel()
	k := &ringtest.Kernel{}
	d := engineDevice(t, Config{Depth: 4, BufferSize: 512, Poll: true}, k)
	for _, started := range []bool{false, true} {
		if started {
			_, err := d.ReadAt(make([]byte, 512), 0)
			require.NoError(t, err)
		}
		sent := len(k.Consumed)
		for name, op := range operations(d) {
			for range 20 {
				require.ErrorIs(t, op(past), context.DeadlineExceeded, name)
			}
		}
		require.Len(t, k.Consumed, sent)
		require.Equal(t, started, d.running.Load() != nil)
	}
	require.NoError(t, d.Close())
	require.Len(t, k.Consumed, 5, "the reads that prove the buffers, and one")
}

// TestContextThatIsNil is an error and takes no slot with it.
func TestContextThatIsNil(t *testing.T) {
	d := engineDevice(t, Config{Depth: 1, BufferSize: 512, Poll: true}, &ringtest.Kernel{})
	var none context.Context
	for range 2 {
		for name, op := range operations(d) {
			require.ErrorContains(t, op(none), "pass context.Background()", name)
		}
		require.NoError(t, d.Flush(t.Context()))
	}
	require.NoError(t, d.Close())
	c := newFakeController(t).open(ControllerConfig{Writable: true})
	for _, op := range []nvme.Opcode{nvme.AdminGetFeatures, nvme.AdminSetFeatures} {
		_, err := c.Do(none, nvme.Command{Opcode: op}, nil)
		require.ErrorContains(t, err, "pass context.Background()")
	}
}

// TestContextEndsDuringStart: the first command starts the rings with reads,
// which a drive may take its time for; its caller need not.
func TestContextEndsDuringStart(t *testing.T) {
	var answers atomic.Bool
	k := &ringtest.Kernel{Answer: func(ringtest.Entry) (int32, uint64, bool) { return 0, 0, answers.Load() }}
	k.OnEnter = func(n, _, flags uint32) (int, syscall.Errno) {
		done := k.Default(n, flags)
		for answers.Load() && len(k.Held) > 0 {
			k.Release(0, 0)
		}
		return done, 0
	}
	d := engineDevice(t, Config{Depth: 2, BufferSize: 512, Poll: true, StallLimit: endless}, k)
	for range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		_, err := d.ReadAtContext(ctx, make([]byte, 512), 0)
		cancel()
		require.ErrorIs(t, err, context.DeadlineExceeded)
	}
	answers.Store(true)
	_, err := d.ReadAtContext(t.Context(), make([]byte, 512), 0)
	require.NoError(t, err)
	require.NoError(t, d.Close())
	_, err = d.ReadAtContext(t.Context(), make([]byte, 512), 0)
	require.ErrorIs(t, err, os.ErrClosed)
}

// TestContextEndsAfterAFailure: the error of a transfer whose first command failed
// tells of the others that go on by themselves, since they may still land.
func TestContextEndsAfterAFailure(t *testing.T) {
	var armed atomic.Bool
	k := &ringtest.Kernel{}
	k.Answer = func(e ringtest.Entry) (int32, uint64, bool) {
		switch {
		case !armed.Load():
			return 0, 0, true
		case e.Command().CDW10 == 0:
			return int32(nvme.WriteFault), 0, true
		}
		return 0, 0, false
	}
	k.OnEnter = func(n, _, flags uint32) (int, syscall.Errno) {
		done := k.Default(n, flags)
		for !armed.Load() && len(k.Held) > 0 {
			k.Release(0, 0)
		}
		return done, 0
	}
	d := engineDevice(t, Config{Depth: 4, BufferSize: 512, Poll: true, StallLimit: endless}, k)
	_, err := d.ReadAt(make([]byte, 512), 0)
	require.NoError(t, err)
	armed.Store(true)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	n, err := d.WriteAtContext(ctx, make([]byte, 3*512), 0)
	require.Zero(t, n)
	require.ErrorIs(t, err, nvme.WriteFault)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "go on by themselves")
	armed.Store(false)
	_, err = d.WriteAtContext(t.Context(), make([]byte, 3*512), 0)
	require.NoError(t, err)
	require.NoError(t, d.Close())
}

// TestTimeoutOfACommand beyond the ring's stall limit would cost all others.
func TestTimeoutOfACommand(t *testing.T) {
	k := &ringtest.Kernel{}
	d := engineDevice(t, Config{Depth: 2, BufferSize: 512, Poll: true, Timeout: 7 * time.Second, StallLimit: 20 * time.Second}, k)
	cmd := nvme.NewFlush(d.nsid)
	for ms, want := range map[uint32]uint32{0: 7000, 1: 1, 20_000: 20_000} {
		cmd.TimeoutMS = ms
		_, err := d.Do(t.Context(), cmd, nil)
		require.NoError(t, err)
		require.EqualValues(t, want, k.Consumed[len(k.Consumed)-1].Command().TimeoutMS)
	}
	sent := len(k.Consumed)
	cmd.TimeoutMS = 20_001
	_, err := d.Do(t.Context(), cmd, nil)
	require.ErrorContains(t, err, "flush /dev/null: time-out of the command 20.001s: it must not be above Config.StallLimit, which is 20s")
	require.NoError(t, d.Close())
	require.Len(t, k.Consumed, sent)
}
