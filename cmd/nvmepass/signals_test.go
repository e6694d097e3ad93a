package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestUntilDone: an answer is handed on, and one that does not come is not waited
// for once the context is done.
func TestUntilDone(t *testing.T) {
	v, err := untilDone(t.Context(), func() (int, error) { return 7, os.ErrExist })
	require.Equal(t, 7, v)
	require.ErrorIs(t, err, os.ErrExist)
	ctx, cancel := context.WithCancel(t.Context())
	waits := make(chan struct{})
	defer close(waits)
	v, err = untilDone(ctx, func() (int, error) {
		cancel()
		<-waits
		return 7, nil
	})
	require.Zero(t, v)
	require.ErrorIs(t, err, context.Canceled)
}

// TestNoReader: only output that nobody reads makes an end quiet.
func TestNoReader(t *testing.T) {
	broken := &fs.PathError{Op: "write", Path: os.Stdout.Name(), Err: syscall.EPIPE}
	gone, cancel := context.WithCancelCause(t.Context())
	cancel(errNoReader)
	interrupted, stop := context.WithCancel(t.Context())
	stop()
	for _, tt := range []struct {
		ctx  context.Context
		err  error
		want bool
	}{
		{t.Context(), nil, false},
		{t.Context(), broken, true},
		{t.Context(), errors.Join(errors.New("x"), broken), true},
		{t.Context(), &fs.PathError{Op: "write", Path: os.Stdout.Name(), Err: syscall.ENOSPC}, false},
		{t.Context(), &fs.PathError{Op: "write", Path: "|1", Err: syscall.EPIPE}, false},
		{gone, nil, true},
		{gone, context.Canceled, true},
		{interrupted, context.Canceled, false},
	} {
		require.Equal(t, tt.want, noReader(tt.ctx, tt.err), "%v", tt.err)
	}
	require.Equal(t, exitIO, exitCode(t.Context(), &fs.PathError{Op: "sync", Path: "run.json", Err: syscall.ENOSPC}))
	require.Equal(t, exitDevice, exitCode(t.Context(), &fs.PathError{Op: "open", Path: "run.json", Err: syscall.EACCES}))
}
