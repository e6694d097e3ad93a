package sysfs

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestB32OpenErrorNamesTheMode of the node, and what to do about it.
func TestB32OpenErrorNamesTheMode(t *testing.T) {
	node := filepath.Join(t.TempDir(), "ng0n1")
	require.NoError(t, os.WriteFile(node, nil, 0o640))
	err := OpenError(node, syscall.EACCES)
	require.ErrorIs(t, err, syscall.EACCES)
	for _, says := range []string{"open " + node + ": permission denied", "mode of the node is 0640", "owner ", "group ", "MODE="} {
		require.ErrorContains(t, err, says)
	}
	require.ErrorContains(t, err, `KERNEL=="ng*n*"`)
	block := filepath.Join(filepath.Dir(node), "nvme0n1")
	require.NoError(t, os.WriteFile(block, nil, 0o640))
	require.ErrorContains(t, OpenError(block, syscall.EACCES), `KERNEL=="nvme*n*"`)
	err = OpenError(node, syscall.EPERM)
	require.ErrorIs(t, err, syscall.EPERM)
	require.ErrorContains(t, err, "a container's device filter")
	require.ErrorContains(t, OpenError(node+"/x", syscall.EACCES), "a folder above it")
	require.EqualError(t, OpenError(node, syscall.ENOENT), "open "+node+": no such file or directory")
	require.NoError(t, OpenError(node, nil))
}
