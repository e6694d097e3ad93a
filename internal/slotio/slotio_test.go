package slotio

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/fixedbuf"
	"github.com/nvmepass/nvmepass/internal/ringtest"
	"github.com/nvmepass/nvmepass/internal/uapi"
	"github.com/nvmepass/nvmepass/uringcmd"
)

func fine(*Queue) error { return nil }

// openFlags is what the kernel says of a descriptor.
func openFlags(t *testing.T, fd int) int {
	b, err := os.ReadFile(fmt.Sprintf("/proc/self/fdinfo/%d", fd))
	require.NoError(t, err)
	for line := range strings.SplitSeq(string(b), "\n") {
		if v, ok := strings.CutPrefix(line, "flags:"); ok {
			n, err := strconv.ParseInt(strings.TrimSpace(v), 8, 64)
			require.NoError(t, err)
			return int(n)
		}
	}
	t.Fatal("fdinfo without flags")
	return 0
}

// TestB31OpenFlags: O_DIRECT for block nodes alone, write access when asked
// for alone, and never handed to child processes.
func TestB31OpenFlags(t *testing.T) {
	path := filepath.Join(t.TempDir(), "disk")
	require.NoError(t, os.WriteFile(path, make([]byte, 4096), 0o600))
	for _, direct := range []bool{false, true} {
		for _, writable := range []bool{false, true} {
			q, err := Open(File{Path: path, Writable: writable, Direct: direct, Kernel: &ringtest.Kernel{}}, Options{Depth: 1, BufferSize: 512}, fine)
			if direct && errors.Is(err, syscall.EINVAL) {
				ringtest.Missing(t, "a file system with O_DIRECT for temporary files", err)
			}
			require.NoError(t, err)
			flags := openFlags(t, q.fds[0])
			require.Equal(t, direct, flags&syscall.O_DIRECT != 0)
			require.Equal(t, writable, flags&syscall.O_ACCMODE == syscall.O_RDWR)
			require.Equal(t, !writable, flags&syscall.O_ACCMODE == syscall.O_RDONLY)
			require.NotZero(t, flags&syscall.O_CLOEXEC)
			require.NoError(t, q.Close())
		}
	}
}

func descriptors(t *testing.T) int {
	list, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(list)
}

// TestFailedOpenLeavesNothing, wherever it fails.
func TestFailedOpenLeavesNothing(t *testing.T) {
	boom := errors.New("boom")
	tests := []struct {
		name  string
		file  File
		opt   Options
		prove func(*Queue) error
		is    error
		text  string
	}{
		{"no file", File{Path: "/dev/null/x"}, Options{Depth: 1, BufferSize: 1}, fine, syscall.ENOTDIR, "open /dev/null/x"},
		{"no ring", File{Path: os.DevNull, Kernel: &ringtest.Kernel{SetupErr: syscall.ENOMEM}}, Options{Depth: 1, BufferSize: 1}, fine, syscall.ENOMEM, "set up ring"},
		{"no slots", File{Path: os.DevNull}, Options{BufferSize: 1}, fine, nil, "0 slots"},
		{"no file table", File{Path: os.DevNull, Kernel: &ringtest.Kernel{RegisterErr: map[uint32]error{uapi.RegisterFiles: syscall.EMFILE}}}, Options{Depth: 1, BufferSize: 1}, fine, syscall.EMFILE, "register 1 files"},
		{"not enabled", File{Path: os.DevNull, Kernel: &ringtest.Kernel{RegisterErr: map[uint32]error{uapi.RegisterEnableRings: syscall.EBADF}}}, Options{Depth: 1, BufferSize: 1}, fine, syscall.EBADF, "enable"},
		{"no metadata arena", File{Path: os.DevNull, MetadataSize: fixedbuf.MaxArenaBytes + 1, Kernel: &ringtest.Kernel{}}, Options{Depth: 1, BufferSize: 1}, fine, nil, "limit"},
		{"no arena", File{Path: os.DevNull, MetadataSize: 8, Kernel: &ringtest.Kernel{}}, Options{Depth: 1, BufferSize: -1}, fine, nil, "at least 1"},
		{"no plain arena", File{Path: os.DevNull, Kernel: &ringtest.Kernel{}}, Options{Depth: 1, PlainBuffers: true}, fine, nil, "at least 1"},
		{"proof fails", File{Path: os.DevNull, Kernel: &ringtest.Kernel{}}, Options{Depth: 1, BufferSize: 1}, func(*Queue) error { return boom }, boom, "boom"},
		{"plain proof fails", File{Path: os.DevNull, Kernel: &ringtest.Kernel{}}, Options{Depth: 1, BufferSize: 1, PlainBuffers: true}, func(*Queue) error { return boom }, boom, "boom"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := descriptors(t)
			_, err := Open(tt.file, tt.opt, tt.prove)
			require.ErrorContains(t, err, tt.text)
			if tt.is != nil {
				require.ErrorIs(t, err, tt.is)
			}
			if k, ok := tt.file.Kernel.(*ringtest.Kernel); ok && k.SetupErr == nil {
				require.Equal(t, 1, k.Closed)
				require.Equal(t, 2, k.Unmapped)
			}
			require.Equal(t, before, descriptors(t))
		})
	}
}

