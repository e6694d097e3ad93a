package passthru

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/ringtest"
	"github.com/nvmepass/nvmepass/internal/uapi"
	"github.com/nvmepass/nvmepass/nvme"
)

// agreement says by the specification's own words whether a command's fields
// fit each other, the namespace and the caller's buffers. It shares no code
// with nvme.Check.
func agreement(c *nvme.Command, l nvme.Layout, lim Limits, data, meta int) bool {
	if c.Flags != 0 || c.NSID != 7 || int(c.DataLen) != data || int(c.MetadataLen) != meta || uint64(c.DataLen) > lim.MaxTransfer {
		return false
	}
	slba := uint64(c.CDW11)<<32 + uint64(c.CDW10)
	inside := func(n uint64) bool { return slba < lim.Blocks && slba+n <= lim.Blocks }
	nlb := uint64(c.CDW12%65536) + 1
	switch c.Opcode {
	case 0x00: // flush
		return data == 0 && meta == 0
	case 0x01, 0x02, 0x05, 0x7d:
		perBlock, tuple := int(l.MetadataSize), 8
		if l.PIFormat != nvme.Guard16 {
			tuple = 16
		}
		if pract := c.CDW12&(1<<29) != 0; pract && l.PI != nvme.PINone && perBlock == tuple {
			perBlock = 0
		}
		wantData, wantMeta := int(nlb)*int(l.LBASize), int(nlb)*perBlock
		if l.Extended {
			wantData, wantMeta = wantData+wantMeta, 0
		}
		return inside(nlb) && data == wantData && meta == wantMeta
	case 0x04, 0x08, 0x0c:
		return inside(nlb) && data == 0 && meta == 0
	case 0x09:
		return data >= (int(c.CDW10%256)+1)*16 && meta == 0
	case 0x19:
		n := int(c.CDW12%256) + 1
		format := c.CDW12 >> 8 & 15
		if format > 3 {
			return false
		}
		return inside(uint64(n)) && data >= n*(32+int(format%2)*8) && meta == 0
	case 0x0d, 0x11:
		return data == 16 && meta == 0
	case 0x15:
		return data == 8 && meta == 0
	case 0x0e:
		return uint64(data) == (uint64(c.CDW10)+1)*4 && meta == 0
	case 0x12:
		return uint64(data) == (uint64(c.CDW11)+1)*4 && meta == 0
	case 0x1d:
		return meta == 0 && (c.CDW10%256 != 1 || data == (int(c.CDW10>>16)+1)*2)
	case 0x79:
		if c.CDW13&0x100 == 0 && !inside(1) {
			return false
		}
		if c.CDW13%256 == 0x10 {
			return data > 0 && data%64 == 0 && meta == 0
		}
		return data == 0 && meta == 0
	case 0x7a:
		return uint64(data) == (uint64(c.CDW12)+1)*4 && meta == 0
	}
	return true // the specification says nothing about the lengths
}

var propertyOpcodes = []nvme.Opcode{
	nvme.OpFlush, nvme.OpRead, nvme.OpRead, nvme.OpWrite, nvme.OpCompare, nvme.OpWriteUncorrectable, nvme.OpWriteZeroes, nvme.OpVerify,
	nvme.OpDSM, nvme.OpCopy, nvme.OpReservationReg, nvme.OpReservationAcquire, nvme.OpReservationRelease, nvme.OpReservationReport,
	nvme.OpIOMgmtRecv, nvme.OpIOMgmtSend, nvme.OpZoneMgmtSend, nvme.OpZoneMgmtRecv, nvme.OpZoneAppend, 0x99, 0xff,
}

