package passthru

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/nvme"
)

// TestOpenNull: real commands on a real ring, none of which fails.
func TestOpenNull(t *testing.T) {
	needIOURing(t)
	d, err := OpenNull(NullConfig{})
	require.NoError(t, err)
	require.EqualValues(t, 512, d.Layout().LBASize)
	n, err := d.ReadAt(make([]byte, 3<<20), 512)
	require.NoError(t, err)
	require.Equal(t, 3<<20, n)
	_, err = d.WriteAt(make([]byte, 512), 0)
	require.ErrorIs(t, err, ErrReadOnly)
	q, err := d.NewQueue(QueueConfig{Depth: 4})
	require.NoError(t, err)
	require.ErrorContains(t, q.Read(0, 1<<31, 1), "2147483648")
	require.NoError(t, q.Read(0, 1<<31-1, 1))
	_, err = q.Reap(1, make([]Completion, 1))
	require.NoError(t, err)
	require.NoError(t, q.Close())
	_, err = d.SMART()
	require.Error(t, err)
	_, err = d.NewQueue(QueueConfig{Depth: 1, Poll: true})
	require.ErrorContains(t, err, "poll queues")
	require.NoError(t, d.Close())
}

func TestOpenNullRefuses(t *testing.T) {
	for _, tt := range []struct {
		cfg  NullConfig
		text string
	}{
		{NullConfig{Layout: nvme.Layout{LBASize: 500}}, "500"},
		{NullConfig{MaxTransfer: 100}, "100 bytes"},
		{NullConfig{Config: Config{Depth: -1}}, "Depth -1"},
	} {
		_, err := OpenNull(tt.cfg)
		require.ErrorContains(t, err, "open /dev/null")
		require.ErrorContains(t, err, tt.text)
	}
}

// TestSharedQueue: slots take turns at the namespaces, and each is held against
// its own.
func TestSharedQueue(t *testing.T) {
	needIOURing(t)
	large, err := OpenNull(NullConfig{})
	require.NoError(t, err)
	small, err := OpenNull(NullConfig{Blocks: 100})
	require.NoError(t, err)
	q, err := NewSharedQueue([]*Device{large, small}, QueueConfig{Depth: 5, Vectored: true})
	require.NoError(t, err)
	require.True(t, q.Settings().Vectored)
	for slot := range 5 {
		if slot%2 == 1 {
			require.ErrorContains(t, q.Read(slot, 100, 1), "100 blocks", slot)
			require.NoError(t, q.Read(slot, 99, 1))
			continue
		}
		require.NoError(t, q.Read(slot, 1<<31-1, 1))
		fd, _ := q.core.Target(slot)
		require.Zero(t, fd)
	}
	fd, _ := q.core.Target(3)
	require.EqualValues(t, 1, fd)
	n, err := q.Reap(5, make([]Completion, 5))
	require.NoError(t, err)
	require.Equal(t, 5, n)
	require.NoError(t, q.Close())

	_, err = NewSharedQueue(nil, QueueConfig{Depth: 1})
	require.ErrorContains(t, err, "no devices")
	_, err = NewSharedQueue([]*Device{large, small}, QueueConfig{Depth: 1})
	require.ErrorContains(t, err, "each of the 2 devices needs a slot")
	other, err := OpenNull(NullConfig{Layout: nvme.Layout{LBASize: 4096}})
	require.NoError(t, err)
	_, err = NewSharedQueue([]*Device{large, other}, QueueConfig{Depth: 2})
	require.ErrorContains(t, err, "4096")
	for _, d := range []*Device{large, small, other} {
		require.NoError(t, d.Close())
	}
}
