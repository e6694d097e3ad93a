package test

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/ringtest"
	"github.com/nvmepass/nvmepass/nvme"
	"github.com/nvmepass/nvmepass/passthru"
)

// TestQueueVectored scatters and gathers over parts of several buffers.
func TestQueueVectored(t *testing.T) {
	d := device(t, want{lba: 512, write: true, poll: 1})
	for _, poll := range []bool{false, true} {
		owned(t, func(t *testing.T) {
			q, err := d.NewQueue(passthru.QueueConfig{Depth: 4, BufferSize: 8192, Poll: poll, Guard: true})
			require.NoError(t, err)
			one := func() passthru.Completion {
				var c [1]passthru.Completion
				n, err := q.Reap(1, c[:])
				require.NoError(t, err)
				require.Equal(t, 1, n)
				require.NoError(t, q.Err(c[0]))
				return c[0]
			}
			want := make([]byte, 8192)
			for i := range uint64(16) {
				stamp(want[i*512:(i+1)*512], i, 77)
			}
			parts := [][]byte{q.Buffer(1)[:4096], q.Buffer(2)[4096:6144], q.Buffer(3)[512:1024], q.Buffer(3)[1024:2560]}
			at := 0
			for _, p := range parts {
				at += copy(p, want[at:])
			}
			require.Equal(t, 8192, at)
			require.NoError(t, q.WriteVec(0, 100, parts))
			require.Equal(t, 0, one().Slot)
			clear(q.Buffer(0))
			require.NoError(t, q.Read(0, 100, 16))
			one()
			require.Equal(t, want, q.Buffer(0))

			for _, p := range parts {
				clear(p)
			}
			require.NoError(t, q.ReadVec(0, 100, parts))
			one()
			var got []byte
			for _, p := range parts {
				got = append(got, p...)
			}
			require.Equal(t, want, got)
			require.NoError(t, q.CheckGuards())

			require.ErrorContains(t, q.ReadVec(0, 0, [][]byte{make([]byte, 512)}), "does not lie in a buffer")
			require.ErrorContains(t, q.ReadVec(0, 0, nil), "1 to 256")
			require.ErrorContains(t, q.ReadVec(0, 0, [][]byte{q.Buffer(1)[:100]}), "not a multiple of 512")
			require.Zero(t, q.InFlight())
			require.NoError(t, q.Close())
		})
	}
}

// TestQueueDo sends commands other than read and write through a queue.
func TestQueueDo(t *testing.T) {
	d := device(t, want{lba: 512, write: true, poll: 1})
	owned(t, func(t *testing.T) {
		q, err := d.NewQueue(passthru.QueueConfig{Depth: 2, BufferSize: 4096})
		require.NoError(t, err)
		run := func(slot int, cmd nvme.Command) error {
			require.NoError(t, q.Do(slot, cmd))
			var c [1]passthru.Completion
			_, err := q.Reap(1, c[:])
			require.NoError(t, err)
			return q.Err(c[0])
		}
		for i := range q.Buffer(0) {
			q.Buffer(0)[i] = byte(i * 3)
		}
		build := func(cmd nvme.Command, err error) nvme.Command {
			require.NoError(t, err)
			return cmd
		}
		l := d.Layout()
		require.NoError(t, run(0, build(nvme.NewWrite(d.NSID(), l, 8, 8, nvme.IOOptions{FUA: true}))))
		require.NoError(t, run(1, nvme.NewFlush(d.NSID())))
		require.NoError(t, run(0, build(nvme.NewCompare(d.NSID(), l, 8, 8, nvme.IOOptions{}))))
		q.Buffer(0)[4095] ^= 1
		require.ErrorIs(t, run(0, build(nvme.NewCompare(d.NSID(), l, 8, 8, nvme.IOOptions{}))), nvme.CompareFailure)
		require.NoError(t, run(1, build(nvme.NewWriteZeroes(d.NSID(), l, 8, 8, false, nvme.IOOptions{}))))
		require.NoError(t, q.Read(0, 8, 8))
		var c [1]passthru.Completion
		_, err = q.Reap(1, c[:])
		require.NoError(t, err)
		require.Equal(t, make([]byte, 4096), q.Buffer(0))

		long := build(nvme.NewRead(d.NSID(), l, 0, 16, nvme.IOOptions{}))
		require.ErrorContains(t, q.Do(0, long), "buffer holds 4096")
		wrong := build(nvme.NewRead(d.NSID()+1, l, 0, 1, nvme.IOOptions{}))
		require.ErrorContains(t, q.Do(0, wrong), "nsid")
		require.Zero(t, q.InFlight())
		require.NoError(t, q.Close())
	})
}

// TestVectoredForgetsNoRequest: closing a vectored queue leaves the kernel without
// requests on the drive, which a reset of the controller would wait for for ever;
// see passthru/oldvector.go.
func TestVectoredForgetsNoRequest(t *testing.T) {
	d := device(t, want{lba: 512, poll: 1})
	busy := func() (n int) {
		tags, err := filepath.Glob("/sys/kernel/debug/block/" + filepath.Base(d.BlockPath()) + "/hctx*/tags")
		require.NoError(t, err)
		if len(tags) == 0 {
			ringtest.Missing(t, "the tags of "+d.BlockPath(), errors.New("mount debugfs on /sys/kernel/debug"))
		}
		for _, name := range tags {
			text, err := os.ReadFile(name)
			require.NoError(t, err)
			for line := range strings.Lines(string(text)) {
				if count, ok := strings.CutPrefix(line, "busy="); ok {
					held, err := strconv.Atoi(strings.TrimSpace(count))
					require.NoError(t, err)
					n += held
				}
			}
		}
		return n
	}
	for _, poll := range []bool{false, true} {
		before := busy()
		owned(t, func(t *testing.T) {
			q, err := d.NewQueue(passthru.QueueConfig{Depth: 4, Vectored: true, Poll: poll})
			require.NoError(t, err)
			require.NoError(t, q.Close())
		})
		require.Eventually(t, func() bool { return busy() <= before }, patience, 10*time.Millisecond, "requests are left")
	}
}
