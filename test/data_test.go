package test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/fixedbuf"
	"github.com/nvmepass/nvmepass/passthru"
	"github.com/nvmepass/nvmepass/uringcmd"
)

// stamp fills b, one logical block, with a pattern that no other block and no
// other round has.
func stamp(b []byte, lba, round uint64) {
	x := lba*0x9e3779b97f4a7c15 ^ round*0xd1b54a32d192ed03
	for i := 0; i+8 <= len(b); i += 8 {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		binary.LittleEndian.PutUint64(b[i:], x)
	}
	binary.LittleEndian.PutUint64(b, lba)
}

// forEach runs op for every command of nlb blocks in [0, blocks), with many in
// flight, and calls after with each one's slot and SLBA when it has ended well.
func forEach(t *testing.T, q queue, blocks uint64, nlb uint32, op func(slot int, slba uint64) error, after func(slot int, slba uint64)) {
	t.Helper()
	done := make([]uringcmd.Completion, q.Depth())
	slbaOf := make([]uint64, q.Depth())
	free := make([]int, q.Depth())
	for i := range free {
		free[i] = i
	}
	for next := uint64(0); next+uint64(nlb) <= blocks || q.InFlight() > 0; {
		for len(free) > 0 && next+uint64(nlb) <= blocks {
			slot := free[len(free)-1]
			free = free[:len(free)-1]
			slbaOf[slot] = next
			require.NoError(t, op(slot, next))
			next += uint64(nlb)
		}
		n, err := q.Reap(1, done)
		require.NoError(t, err)
		for _, c := range done[:n] {
			require.NoError(t, q.Err(c))
			after(c.Slot, slbaOf[c.Slot])
			free = append(free, c.Slot)
		}
	}
}

// TestDataIsRight writes a pattern through each of the four paths and reads it
// back through each: 16 pairs, for 512 and 4096-byte blocks, with fixed buffers
// on and off, and with canaries around every slot.
func TestDataIsRight(t *testing.T) {
	const slots = 16
	round := uint64(0)
	for _, lba := range []uint32{512, 4096} {
		for _, nlb := range []uint32{1, 8} {
			for _, plain := range []bool{false, true} {
				t.Run(fmt.Sprintf("lba=%d/blocks=%d/fixed=%v", lba, nlb, !plain), func(t *testing.T) {
					d := device(t, want{lba: lba, poll: 1, write: true})
					require.NotEmpty(t, d.BlockPath())
					blocks := min(d.Limits().Blocks, 4<<20/uint64(lba))
					cfg := passthru.QueueConfig{Depth: slots, BufferSize: int(nlb * lba), Guard: true, PlainBuffers: plain}
					pairs := 0
					for _, writer := range paths {
						round++
						owned(t, func(t *testing.T) {
							q, err := openPath(d, writer, cfg)
							require.NoError(t, err)
							forEach(t, q, blocks, nlb, func(slot int, slba uint64) error {
								for i := range uint64(nlb) {
									stamp(q.Buffer(slot)[i*uint64(lba):(i+1)*uint64(lba)], slba+i, round)
								}
								return q.Write(slot, slba, nlb)
							}, func(int, uint64) {})
							require.NoError(t, q.CheckGuards())
							require.NoError(t, q.Close())
						})
						for _, reader := range paths {
							owned(t, func(t *testing.T) {
								q, err := openPath(d, reader, cfg)
								require.NoError(t, err)
								require.Equal(t, plain, q.Settings().FixedBuffers == fixedbuf.Plain, q.Settings().FixedReason)
								want := make([]byte, lba)
								mismatches, seen := 0, uint64(0)
								forEach(t, q, blocks, nlb, func(slot int, slba uint64) error {
									clear(q.Buffer(slot))
									return q.Read(slot, slba, nlb)
								}, func(slot int, slba uint64) {
									for i := range uint64(nlb) {
										stamp(want, slba+i, round)
										if !bytes.Equal(want, q.Buffer(slot)[i*uint64(lba):(i+1)*uint64(lba)]) {
											mismatches++
										}
										seen++
									}
								})
								require.Zero(t, mismatches, "written by %s, read by %s", writer, reader)
								require.Equal(t, blocks, seen)
								require.NoError(t, q.CheckGuards())
								require.NoError(t, q.Close())
							})
							pairs++
						}
					}
					require.Equal(t, 16, pairs)
					t.Logf("%d pairs, %d blocks each, 0 mismatches", pairs, blocks)
				})
			}
		}
	}
}

// TestB11CanariesAroundLargeReads reads the largest commands into guarded slots.
func TestB11CanariesAroundLargeReads(t *testing.T) {
	for _, w := range []want{{lba: 512}, {lba: 4096}, {lba: 4096, ms: 64, extended: true}, {lba: 512, ms: 8}} {
		t.Run(w.String(), func(t *testing.T) {
			d := device(t, w)
			unit := d.Layout().UnderPRACT().Unit()
			nlb := min(d.Limits().MaxBlocks, 131072/unit)
			owned(t, func(t *testing.T) {
				q, err := d.NewQueue(passthru.QueueConfig{Depth: 32, BufferSize: int(nlb * unit), Guard: true})
				require.NoError(t, err)
				forEach(t, q, min(d.Limits().Blocks, uint64(nlb)*64), nlb, func(slot int, slba uint64) error { return q.Read(slot, slba, nlb) }, func(int, uint64) {})
				forEach(t, q, 64, 1, func(slot int, slba uint64) error { return q.Read(slot, slba, 1) }, func(int, uint64) {})
				require.NoError(t, q.CheckGuards())
				require.NoError(t, q.Close())
			})
		})
	}
}

