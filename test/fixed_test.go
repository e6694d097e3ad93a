package test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/fixedbuf"
	"github.com/nvmepass/nvmepass/internal/sys"
	"github.com/nvmepass/nvmepass/passthru"
)

// TestB35FixedBufferFlags: with registered buffers and with plain ones, small
// and as large as one command can be, each path reads what was written.
func TestB35FixedBufferFlags(t *testing.T) {
	d := device(t, want{lba: 512, ms: 0, poll: 1, write: true})
	// What surely fits into the driver's segments, wherever its pages are.
	largest := int(min(d.Limits().MaxTransfer, uint64(d.Limits().MaxSegments*sys.PageSize())))
	pattern := make([]byte, largest)
	for i := range pattern {
		pattern[i] = byte(i) ^ byte(i>>9) ^ 0x5a
	}
	_, err := d.WriteAt(pattern, 0)
	require.NoError(t, err)
	for _, path := range paths {
		for _, size := range []int{4096, largest} {
			for _, plain := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/bs=%d/plain=%v", path, size, plain), func(t *testing.T) {
					owned(t, func(t *testing.T) {
						q, err := openPath(d, path, passthru.QueueConfig{Depth: 2, BufferSize: size, PlainBuffers: plain, Guard: true})
						require.NoError(t, err)
						s := q.Settings()
						require.Equal(t, plain, s.FixedBuffers == fixedbuf.Plain, s.FixedReason)
						if !plain && kernelSince(t, 6, 12) { // older ones cannot always use part of a buffer
							require.Equal(t, fixedbuf.Whole, s.FixedBuffers, s.FixedReason)
						}
						done := make([]passthru.Completion, 2)
						for slot := range 2 {
							clear(q.Buffer(slot))
							require.NoError(t, q.Read(slot, 0, uint32(size/512)))
							n, err := q.Reap(1, done)
							require.NoError(t, err)
							require.Equal(t, 1, n)
							require.NoError(t, q.Err(done[0]))
							requireSame(t, pattern[:size], q.Buffer(slot)[:size], 0)
						}
						require.NoError(t, q.CheckGuards())
						require.NoError(t, q.Close())
					})
				})
			}
		}
	}
}
