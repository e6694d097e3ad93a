package syncio

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/blockio"
	"github.com/nvmepass/nvmepass/internal/iosetup"
	"github.com/nvmepass/nvmepass/internal/ringtest"
	"github.com/nvmepass/nvmepass/internal/uapi"
	"github.com/nvmepass/nvmepass/internal/workload"
	"github.com/nvmepass/nvmepass/uringcmd"
)

const lba = 4096 // what O_DIRECT takes on any file system

// file has blocks of which each is filled with its number.
func file(t *testing.T, blocks int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "disk")
	var data []byte
	for i := range blocks {
		data = append(data, bytes.Repeat([]byte{byte(i)}, lba)...)
	}
	require.NoError(t, os.WriteFile(path, data, 0o600))
	return path
}

func open(t *testing.T, cfg Config) *Queue {
	t.Helper()
	q, err := Open(cfg)
	if errors.Is(err, syscall.EINVAL) {
		ringtest.Missing(t, "a file system with O_DIRECT", err)
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, q.Close()) })
	return q
}

// TestReads: each read brings the blocks it was asked for, one at a time.
func TestReads(t *testing.T) {
	for _, poll := range []bool{false, true} {
		q := open(t, Config{Path: file(t, 16), LBA: lba, BufferSize: 2 * lba, Poll: poll})
		done := make([]uringcmd.Completion, 1)
		for _, slba := range []uint64{0, 9, 14, 3} {
			require.Zero(t, q.InFlight())
			require.NoError(t, q.ReadBatch([]int{0}, []uint64{slba}, 2))
			require.Equal(t, 1, q.InFlight())
			require.Zero(t, q.Take(done), "not yet performed")
			require.NoError(t, q.Submit(1))
			require.Equal(t, 1, q.Take(done))
			require.Zero(t, q.Take(done), "once")
			require.Equal(t, q.OKResult(), done[0].Res)
			require.NoError(t, q.Err(done[0]))
			require.Equal(t, byte(slba), q.Buffer()[0])
			require.Equal(t, byte(slba+1), q.Buffer()[2*lba-1])
		}
		require.NoError(t, q.Submit(1), "nothing to do")
		s := q.Stats()
		require.Equal(t, uringcmd.Stats{Enters: 4, Submitted: 4, Reaped: 4}, s)
	}
}

// TestFaults: short reads, errors and signals keep apart, and none is lost.
func TestFaults(t *testing.T) {
	q := open(t, Config{Path: file(t, 4), LBA: lba, BufferSize: lba, Poll: true})
	done := make([]uringcmd.Completion, 1)
	answers := []struct {
		n     int
		errno syscall.Errno
		is    error
	}{{0, 0, io.ErrUnexpectedEOF}, {512, 0, io.ErrUnexpectedEOF}, {-1, syscall.EIO, syscall.EIO}, {-1, syscall.ENODEV, syscall.ENODEV}, {lba, 0, nil}}
	for _, a := range answers {
		interruptions := 2
		q.read = func(fd int, vec *uapi.Iovec, offset int64, hipri bool) (int, syscall.Errno) {
			require.True(t, hipri)
			require.Equal(t, int64(2*lba), offset)
			require.Equal(t, uint64(lba), vec.Len)
			require.Equal(t, q.fd, fd)
			if interruptions--; interruptions >= 0 {
				return -1, syscall.EINTR
			}
			return a.n, a.errno
		}
		require.NoError(t, q.ReadBatch([]int{0}, []uint64{2}, 1))
		require.NoError(t, q.Submit(0))
		require.Equal(t, 1, q.Take(done))
		err := q.Err(done[0])
		if a.is == nil {
			require.NoError(t, err)
			continue
		}
		require.ErrorIs(t, err, a.is)
		var te *blockio.TransferError
		require.ErrorAs(t, err, &te)
		require.Equal(t, uint64(2*lba), te.Offset)
	}
	require.Equal(t, uint64(10), q.Stats().Interrupts)
}

func TestRefusals(t *testing.T) {
	path := file(t, 4)
	q := open(t, Config{Path: path, LBA: lba, BufferSize: lba})
	for want, f := range map[string]func() error{
		"slot 1":              func() error { return q.ReadBatch([]int{1}, []uint64{0}, 1) },
		"one address":         func() error { return q.ReadBatch([]int{0}, nil, 1) },
		"buffer holds 1 to 1": func() error { return q.ReadBatch([]int{0}, []uint64{0}, 2) },
		"0 blocks":            func() error { return q.ReadBatch([]int{0}, []uint64{0}, 0) },
		"largest file offset": func() error { return q.ReadBatch([]int{0}, []uint64{1 << 60}, 1) },
	} {
		require.ErrorContains(t, f(), want)
		require.Zero(t, q.InFlight())
	}
	require.NoError(t, q.ReadBatch([]int{0}, []uint64{0}, 1))
	require.ErrorIs(t, q.ReadBatch([]int{0}, []uint64{0}, 1), uringcmd.ErrSlotBusy)
	require.NoError(t, q.Close())
	require.ErrorIs(t, q.ReadBatch([]int{0}, []uint64{0}, 1), os.ErrClosed)
	require.NoError(t, q.Submit(1))
	require.Zero(t, q.InFlight())
	require.NoError(t, q.Close(), "again")

	for _, cfg := range []Config{{Path: path, LBA: lba, BufferSize: 100}, {Path: path, LBA: lba}, {Path: path, BufferSize: 4}, {Path: path, LBA: lba, BufferSize: 1 << 31}} {
		_, err := Open(cfg)
		require.Error(t, err)
	}
	_, err := Open(Config{Path: path + "x", LBA: lba, BufferSize: lba})
	require.ErrorIs(t, err, os.ErrNotExist)
}

// TestRun: a run adds up, and its hot path allocates nothing.
func TestRun(t *testing.T) {
	q := open(t, Config{Path: file(t, 64), LBA: lba, BufferSize: 4 * lba})
	res, err := workload.Run(context.Background(), q, workload.Config{
		Batch: 1, Rule: iosetup.RuleFio, Pattern: workload.RandRead, Blocks: 64, NLB: 4, Runtime: 20 * time.Millisecond,
	})
	require.NoError(t, err)
	require.Positive(t, res.Total.OK)
	require.Equal(t, res.Total.Issued, res.Total.OK)
	slots, slbas, done := []int{0}, []uint64{8}, make([]uringcmd.Completion, 1)
	require.Zero(t, testing.AllocsPerRun(50, func() {
		if q.ReadBatch(slots, slbas, 4) != nil || q.Submit(1) != nil || q.Take(done) != 1 {
			panic("read")
		}
	}))
}

func TestPolls(t *testing.T) {
	for release, polls := range map[string]bool{"4.19.0": true, "5.18.17": true, "5.19.0": false, "6.1.0-50-cloud-amd64": false, "10.2": false, "": false} {
		require.Equal(t, polls, Polls(release), release)
	}
}
