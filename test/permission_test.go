package test

import (
	"fmt"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/fixedbuf"
	"github.com/nvmepass/nvmepass/internal/sys"
	"github.com/nvmepass/nvmepass/passthru"
)

// kernelSince tells whether the running kernel is of a version or later.
func kernelSince(t *testing.T, major, minor int) bool {
	t.Helper()
	var a, b int
	_, err := fmt.Sscanf(sys.KernelRelease(), "%d.%d", &a, &b)
	require.NoError(t, err)
	return a > major || a == major && b >= minor
}

// TestB32PermissionNodeMode: a node that is root's alone.
func TestB32PermissionNodeMode(t *testing.T) {
	d := device(t, want{lba: 512, ms: 0, write: true})
	withMode(t, d.Path(), 0o600)
	out := ordinary(t, ordinaryTask{Path: d.Path(), Memlock: -1})
	require.Equal(t, passthru.RuleNodeMode, out.Open.Rule, out.Open.Text)
	require.Equal(t, syscall.EACCES, out.Open.Errno)
	for _, says := range []string{"open " + d.Path(), "mode of the node is 0600", "owner 0", "user 65534", "MODE="} {
		require.Contains(t, out.Open.Text, says)
	}
	require.NotContains(t, out.Open.Text, "CAP_SYS_ADMIN")

	withMode(t, d.Path(), 0o644)
	out = ordinary(t, ordinaryTask{Path: d.Path(), Writable: true, Memlock: -1})
	require.Equal(t, passthru.RuleNodeMode, out.Open.Rule, out.Open.Text)
	require.Contains(t, out.Open.Text, "mode of the node is 0644")
}

// TestB32PermissionCommands: a node that is everybody's. Since 6.2 commands go
// without CAP_SYS_ADMIN as far as the rules have it; before, none does.
func TestB32PermissionCommands(t *testing.T) {
	d := device(t, want{lba: 512, ms: 0, write: true})
	withMode(t, d.Path(), 0o666)
	out := ordinary(t, ordinaryTask{Path: d.Path(), Memlock: -1})
	if !kernelSince(t, 6, 2) {
		require.Equal(t, passthru.RuleCapability, out.Open.Rule, out.Open.Text)
		require.Equal(t, syscall.EACCES, out.Open.Errno)
		require.Contains(t, out.Open.Text, "before Linux 6.2 every NVMe command needs CAP_SYS_ADMIN")
		require.Contains(t, out.Open.Text, "identify")
		return
	}
	require.True(t, out.Open.ok(), out.Open.Text)
	require.Equal(t, passthru.RuleCapability, out.SMART.Rule, out.SMART.Text)
	require.Contains(t, out.SMART.Text, "CAP_SYS_ADMIN")
	require.Contains(t, out.SMART.Text, "read SMART log")
	require.True(t, out.Read.ok(), "without SMART reads go on: %s", out.Read.Text)
	require.True(t, out.Queue.ok(), out.Queue.Text)
	require.True(t, out.Write.ReadOnly, out.Write.Text)
	require.Contains(t, out.Write.Text, "Config.Writable")
	require.Equal(t, passthru.RuleReadOnly, out.Compare.Rule, out.Compare.Text)
	require.Equal(t, syscall.EACCES, out.Compare.Errno)
	require.Contains(t, out.Compare.Text, "open for writing")

	out = ordinary(t, ordinaryTask{Path: d.Path(), Writable: true, Memlock: -1})
	require.True(t, out.Read.ok() && out.Write.ok() && out.Compare.ok(), "%+v", out)
}

// TestB33FixedBuffersAndMemlock: where the limit of locked memory has no room
// for registered buffers, plain ones do, and the settings say why.
func TestB33FixedBuffersAndMemlock(t *testing.T) {
	d := device(t, want{lba: 512, ms: 0, write: true})
	withMode(t, d.Path(), 0o666)
	if !kernelSince(t, 6, 2) {
		out := ordinary(t, ordinaryTask{Path: d.Path(), Memlock: 0, Depth: 256, BufferSize: 131072})
		require.Equal(t, passthru.RuleCapability, out.Open.Rule, "nobody comes so far: %s", out.Open.Text)
		return
	}
	for _, limit := range []int64{65536, 0} {
		out := ordinary(t, ordinaryTask{Path: d.Path(), Memlock: limit, Depth: 256, BufferSize: 131072})
		require.True(t, out.Queue.ok(), out.Queue.Text)
		require.True(t, out.Read.ok(), out.Read.Text)
		require.Equal(t, fixedbuf.Plain, out.Settings.FixedBuffers)
		for _, says := range []string{"RLIMIT_MEMLOCK", fmt.Sprint(limit), fmt.Sprint(256 * 131072)} {
			require.Contains(t, out.Settings.FixedReason, says)
		}
	}
	out := ordinary(t, ordinaryTask{Path: d.Path(), Memlock: 64 << 20, Depth: 256, BufferSize: 131072})
	require.True(t, out.Queue.ok(), out.Queue.Text)
	require.Equal(t, fixedbuf.Whole, out.Settings.FixedBuffers, out.Settings.FixedReason)
	require.Empty(t, out.Settings.FixedReason)
}
