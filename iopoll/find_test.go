package iopoll

import (
	"io/fs"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/ringtest"
	"github.com/nvmepass/nvmepass/internal/sysfs"
	"github.com/nvmepass/nvmepass/uringcmd"
)

func TestB30FindRefusesOtherNodes(t *testing.T) {
	_, err := Find(os.DevNull)
	require.ErrorContains(t, err, "/dev/null")
	require.ErrorContains(t, err, "not a namespace")
	_, err = Find("/dev/null/ng0n1")
	require.ErrorIs(t, err, syscall.ENOTDIR)
	_, err = Find(t.TempDir() + "/ng0n1")
	require.ErrorIs(t, err, fs.ErrNotExist)
}

// TestB04NamespaceWithoutBlockNode: nothing says that it polls, so it does not.
func TestB04NamespaceWithoutBlockNode(t *testing.T) {
	s := FindPair("/dev/ng0n1", sysfs.Pair{Generic: "/dev/ng0n1"})
	require.False(t, s.Enabled)
	require.Zero(t, s.Count())
	require.ErrorContains(t, s.Check(), "poll /dev/ng0n1: no poll queues")
}

// TestReapOnAClosedRing touches none of its memory, which is gone.
func TestReapOnAClosedRing(t *testing.T) {
	r, err := uringcmd.New(uringcmd.Config{Slots: 2, Kernel: &ringtest.Kernel{}})
	require.NoError(t, err)
	w := NewWaiter(r)
	dst := make([]uringcmd.Completion, 2)
	n, err := w.Reap(1, dst)
	require.ErrorIs(t, err, uringcmd.ErrNotEnabled)
	require.Zero(t, n)
	require.NoError(t, r.Enable())
	require.NoError(t, r.Close())
	n, err = w.Reap(1, dst)
	require.ErrorIs(t, err, uringcmd.ErrClosed)
	require.Zero(t, n)
}

// TestReapGivesWhatIsThereBesideAnError: completions are not lost when a later
// call fails.
func TestReapGivesWhatIsThereBesideAnError(t *testing.T) {
	k := &ringtest.Kernel{Answer: func(ringtest.Entry) (int32, uint64, bool) { return 0, 0, false }}
	k.OnEnter = func(n, _, flags uint32) (int, errno) {
		if len(k.Held) == 0 {
			done := k.Default(n, flags)
			k.Release(0, 0)
			return done, 0
		}
		return 0, syscall.EBADR
	}
	run(t, uringcmd.Config{Slots: 4, Big: true, IOPoll: true, Kernel: k}, func(r *uringcmd.Ring) {
		w := NewWaiter(r)
		for i := range 4 {
			require.NoError(t, r.Publish(i))
		}
		dst := make([]uringcmd.Completion, 4)
		n, err := w.Reap(4, dst)
		require.ErrorIs(t, err, syscall.EBADR)
		require.Equal(t, 1, n)
		require.Equal(t, 3, r.InFlight())
		k.OnEnter = nil
		for len(k.Held) > 0 {
			k.Release(0, -5)
		}
		n, err = w.Reap(-1, dst)
		require.NoError(t, err)
		require.Equal(t, 3, n)
	})
}
