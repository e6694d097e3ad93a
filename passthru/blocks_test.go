package passthru

import (
	"bytes"
	"context"
	"errors"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/ringtest"
	"github.com/nvmepass/nvmepass/internal/uapi"
	"github.com/nvmepass/nvmepass/nvme"
)

// oneSlotDrive answers the commands of a Device with one slot: what a write
// brought, a read returns.
type oneSlotDrive struct {
	dev        *Device
	last       nvme.Command
	data, meta []byte
}

func (m *oneSlotDrive) answer(e ringtest.Entry) (int32, uint64, bool) {
	engine := m.dev.running.Load()
	if engine == nil {
		return 0, 0, true // the reads that prove the buffers
	}
	m.last, _ = nvme.DecodeCommand(e.Image[uapi.CmdOffset:])
	s := &engine.slots[0]
	addr, metadata := s.worker.q.core.Bufs.Addr(0), uint64(0)
	if s.big != nil {
		addr = s.big.Addr(0)
	}
	switch {
	case s.more != nil:
		metadata = s.more.Addr(0)
	case s.worker.q.core.Meta != nil:
		metadata = s.worker.q.core.Meta.Addr(0)
	}
	if m.last.DataLen > 0 && m.last.Addr != addr || m.last.MetadataLen > 0 && m.last.Metadata != metadata {
		return -int32(syscall.EFAULT), 0, true
	}
	data, meta := engine.data(0)[:m.last.DataLen], engine.metadata(0)[:m.last.MetadataLen]
	if m.last.Opcode == nvme.OpRead {
		copy(data, m.data)
		copy(meta, m.meta)
	} else {
		m.data, m.meta = bytes.Clone(data), bytes.Clone(meta)
	}
	return 0, 0, true
}

// TestBlocksDeriveEverything: one length of data yields NLB, data_len and
// metadata_len, with and without PRACT, and the bytes of both buffers arrive,
// also where they are larger than the Device's own.
func TestBlocksDeriveEverything(t *testing.T) {
	ctx := context.Background()
	for _, l := range []nvme.Layout{
		{LBASize: 512},
		{LBASize: 512, MetadataSize: 8},
		{LBASize: 4096, MetadataSize: 64, Extended: true},
		{LBASize: 512, MetadataSize: 8, PI: nvme.PIType1},
		{LBASize: 512, MetadataSize: 8, Extended: true, PI: nvme.PIType1},
		{LBASize: 512, MetadataSize: 64, PI: nvme.PIType2, PIFormat: nvme.Guard64},
	} {
		for _, pract := range []bool{false, true} {
			if pract && l.PI == nvme.PINone {
				continue
			}
			var m oneSlotDrive
			d := engineDevice(t, Config{Depth: 1, BufferSize: 4 * int(l.UnderPRACT().Unit()), Poll: true}, &ringtest.Kernel{Answer: m.answer})
			d.layout, m.dev = l, d
			for _, n := range []uint32{1, 4, 100} {
				host := d.BlockLayout(pract)
				data, meta := bytes.Repeat([]byte{byte(n)}, int(host.DataLen(n))), bytes.Repeat([]byte{byte(n + 1)}, int(host.MetadataLen(n)))
				require.NoError(t, d.WriteBlocks(ctx, 77, data, meta, nvme.IOOptions{PRACT: pract, FUA: true}))
				require.Equal(t, nvme.OpWrite, m.last.Opcode)
				require.Equal(t, n, m.last.NLB())
				require.EqualValues(t, 77, m.last.SLBA())
				require.True(t, m.last.FUA())
				require.Equal(t, pract, m.last.PRACT())
				require.True(t, bytes.Equal(data, m.data))
				require.True(t, bytes.Equal(meta, m.meta))
				gotData, gotMeta := make([]byte, len(data)), make([]byte, len(meta))
				require.NoError(t, d.ReadBlocks(ctx, 77, gotData, gotMeta, nvme.IOOptions{PRACT: pract}))
				require.True(t, bytes.Equal(data, gotData) && bytes.Equal(meta, gotMeta))
				if !pract { // compare has none
					require.NoError(t, d.CompareBlocks(ctx, 77, data, meta, nvme.IOOptions{}))
					require.Equal(t, nvme.OpCompare, m.last.Opcode)
				}
			}
			require.NoError(t, d.Close())
		}
	}
}

