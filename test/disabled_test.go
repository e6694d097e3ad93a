package test

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/nvme"
	"github.com/nvmepass/nvmepass/passthru"
	"github.com/nvmepass/nvmepass/uringcmd"
)

const ioURingSysctl = "/proc/sys/kernel/io_uring_disabled"

// disableRing switches io_uring off for the test, and tells whether this kernel
// can do that.
func disableRing(t *testing.T) bool {
	t.Helper()
	was, err := os.ReadFile(ioURingSysctl)
	if !kernelSince(t, 6, 6) {
		require.ErrorIs(t, err, os.ErrNotExist)
		return false
	}
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(ioURingSysctl, []byte("2"), 0o644))
	t.Cleanup(func() { require.NoError(t, os.WriteFile(ioURingSysctl, was, 0o644)) })
	return true
}

// TestB57DisabledRing: with io_uring switched off the error says so by type,
// and the ioctls do in its place where they may. Before 6.6 it cannot be
// switched off, and the ring is there.
func TestB57DisabledRing(t *testing.T) {
	found := device(t, want{lba: 512, ms: 0, write: true})
	if !disableRing(t) {
		_, err := found.ReadAt(make([]byte, 512), 0)
		require.NoError(t, err)
		return
	}

	_, err := passthru.Open(found.Path(), &passthru.Config{Writable: true})
	require.ErrorIs(t, err, uringcmd.ErrDisabled)
	require.ErrorContains(t, err, "Config.AllowIoctl")
	d := found // open since before it was switched off
	_, err = d.SMART()
	require.NoError(t, err, "what goes by ioctl still works")
	for _, try := range []func() error{
		func() error { _, err := d.ReadAt(make([]byte, 512), 0); return err },
		func() error { _, err := d.WriteAt(make([]byte, 512), 0); return err },
		func() error { return d.Flush(t.Context()) },
		func() error { _, err := d.NewQueue(passthru.QueueConfig{Depth: 1}); return err },
	} {
		err := try()
		require.ErrorIs(t, err, uringcmd.ErrDisabled)
		require.ErrorContains(t, err, "kernel.io_uring_disabled is 2")
	}
	_, err = d.ReadAt(make([]byte, 512), 0)
	require.ErrorContains(t, err, "Config.AllowIoctl")

	plain := reopen(t, found, passthru.Config{Writable: true, AllowIoctl: true, Depth: 4, BufferSize: 4096})
	data := make([]byte, 100_000) // many commands, no whole blocks
	for i := range data {
		data[i] = byte(i ^ i>>8)
	}
	_, err = plain.WriteAtContext(t.Context(), data[:98304], 4096)
	require.NoError(t, err)
	got := make([]byte, 50_001)
	_, err = plain.ReadAtContext(t.Context(), got, 4096+777)
	require.NoError(t, err)
	require.Equal(t, data[777:777+len(got)], got)
	require.NoError(t, plain.Flush(t.Context()))
	compare, err := nvme.NewCompare(plain.NSID(), plain.Layout(), 8, 8, nvme.IOOptions{})
	require.NoError(t, err)
	_, err = plain.Do(t.Context(), compare, data[:4096])
	require.NoError(t, err)
	_, err = plain.Do(t.Context(), compare, data[1:4097])
	require.ErrorIs(t, err, nvme.CompareFailure)
	read, err := nvme.NewRead(plain.NSID(), plain.Layout(), 8, 16, nvme.IOOptions{})
	require.NoError(t, err)
	big := make([]byte, 8192) // beyond the bounce buffer
	_, err = plain.Do(t.Context(), read, big)
	require.NoError(t, err)
	require.Equal(t, data[:8192], big)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = plain.ReadAtContext(ctx, got, 0)
	require.ErrorIs(t, err, context.Canceled)

	c, err := passthru.OpenController(controllerNode(t, found), nil)
	require.NoError(t, err)
	used, why := c.Ring()
	require.False(t, used)
	require.Contains(t, why, "kernel.io_uring_disabled is 2")
	smart, err := c.SMART(t.Context())
	require.NoError(t, err)
	require.Positive(t, smart.Temperature)
	require.NoError(t, c.Close())

	code, printed, errs := nvmepass(t, "compare", found.Path(), "--paths", "passthru", "--depths", "1_1", "--rounds", "1", "--runtime", "50ms")
	require.Equal(t, 2, code)
	require.Contains(t, printed+errs, "kernel.io_uring_disabled is 2")
}