// TestB33FallsBackAndSaysSo: every kind of registration that is refused shows
// in the settings, and the proof runs with what is then in use.
func TestB33FallsBackAndSaysSo(t *testing.T) {
	var modes []fixedbuf.Mode
	prove := func(q *Queue) error {
		modes = append(modes, q.Bufs.Mode())
		if q.Bufs.Mode() != fixedbuf.Plain {
			return syscall.EINVAL
		}
		return nil
	}
	q, err := Open(File{Path: os.DevNull, Kernel: &ringtest.Kernel{}}, Options{Depth: 2, BufferSize: 512}, prove)
	require.NoError(t, err)
	require.Equal(t, []fixedbuf.Mode{fixedbuf.Whole, fixedbuf.PerSlot, fixedbuf.Plain}, modes)
	s := q.Settings()
	require.Equal(t, fixedbuf.Plain, s.FixedBuffers)
	require.Contains(t, s.FixedReason, "per-slot")
	require.NoError(t, q.Close())

	k := &ringtest.Kernel{RegisterErr: map[uint32]error{uapi.RegisterBuffers: syscall.ENOMEM}}
	q, err = Open(File{Path: os.DevNull, Kernel: k}, Options{Depth: 2, BufferSize: 512}, fine)
	require.NoError(t, err)
	require.Equal(t, fixedbuf.Plain, q.Settings().FixedBuffers)
	require.Contains(t, q.Settings().FixedReason, "cannot allocate memory")
	require.NoError(t, q.Close())
}

// TestB03CloseFromElsewhere leaves the queue as it is.
func TestB03CloseFromElsewhere(t *testing.T) {
	q, err := Open(File{Path: os.DevNull, Kernel: &ringtest.Kernel{}}, Options{Depth: 1, BufferSize: 512}, fine)
	require.NoError(t, err)
	elsewhere := make(chan error)
	go func() { elsewhere <- q.Close() }()
	require.ErrorIs(t, <-elsewhere, uringcmd.ErrWrongThread)
	require.False(t, q.Closed())
	require.Len(t, q.Data(0), 512)
	require.NoError(t, q.Close())
	require.True(t, q.Closed())
}

// TestKeepMemory: what Close leaves mapped can be touched by who still has it.
func TestKeepMemory(t *testing.T) {
	q, err := Open(File{Path: os.DevNull, MetadataSize: 8, Kernel: &ringtest.Kernel{}}, Options{Depth: 2, BufferSize: 512}, fine)
	require.NoError(t, err)
	data, metadata := q.Data(1), q.Metadata(1)
	q.KeepMemory()
	require.NoError(t, q.Close())
	require.Nil(t, q.Data(1))
	require.Nil(t, q.Metadata(1))
	clear(data)
	clear(metadata)
}

func TestOneSaysWhenNothingComes(t *testing.T) {
	q, err := Open(File{Path: os.DevNull, Kernel: &ringtest.Kernel{}}, Options{Depth: 1, BufferSize: 512}, fine)
	require.NoError(t, err)
	_, err = q.One()
	require.ErrorContains(t, err, "did not complete")
	require.NoError(t, q.Close())
}