// TestBlocksRefuse names what does not fit, and the layout.
func TestBlocksRefuse(t *testing.T) {
	ctx := context.Background()
	d := engineDevice(t, Config{}, &ringtest.Kernel{SetupErr: errors.New("no ring must be made")})
	d.layout = nvme.Layout{LBASize: 4096, MetadataSize: 64, Extended: true, PI: nvme.PIType1}
	d.limits.MaxTransfer = 128 << 10
	tests := map[string]struct {
		slba       uint64
		data, meta int
		o          nvme.IOOptions
	}{
		"read " + os.DevNull + ": data of 4096 bytes at block 0x0: block size 4096 is not a multiple of 4160 (4096 data + 64 metadata) of layout 4096+64 extended PI type 1 guard 16": {0, 4096, 0, nvme.IOOptions{}},
		"data of 0 bytes": {0, 0, 0, nvme.IOOptions{}},
		"32 blocks at 0x7: one command moves at most 31 of layout 4096+64 extended PI type 1 guard 16 (131072 bytes); split them": {7, 32 * 4160, 0, nvme.IOOptions{}},
		"64 bytes of metadata for 1 blocks at 0x0: layout 4096+64 extended PI type 1 guard 16 takes 0":                            {0, 4160, 64, nvme.IOOptions{}},
		"beyond the namespace's 1099511627776 blocks":                                                                             {1<<40 - 1, 2 * 4160, 0, nvme.IOOptions{}},
		"reftag: 0x5 given, but with protection type 1 it follows":                                                                {0, 4160, 0, nvme.IOOptions{RefTag: 5}},
		"prinfo: PRCHK 8 is beyond 7":                           {0, 4160, 0, nvme.IOOptions{PRCHK: 8}},
		"dtype: directive 1: only commands that write take one": {0, 4160, 0, nvme.IOOptions{Directive: nvme.DirectiveStreams}},
	}
	for want, tt := range tests {
		require.ErrorContains(t, d.ReadBlocks(ctx, tt.slba, make([]byte, tt.data), make([]byte, tt.meta), tt.o), want)
	}
	d.writable = false
	require.ErrorIs(t, d.WriteBlocks(ctx, 0, make([]byte, 4160), nil, nvme.IOOptions{}), ErrReadOnly)
	require.NoError(t, d.Close())
}

// TestMetadataLimit: above MaxMetadata some kernels crash, so that nothing of
// this package sends more, by default or on demand.
func TestMetadataLimit(t *testing.T) {
	d := engineDevice(t, Config{}, nil)
	d.layout = nvme.Layout{LBASize: 512, MetadataSize: 64}
	most := uint32(MaxMetadata / 64)
	require.ErrorContains(t, d.ReadBlocks(t.Context(), 0, make([]byte, (most+1)*512), make([]byte, (most+1)*64), nvme.IOOptions{}), "at most 192")
	cmd, err := nvme.NewRead(d.nsid, d.layout, 0, most+1, nvme.IOOptions{})
	require.NoError(t, err)
	_, err = d.DoMetadata(t.Context(), cmd, make([]byte, cmd.DataLen), make([]byte, cmd.MetadataLen))
	require.ErrorContains(t, err, "12288")
	_, err = d.NewQueue(QueueConfig{Depth: 1, BufferSize: int(most+1) * 512})
	require.ErrorContains(t, err, "192 blocks")
	_, err = d.ReadAt(make([]byte, 1<<20), 0)
	require.NoError(t, err)
	require.LessOrEqual(t, d.running.Load().blocks, most)
	require.NoError(t, d.Close())
}
