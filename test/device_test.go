package test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/passthru"
)

// reopen opens the same namespace with other settings.
func reopen(t *testing.T, d *passthru.Device, cfg passthru.Config) *passthru.Device {
	t.Helper()
	n, err := passthru.Open(d.Path(), &cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	return n
}

// TestDeviceAnySize writes and reads at random offsets and lengths, through
// small bounce buffers so that most transfers are split, against a copy in
// memory.
func TestDeviceAnySize(t *testing.T) {
	for _, poll := range []bool{false, true} {
		for _, w := range []want{{lba: 512, poll: 1, write: true}, {lba: 4096, poll: 1, write: true}, {lba: 4096, ms: 64, extended: true, poll: 1, write: true}} {
			t.Run(fmt.Sprintf("%v/poll=%v", w, poll), func(t *testing.T) {
				found := device(t, w)
				unit := int(found.DataLayout().Unit())
				d := reopen(t, found, passthru.Config{Writable: true, Depth: 8, BufferSize: 4 * unit, Poll: poll})
				const blocks = 512
				shadow := make([]byte, blocks*unit)
				_, err := d.WriteAt(shadow, 0)
				require.NoError(t, err)
				rng := rand.New(rand.NewPCG(7, 7))
				for i := range 150 {
					at, n := rng.IntN(blocks), 1+rng.IntN(64)
					n = min(n, blocks-at)
					data := shadow[at*unit : (at+n)*unit]
					for j := range data {
						data[j] = byte(j + i)
					}
					if i%3 == 0 && n > 1 {
						cut := 1 + rng.IntN(len(data)-1)
						_, err = d.WriteVAtContext(context.Background(), [][]byte{data[:cut], nil, data[cut:]}, int64(at*unit))
					} else {
						_, err = d.WriteAt(data, int64(at*unit))
					}
					require.NoError(t, err)
					off := rng.IntN(len(shadow))
					got := make([]byte, rng.IntN(min(len(shadow)-off, 70*unit)+1))
					if i%2 == 0 && len(got) > 2 {
						cut := rng.IntN(len(got))
						_, err = d.ReadVAtContext(context.Background(), [][]byte{got[:cut], got[cut:]}, int64(off))
					} else {
						_, err = d.ReadAt(got, int64(off))
					}
					require.NoError(t, err)
					requireSame(t, shadow[off:off+len(got)], got, off)
				}
			})
		}
	}
}

// requireSame names the first byte that differs.
func requireSame(t *testing.T, want, got []byte, off int) {
	t.Helper()
	for i := range want {
		if want[i] != got[i] {
			t.Fatalf("%d bytes at %d: byte %d is %#x, not %#x", len(got), off, i, got[i], want[i])
		}
	}
}

// TestDeviceEnds: io.ReaderAt at the end, refusals of writes that do not fit.
func TestDeviceEnds(t *testing.T) {
	d := device(t, want{lba: 512, write: true})
	size := d.Size()
	buf := make([]byte, 1024)
	n, err := d.ReadAt(buf, size-512)
	require.Equal(t, 512, n)
	require.Equal(t, io.EOF, err)
	n, err = d.ReadAt(buf, size)
	require.Zero(t, n)
	require.Equal(t, io.EOF, err)
	n, err = d.ReadAt(nil, 0)
	require.Zero(t, n)
	require.NoError(t, err)
	_, err = d.ReadAt(buf, -1)
	require.ErrorContains(t, err, "negative")
	for _, off := range []int64{size - 512, size, 1, 100} {
		n, err = d.WriteAt(buf, off)
		require.Error(t, err)
		require.Zero(t, n)
	}
	_, err = d.WriteAt(buf[:100], 0)
	require.ErrorContains(t, err, "multiples of the block size 512")
	read := reopen(t, d, passthru.Config{})
	_, err = read.WriteAt(buf, 0)
	require.ErrorIs(t, err, passthru.ErrReadOnly)
	whole, err := io.Copy(io.Discard, io.NewSectionReader(read, 0, 4<<20))
	require.NoError(t, err)
	require.EqualValues(t, 4<<20, whole)
}

// TestThousandGoroutines: mixed reads and writes through one Device, cancelled
// at random. Every operation ends once, data is right, nothing leaks.
func TestThousandGoroutines(t *testing.T) {
	found := device(t, want{lba: 512, poll: 1, write: true})
	const workers, span = 1000, 32 // blocks of each worker's own
	for _, cfg := range []passthru.Config{
		{Writable: true, Depth: 64, BufferSize: 8 * 512},
		{Writable: true, Depth: 64, BufferSize: 8 * 512, Workers: 3},
		{Writable: true, Depth: 64, BufferSize: 8 * 512, Poll: true},
	} {
		t.Run(fmt.Sprintf("workers=%d/poll=%v", cfg.Workers, cfg.Poll), func(t *testing.T) {
			before := resources(t)
			d, err := passthru.Open(found.Path(), &cfg)
			require.NoError(t, err)
			var ended, cancelled, mismatches atomic.Int64
			var wg sync.WaitGroup
			for w := range workers {
				wg.Go(func() {
					rng := rand.New(rand.NewPCG(uint64(w), 1))
					base := int64(w) * span * 512
					mine := make([]byte, span*512)
					known := false // a cancelled write leaves blocks in doubt
					buf := make([]byte, span*512)
					for i := range 12 {
						ctx, cancel := context.Background(), func() {}
						if rng.IntN(4) == 0 {
							ctx, cancel = context.WithTimeout(ctx, time.Duration(rng.IntN(3000))*time.Microsecond)
						}
						var err error
						if i%2 == 0 {
							for j := range buf {
								buf[j] = byte(j*w + i)
							}
							if _, err = d.WriteAtContext(ctx, buf, base); err == nil {
								copy(mine, buf)
							}
							if known = err == nil; !known {
								// What is still on its way must not land later.
								if _, werr := d.WriteAt(buf, base); werr == nil {
									time.Sleep(50 * time.Millisecond)
									_, werr = d.WriteAt(buf, base)
									copy(mine, buf)
									known = werr == nil
								}
							}
						} else {
							clear(buf)
							if _, err = d.ReadAtContext(ctx, buf, base); err == nil && known && !bytes.Equal(mine, buf) {
								mismatches.Add(1)
							}
						}
						cancel()
						ended.Add(1)
						switch {
						case errors.Is(err, context.DeadlineExceeded):
							cancelled.Add(1)
						case err != nil:
							t.Errorf("worker %d: %v", w, err)
							return
						}
					}
				})
			}
			wg.Wait()
			require.EqualValues(t, workers*12, ended.Load())
			require.Zero(t, mismatches.Load())
			t.Logf("%d operations, %d cancelled, 0 mismatches", ended.Load(), cancelled.Load())
			require.NoError(t, d.Close())
			_, err = d.ReadAt(make([]byte, 512), 0)
			require.Error(t, err)
			settle()
			after := resources(t)
			require.LessOrEqual(t, after.fds, before.fds)
			require.LessOrEqual(t, after.goroutines, before.goroutines)
			require.LessOrEqual(t, after.lockedKB, before.lockedKB)
			if !raceDetector {
				require.LessOrEqual(t, after.maps, before.maps+16)
			}
		})
	}
}

// TestDeviceAllocatesNothing per operation, once it is warm.
func TestDeviceAllocatesNothing(t *testing.T) {
	found := device(t, want{lba: 512, poll: 1, write: true})
	for _, poll := range []bool{false, true} {
		d := reopen(t, found, passthru.Config{Writable: true, Poll: poll})
		buf := make([]byte, 4096)
		ctx := t.Context()
		op := func() {
			if _, err := d.ReadAt(buf, 4096); err != nil {
				t.Error(err)
			}
			if _, err := d.WriteAtContext(ctx, buf, 4096); err != nil {
				t.Error(err)
			}
		}
		op()
		runtime.GC()
		require.Zero(t, testing.AllocsPerRun(100, op), "poll=%v", poll)
	}
}

// TestDeviceCloseWhileBusy: Close waits for what is in flight, and later calls
// are refused.
func TestDeviceCloseWhileBusy(t *testing.T) {
	found := device(t, want{serial: "slow", ms: 0})
	d, err := passthru.Open(found.Path(), nil)
	require.NoError(t, err)
	results := make(chan error, 64)
	for i := range 64 {
		go func() {
			_, err := d.ReadAt(make([]byte, 512), int64(i)*512)
			results <- err
		}()
	}
	time.Sleep(30 * time.Millisecond)
	require.NoError(t, d.Close())
	closed := 0
	for range 64 {
		if err := <-results; err != nil {
			closed++
		}
	}
	require.Less(t, closed, 64)
	require.NoError(t, d.Close())
}
