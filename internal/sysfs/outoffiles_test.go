package sysfs

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWatch: what was not read for want of descriptors is not taken for what is
// not there.
func TestWatch(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "size"), []byte("7\n"), 0o600))
	complete := Watch()
	require.Equal(t, "7", text(dir, "size"))
	require.Empty(t, text(dir, "absent"))
	require.Nil(t, children(filepath.Join(dir, "absent")))
	require.NoError(t, complete())

	var was syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &was))
	for _, read := range []func(){func() { text(dir, "size") }, func() { children(dir) }} {
		complete := Watch()
		require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 0, Max: was.Max}))
		read()
		require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &was))
		err := complete()
		require.ErrorIs(t, err, syscall.EMFILE)
		require.ErrorContains(t, err, "ulimit -n")
		require.True(t, OutOfFiles(err))
	}
	require.ErrorContains(t, OpenError("/dev/ng0n1", syscall.EMFILE), "ulimit -n")
	require.False(t, OutOfFiles(syscall.ENOENT))
}
