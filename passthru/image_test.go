package passthru

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/fixedbuf"
	"github.com/nvmepass/nvmepass/internal/ringtest"
	"github.com/nvmepass/nvmepass/nvme"
)

var ne = binary.NativeEndian

// command is what one test publishes.
type command struct {
	write bool
	slot  int
	slba  uint64
	nlb   uint32
}

func (c command) publish(q *Queue) error {
	if c.write {
		return q.Write(c.slot, c.slba, c.nlb)
	}
	return q.Read(c.slot, c.slba, c.nlb)
}

// send publishes one command, reaps it and returns the whole entry that the
// kernel saw, with its user_data apart.
func send(t *testing.T, q *Queue, k *ringtest.Kernel, c command) (image []byte, userData uint64) {
	t.Helper()
	before := len(k.Consumed)
	require.NoError(t, c.publish(q))
	n, err := q.Reap(1, make([]Completion, 1))
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Len(t, k.Consumed, before+1)
	image = k.Consumed[before].Image
	userData = ne.Uint64(image[32:])
	ne.PutUint64(image[32:], 0)
	return image, userData
}

// expected is the whole entry of a command, put together from a command that
// was built afresh and the offsets of struct io_uring_sqe.
func expected(t *testing.T, q *Queue, c command) []byte {
	t.Helper()
	build := nvme.NewRead
	if c.write {
		build = nvme.NewWrite
	}
	cmd, err := build(q.dev.nsid, q.dev.layout, c.slba, c.nlb, q.optionsFor(q.dev))
	require.NoError(t, err)
	cmd.Addr = q.core.Bufs.Addr(c.slot)
	if cmd.MetadataLen > 0 {
		cmd.Metadata = q.core.Meta.Addr(c.slot)
	}
	b := make([]byte, 128)
	fd, flags := q.core.Target(c.slot)
	b[0], b[1] = 46, flags // IORING_OP_URING_CMD
	ne.PutUint32(b[4:], uint32(fd))
	ne.PutUint32(b[8:], 0xc0484e80) // cmd_op: NVME_URING_CMD_IO
	whole := int(cmd.DataLen) == q.Settings().BufferSize
	switch mode := q.Settings().FixedBuffers; {
	case mode == fixedbuf.Whole:
		ne.PutUint32(b[28:], 1) // uring_cmd_flags: IORING_URING_CMD_FIXED
	case mode == fixedbuf.PerSlot && whole:
		ne.PutUint32(b[28:], 1)
		ne.PutUint16(b[40:], uint16(c.slot)) // buf_index
	}
	require.NoError(t, cmd.Image(b[48:]))
	return b
}

var imageLayouts = map[string]nvme.Layout{
	"512":              lba512,
	"4096+64 extended": {LBASize: 4096, MetadataSize: 64, Extended: true},
	"4096+64 separate": {LBASize: 4096, MetadataSize: 64},
	"512+8 PRACT":      {LBASize: 512, MetadataSize: 8, PI: nvme.PIType1},
	"4096+64 PI":       {LBASize: 4096, MetadataSize: 64, Extended: true, PI: nvme.PIType1},
}

// perSlotOnly answers as a kernel does that cannot use a part of a registered
// buffer.
func perSlotOnly(size uint32) func(ringtest.Entry) (int32, uint64, bool) {
	return func(e ringtest.Entry) (int32, uint64, bool) {
		if ne.Uint32(e.Image[28:]) == 1 && ne.Uint32(e.Image[48+36:]) != size {
			return -int32(syscall.EINVAL), 0, true
		}
		return 0, 0, true
	}
}

// TestB37EntryIsWhatAFreshBuildGives: random sequences of reads and writes of
// changing length and slot, in memory that starts as 0xAA: the kernel always
// sees all 128 bytes as if the command had been built from nothing.
func TestB37EntryIsWhatAFreshBuildGives(t *testing.T) {
	shapes := map[string]struct {
		cfg     QueueConfig
		perSlot bool
		mode    fixedbuf.Mode
	}{
		"whole":      {mode: fixedbuf.Whole},
		"per slot":   {perSlot: true, mode: fixedbuf.PerSlot},
		"plain":      {cfg: QueueConfig{PlainBuffers: true}, mode: fixedbuf.Plain},
		"plain file": {cfg: QueueConfig{PlainFile: true}, mode: fixedbuf.Whole},
		"linear":     {cfg: QueueConfig{Linear: true}, mode: fixedbuf.Whole},
	}
	for layoutName, layout := range imageLayouts {
		for shapeName, shape := range shapes {
			t.Run(layoutName+"/"+shapeName, func(t *testing.T) {
				const blocks = 4
				d := nullDevice(layout)
				d.writable = true
				cfg := shape.cfg
				cfg.Depth, cfg.BufferSize = 5, int(layout.UnderPRACT().DataLen(blocks))
				k := &ringtest.Kernel{}
				if shape.perSlot {
					k.Answer = perSlotOnly(uint32(cfg.BufferSize))
				}
				d.kernel = k
				q := newQueue(t, d, cfg)
				require.Equal(t, shape.mode, q.Settings().FixedBuffers)
				require.Equal(t, !cfg.PlainFile, q.Settings().RegisteredFile)

				seen := map[uint64]bool{}
				rng := rand.New(rand.NewPCG(3, 7))
				for range 400 {
					c := command{rng.IntN(2) == 0, rng.IntN(5), rng.Uint64N(1<<40 - blocks), 1 + rng.Uint32N(blocks)}
					image, userData := send(t, q, k, c)
					require.Equal(t, expected(t, q, c), image, "%+v", c)
					require.EqualValues(t, c.slot, uint32(userData))
					require.False(t, seen[userData], "user_data repeats")
					seen[userData] = true
				}
			})
		}
	}
}