// randomCommand is one that often fits, with up to two fields changed.
func randomCommand(rng *rand.Rand, l nvme.Layout, lim Limits) (c nvme.Command, data, meta int) {
	c = nvme.Command{Opcode: propertyOpcodes[rng.IntN(len(propertyOpcodes))], NSID: 7}
	nlb := uint32(1 + rng.IntN(16))
	c.SetSLBA(rng.Uint64N(lim.Blocks - 16))
	c.SetNLB(nlb)
	switch c.Opcode {
	case nvme.OpRead, nvme.OpWrite, nvme.OpCompare, nvme.OpZoneAppend:
		host := l
		if rng.IntN(2) == 0 {
			c.SetPRACT(true)
			host = l.UnderPRACT()
		}
		data, meta = int(host.DataLen(nlb)), int(host.MetadataLen(nlb))
	case nvme.OpDSM:
		c.CDW10 = nlb - 1
		data = int(nlb) * 16
	case nvme.OpCopy:
		format := uint32(rng.IntN(5))
		c.CDW12 |= format << 8
		data = int(nlb) * (32 + int(format%2)*8)
	case nvme.OpReservationReg, nvme.OpReservationAcquire:
		data = 16
	case nvme.OpReservationRelease:
		data = 8
	case nvme.OpReservationReport, nvme.OpIOMgmtRecv, nvme.OpZoneMgmtRecv:
		words := uint32(1 + rng.IntN(1024))
		switch c.Opcode {
		case nvme.OpReservationReport:
			c.CDW10 = words - 1
		case nvme.OpIOMgmtRecv:
			c.CDW11 = words - 1
		case nvme.OpZoneMgmtRecv:
			c.CDW12 = words - 1
		}
		data = int(words) * 4
	case nvme.OpIOMgmtSend:
		c.CDW10 = (nlb-1)<<16 | uint32(rng.IntN(2))
		data = int(nlb) * 2
	case nvme.OpZoneMgmtSend:
		c.CDW13 = []uint32{1, 2, 0x103, 0x10}[rng.IntN(4)]
		if c.CDW13 == 0x10 {
			data = 64 * (1 + rng.IntN(4))
		}
	}
	c.DataLen, c.MetadataLen = uint32(data), uint32(meta)
	for range rng.IntN(3) {
		switch rng.IntN(10) {
		case 0:
			c.SetNLB(nlb + uint32(rng.IntN(3)) - 1)
		case 1:
			c.DataLen += uint32(rng.IntN(1025)) - 512
		case 2:
			c.MetadataLen += uint32(rng.IntN(129)) - 64
		case 3:
			data = max(0, data+rng.IntN(1025)-512)
		case 4:
			meta = max(0, meta+rng.IntN(129)-64)
		case 5:
			c.NSID = []uint32{0, 1, 8, nvme.AllNamespaces, rng.Uint32()}[rng.IntN(5)]
		case 6:
			c.SetSLBA(lim.Blocks - uint64(rng.IntN(20)))
		case 7:
			c.Flags = 1 << rng.IntN(8)
		case 8:
			c.DataLen, data = c.DataLen+512, data+512
		case 9:
			c.CDW10, c.CDW11, c.CDW12 = rng.Uint32(), rng.Uint32(), rng.Uint32()
		}
	}
	return c, data, meta
}

// TestCommandsThatDisagreeNeverReachTheKernel: of random commands exactly
// those whose block count, lengths, range and namespace agree are consumed from
// the ring, with the lengths that were checked.
func TestCommandsThatDisagreeNeverReachTheKernel(t *testing.T) {
	const each = 12000
	layouts := []nvme.Layout{
		{LBASize: 512},
		{LBASize: 4096, MetadataSize: 64, Extended: true},
		{LBASize: 512, MetadataSize: 16},
		{LBASize: 512, MetadataSize: 8, PI: nvme.PIType1},
		{LBASize: 4096, MetadataSize: 16, Extended: true, PI: nvme.PIType2, PIFormat: nvme.Guard64},
	}
	total, refused := 0, 0
	for _, set := range []nvme.CommandSet{nvme.SetNVM, nvme.SetZNS} {
		for n, l := range layouts {
			var consumed atomic.Int64
			var last nvme.Command
			k := &ringtest.Kernel{Answer: func(e ringtest.Entry) (int32, uint64, bool) {
				consumed.Add(1)
				last, _ = nvme.DecodeCommand(e.Image[uapi.CmdOffset:])
				return 0, 0, true
			}}
			d := engineDevice(t, Config{Depth: 2, BufferSize: 8 * int(l.UnderPRACT().Unit()), Poll: true}, k)
			d.layout, d.set = l, set
			d.limits = Limits{Blocks: 1 << 36, MaxTransfer: 64 << 10}
			d.limits.MaxBlocks = l.UnderPRACT().BlocksPerCommand(d.limits.MaxTransfer)
			_, err := d.Do(context.Background(), nvme.NewFlush(7), nil)
			require.NoError(t, err)
			rng := rand.New(rand.NewPCG(uint64(n), uint64(set)))
			buf := make([]byte, 1<<20)
			for range each {
				c, data, meta := randomCommand(rng, l, d.limits)
				before := consumed.Load()
				_, err := d.DoMetadata(context.Background(), c, buf[:data], buf[:meta])
				about := func() string {
					return fmt.Sprintf("%s, set %v, layout %v, %d and %d bytes given: %v", c.Text(set), set, l, data, meta, err)
				}
				total++
				if !agreement(&c, l, d.limits, data, meta) {
					refused++
					if err == nil || consumed.Load() != before {
						t.Fatal("reached the kernel: " + about())
					}
					continue
				}
				if err != nil || consumed.Load() != before+1 {
					t.Fatal("did not reach the kernel: " + about())
				}
				last.Addr, last.Metadata = 0, 0
				if last != c {
					t.Fatalf("the kernel got %s for %s", last.Text(set), about())
				}
			}
			require.NoError(t, d.Close())
		}
	}
	t.Logf("%d commands, %d refused", total, refused)
	require.GreaterOrEqual(t, total, 100_000)
	require.Greater(t, refused, total/5)
	require.Greater(t, total-refused, total/5)
}
