package iopoll

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/ringtest"
	"github.com/nvmepass/nvmepass/uringcmd"
)

// TestB04NoPollQueuesNamesTheRemedy: whatever sysfs says, the message carries
// the boot option.
func TestB04NoPollQueuesNamesTheRemedy(t *testing.T) {
	for _, parameter := range []int{-1, 0, 1, 4} {
		err := Support{Parameter: parameter, path: "/dev/ng0n1"}.Check()
		require.ErrorIs(t, err, ErrNoPollQueues)
		require.ErrorContains(t, err, "nvme.poll_queues=1")
		require.ErrorContains(t, err, "/dev/ng0n1")
	}
	require.NoError(t, Support{Enabled: true}.Check())
}

func TestCountAndQueueFor(t *testing.T) {
	s := Support{Enabled: true, Queues: [][]int{{0, 1}, {2, 3}}}
	require.Equal(t, 2, s.Count())
	require.Equal(t, 1, s.QueueFor(3))
	require.Equal(t, -1, s.QueueFor(4))
	require.Equal(t, -1, Support{Enabled: true}.Count())
	require.Equal(t, 0, Support{}.Count())
}

// TestReapInsists: a polled ring that delivers one completion at a time still
// gives as many as were asked for, and never more than fit.
func TestReapInsists(t *testing.T) {
	for _, polled := range []bool{false, true} {
		k := &ringtest.Kernel{Answer: func(ringtest.Entry) (int32, uint64, bool) { return 0, 0, false }}
		k.OnEnter = func(n, _, flags uint32) (int, errno) {
			done := k.Default(n, flags)
			if len(k.Held) > 0 {
				k.Release(0, 0)
			}
			return done, 0
		}
		run(t, uringcmd.Config{Slots: 8, Big: true, IOPoll: polled, Kernel: k}, func(r *uringcmd.Ring) {
			w := NewWaiter(r)
			require.Equal(t, polled, w.Polled())
			dst := make([]uringcmd.Completion, 5)
			for i := range 8 {
				require.NoError(t, r.Publish(i))
			}
			n, err := w.Reap(4, dst)
			require.NoError(t, err)
			require.Equal(t, 4, n)
			n, err = w.Reap(100, dst)
			require.NoError(t, err)
			require.Equal(t, 4, n, "no more than are in flight")
			n, err = w.Reap(1, dst)
			require.NoError(t, err)
			require.Zero(t, n)
		})
	}
}