// TestB35PerSlotShortCommandGoesPlain: on a kernel with the sub-buffer fault a
// command shorter than its buffer carries no fixed flag and no index.
func TestB35PerSlotShortCommandGoesPlain(t *testing.T) {
	d := nullDevice(lba512)
	k := &ringtest.Kernel{Answer: perSlotOnly(2048)}
	d.kernel = k
	q := newQueue(t, d, QueueConfig{Depth: 3, BufferSize: 2048})
	require.Equal(t, fixedbuf.PerSlot, q.Settings().FixedBuffers)
	require.Contains(t, q.Settings().FixedReason, "whole")
	for _, c := range []struct {
		nlb          uint32
		flags, index int
	}{{4, 1, 2}, {1, 0, 0}, {4, 1, 2}, {3, 0, 0}} {
		image, _ := send(t, q, k, command{slot: 2, slba: 5, nlb: c.nlb})
		require.EqualValues(t, c.flags, ne.Uint32(image[28:]), "nlb %d", c.nlb)
		require.EqualValues(t, c.index, ne.Uint16(image[40:]), "nlb %d", c.nlb)
	}
}

// TestB11BlockCountIsOneNumber: the zero-based NLB field and every length come
// from one block count.
func TestB11BlockCountIsOneNumber(t *testing.T) {
	tests := []struct {
		layout            nvme.Layout
		bytes             int
		cdw12             uint32
		dataLen, metaLen  uint32
		hasMetadataBuffer bool
	}{
		{lba512, 4096, 7, 4096, 0, false},
		{lba512, 512, 0, 512, 0, false},
		{nvme.Layout{LBASize: 4096}, 131072, 31, 131072, 0, false},
		{nvme.Layout{LBASize: 4096, MetadataSize: 64, Extended: true}, 8320, 1, 8320, 0, false},
		{nvme.Layout{LBASize: 4096, MetadataSize: 64}, 8192, 1, 8192, 128, true},
		{nvme.Layout{LBASize: 512, MetadataSize: 8}, 2048, 3, 2048, 32, true},
		{nvme.Layout{LBASize: 512, MetadataSize: 8, Extended: true}, 520, 0, 520, 0, false},
		// PRACT (bit 29): the controller keeps the tuple to itself.
		{nvme.Layout{LBASize: 512, MetadataSize: 8, PI: nvme.PIType1}, 1024, 1<<29 | 1, 1024, 0, false},
		{nvme.Layout{LBASize: 512, MetadataSize: 8, PI: nvme.PIType1, Extended: true}, 1024, 1<<29 | 1, 1024, 0, false},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%s/bs=%d", tt.layout, tt.bytes), func(t *testing.T) {
			q, k := fakeQueue(t, nullDevice(tt.layout), QueueConfig{Depth: 2, BufferSize: tt.bytes, Guard: true}, nil)
			nlb := q.Settings().BlocksPerBuffer
			const slba = 0x1_0000_0002
			image, _ := send(t, q, k, command{slot: 1, slba: slba, nlb: nlb})
			cmd := image[48:]
			require.EqualValues(t, 2, cmd[0], "opcode")
			require.EqualValues(t, 7, ne.Uint32(cmd[4:]), "nsid")
			require.Equal(t, tt.metaLen, ne.Uint32(cmd[32:]), "metadata_len")
			require.Equal(t, tt.dataLen, ne.Uint32(cmd[36:]), "data_len")
			require.EqualValues(t, 2, ne.Uint32(cmd[40:]), "cdw10: low half of the SLBA")
			require.EqualValues(t, 1, ne.Uint32(cmd[44:]), "cdw11: high half")
			require.Equal(t, tt.cdw12, ne.Uint32(cmd[48:]), "cdw12")
			require.Equal(t, q.core.Bufs.Addr(1), ne.Uint64(cmd[24:]), "addr")
			require.Len(t, q.Buffer(1), tt.bytes)
			if !tt.hasMetadataBuffer {
				require.Zero(t, ne.Uint64(cmd[16:]), "metadata")
				require.Nil(t, q.Metadata(1))
			} else {
				require.Equal(t, q.core.Meta.Addr(1), ne.Uint64(cmd[16:]), "metadata")
				require.Len(t, q.Metadata(1), int(tt.metaLen))
			}
			require.NoError(t, q.CheckGuards())
		})
	}
}