// TestB09PageAlignment: commands of many pages work from every slot.
func TestB09PageAlignment(t *testing.T) {
	for _, tt := range []struct {
		w    want
		size int
	}{
		{want{lba: 4096}, 131072},
		{want{lba: 4096}, 4096},
		{want{lba: 512}, 131072},
		{want{lba: 4096, ms: 64, extended: true}, 4160},
		{want{lba: 4096, ms: 64, extended: true}, 31 * 4160},
	} {
		t.Run(fmt.Sprintf("%v/bs=%d", tt.w, tt.size), func(t *testing.T) {
			d := device(t, tt.w)
			owned(t, func(t *testing.T) {
				q, err := d.NewQueue(passthru.QueueConfig{Depth: 32, BufferSize: tt.size})
				require.NoError(t, err)
				nlb := q.Settings().BlocksPerBuffer
				forEach(t, q, uint64(nlb)*128, nlb, func(slot int, slba uint64) error { return q.Read(slot, slba, nlb) }, func(int, uint64) {})
				require.NoError(t, q.Close())
			})
		})
	}
}

// TestB07OddUnits: block sizes are multiples of data plus metadata.
func TestB07OddUnits(t *testing.T) {
	d := device(t, want{lba: 4096, ms: 64, extended: true})
	for size, ok := range map[int]bool{4160: true, 8320: true, 12480: true, 8192: false, 4096: false, 512: false} {
		owned(t, func(t *testing.T) {
			q, err := d.NewQueue(passthru.QueueConfig{Depth: 2, BufferSize: size})
			if !ok {
				require.ErrorContains(t, err, "4160 (4096 data + 64 metadata)")
				return
			}
			require.NoError(t, err)
			nlb := q.Settings().BlocksPerBuffer
			require.Equal(t, size/4160, int(nlb))
			forEach(t, q, uint64(nlb)*8, nlb, func(slot int, slba uint64) error { return q.Read(slot, slba, nlb) }, func(int, uint64) {})
			require.NoError(t, q.Close())
		})
	}
}

// TestMetadataRoundTrip: what is written beside the data comes back, in both
// layouts.
func TestMetadataRoundTrip(t *testing.T) {
	for _, w := range []want{{lba: 4096, ms: 64, extended: true, write: true}, {lba: 512, ms: 64, write: true}} {
		t.Run(w.String(), func(t *testing.T) {
			d := device(t, w)
			owned(t, func(t *testing.T) {
				q, err := d.NewQueue(passthru.QueueConfig{Depth: 8, BufferSize: int(4 * d.Layout().Unit()), Guard: true})
				require.NoError(t, err)
				const blocks = 64
				mark := func(b []byte, slba uint64) {
					for i := range b {
						b[i] = byte(uint64(i)*7 + slba*13)
					}
				}
				forEach(t, q, blocks, 4, func(slot int, slba uint64) error {
					mark(q.Buffer(slot), slba)
					mark(q.Metadata(slot), slba+1)
					return q.Write(slot, slba, 4)
				}, func(int, uint64) {})
				forEach(t, q, blocks, 4, func(slot int, slba uint64) error {
					clear(q.Buffer(slot))
					clear(q.Metadata(slot))
					return q.Read(slot, slba, 4)
				}, func(slot int, slba uint64) {
					data := make([]byte, len(q.Buffer(slot)))
					mark(data, slba)
					require.True(t, bytes.Equal(data, q.Buffer(slot)))
					meta := make([]byte, len(q.Metadata(slot)))
					mark(meta, slba+1)
					require.True(t, bytes.Equal(meta, q.Metadata(slot)))
				})
				require.NoError(t, q.CheckGuards())
				require.NoError(t, q.Close())
			})
		})
	}
}

// TestProtectedNamespace: with protection information that fills the metadata,
// the controller inserts and strips it, and the data is as long as a block.
func TestProtectedNamespace(t *testing.T) {
	d := device(t, want{lba: 512, ms: 8, write: true})
	require.NotZero(t, d.Layout().PI)
	owned(t, func(t *testing.T) {
		q, err := d.NewQueue(passthru.QueueConfig{Depth: 4, BufferSize: 2048, Guard: true})
		require.NoError(t, err)
		require.Equal(t, uint32(4), q.Settings().BlocksPerBuffer)
		want := make([]byte, 2048)
		forEach(t, q, 256, 4, func(slot int, slba uint64) error {
			stamp(q.Buffer(slot), slba, 7)
			return q.Write(slot, slba, 4)
		}, func(int, uint64) {})
		forEach(t, q, 256, 4, func(slot int, slba uint64) error {
			clear(q.Buffer(slot))
			return q.Read(slot, slba, 4)
		}, func(slot int, slba uint64) {
			stamp(want, slba, 7)
			require.True(t, bytes.Equal(want, q.Buffer(slot)))
		})
		require.NoError(t, q.CheckGuards())
		require.NoError(t, q.Close())
	})
}
