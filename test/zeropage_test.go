package test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/nvme"
	"github.com/nvmepass/nvmepass/passthru"
)

// TestB49FreshMemoryStaysZero: kernels were seen to let the drive store the
// metadata of a read in the page of zeros that all processes share, if the
// buffer was never written to. Every way to read goes through buffers that are
// new here, with metadata on the drive that would show.
func TestB49FreshMemoryStaysZero(t *testing.T) {
	all, _ := layouts()
	ctx := context.Background()
	for _, l := range all {
		if l.MetadataSize == 0 || l.Extended || l.PI != nvme.PINone {
			continue
		}
		t.Run(l.String(), func(t *testing.T) {
			found := layoutDevice(t, l)
			const n = 16
			data, meta := buffers(rand.New(rand.NewPCG(1, 2)), l, n)
			require.NoError(t, found.WriteBlocks(ctx, 0, data, meta, nvme.IOOptions{}))
			byBytes := func(t *testing.T, d *passthru.Device) {
				got := make([]byte, len(data))
				_, err := d.ReadAt(got, 0)
				require.NoError(t, err)
				require.True(t, bytes.Equal(data, got))
			}
			for _, way := range []struct {
				name string
				read func(t *testing.T, d *passthru.Device)
			}{
				{"by bytes", byBytes},
				{"by blocks", func(t *testing.T, d *passthru.Device) {
					got, gotMeta := make([]byte, len(data)), make([]byte, len(meta))
					require.NoError(t, d.ReadBlocks(ctx, 0, got, gotMeta, nvme.IOOptions{}))
					require.True(t, bytes.Equal(meta, gotMeta))
				}},
				{"by a queue", func(t *testing.T, d *passthru.Device) {
					q, err := d.NewQueue(passthru.QueueConfig{Depth: 2, BufferSize: len(data)})
					require.NoError(t, err)
					defer func() { require.NoError(t, q.Close()) }()
					for range 2 { // the second time, entries are ready
						for slot := range 2 {
							require.NoError(t, q.Read(slot, 0, n))
						}
						done := make([]passthru.Completion, 2)
						for got := 0; got < 2; {
							k, err := q.Reap(1, done)
							require.NoError(t, err)
							for _, c := range done[:k] {
								require.NoError(t, q.Err(c))
								require.True(t, bytes.Equal(meta, q.Metadata(c.Slot)[:len(meta)]))
							}
							got += k
						}
					}
				}},
				{"by ioctl", func(t *testing.T, d *passthru.Device) {
					if disableRing(t) {
						byBytes(t, reopen(t, d, passthru.Config{Depth: 4, AllowIoctl: true}))
					}
				}},
			} {
				t.Run(way.name, func(t *testing.T) {
					way.read(t, reopen(t, found, passthru.Config{Depth: 4}))
					requireZeroPage(t)
				})
			}
		})
	}
}

// requireZeroPage fails if memory that was never written to is not zero.
func requireZeroPage(t *testing.T) {
	t.Helper()
	fresh, err := syscall.Mmap(-1, 0, os.Getpagesize(), syscall.PROT_READ, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	require.NoError(t, err)
	defer func() { require.NoError(t, syscall.Munmap(fresh)) }()
	require.Equal(t, len(fresh), bytes.Count(fresh, []byte{0}), "bytes of new memory that are zero")
}
