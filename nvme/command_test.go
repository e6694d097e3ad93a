package nvme

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCommandIs72Bytes(t *testing.T) {
	require.Equal(t, CommandSize, binary.Size(Command{}))
	var c Command
	require.Len(t, c.AppendTo(nil), CommandSize)
	require.Len(t, c.AppendSQE(nil), SQESize)
}

// Each field gets a value of its own, so that a swapped pair shows. The
// offsets are those of struct nvme_uring_cmd.
func TestCommandImageOffsets(t *testing.T) {
	c := Command{
		Opcode: 0x01, Flags: 0x02, NSID: 0x03, CDW2: 0x04, CDW3: 0x05, Metadata: 0x06, Addr: 0x07,
		MetadataLen: 0x08, DataLen: 0x09, CDW10: 0x0a, CDW11: 0x0b, CDW12: 0x0c, CDW13: 0x0d, CDW14: 0x0e,
		CDW15: 0x0f, TimeoutMS: 0x10,
	}
	b := make([]byte, CommandSize)
	require.NoError(t, c.Image(b))
	ne := binary.NativeEndian
	require.Equal(t, byte(0x01), b[0])
	require.Equal(t, byte(0x02), b[1])
	require.Zero(t, ne.Uint16(b[2:]))
	for off, want := range map[int]uint32{
		4: 0x03, 8: 0x04, 12: 0x05, 32: 0x08, 36: 0x09, 40: 0x0a, 44: 0x0b, 48: 0x0c, 52: 0x0d, 56: 0x0e, 60: 0x0f, 64: 0x10, 68: 0,
	} {
		require.Equal(t, want, ne.Uint32(b[off:]), "offset %d", off)
	}
	require.Equal(t, uint64(0x06), ne.Uint64(b[16:]))
	require.Equal(t, uint64(0x07), ne.Uint64(b[24:]))

	back, err := DecodeCommand(b)
	require.NoError(t, err)
	require.Equal(t, c, back)
}

func TestCommandImageNeedsRoom(t *testing.T) {
	var c Command
	err := c.Image(make([]byte, CommandSize-1))
	require.EqualError(t, err, "command image needs 72 bytes, given 71")
	_, err = DecodeCommand(nil)
	var size *SizeError
	require.ErrorAs(t, err, &size)
	require.Equal(t, 72, size.Need)
}

func TestCommandImageRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		c := Command{
			Opcode: Opcode(r.Uint32()), Flags: uint8(r.Uint32()), NSID: r.Uint32(), CDW2: r.Uint32(), CDW3: r.Uint32(),
			Metadata: r.Uint64(), Addr: r.Uint64(), MetadataLen: r.Uint32(), DataLen: r.Uint32(), CDW10: r.Uint32(),
			CDW11: r.Uint32(), CDW12: r.Uint32(), CDW13: r.Uint32(), CDW14: r.Uint32(), CDW15: r.Uint32(), TimeoutMS: r.Uint32(),
		}
		back, err := DecodeCommand(c.AppendTo(nil))
		require.NoError(t, err)
		require.Equal(t, c, back)
	}
}

// The submission queue entry is little-endian on any host.
func TestCommandSQE(t *testing.T) {
	c := Command{Opcode: OpRead, NSID: 1, CDW2: 0x22, CDW3: 0x33, Addr: 0xdead, DataLen: 4096, CDW14: 0x0e0e, CDW15: 0x0f0f}
	c.SetSLBA(0x1122334455667788)
	c.SetNLB(8)
	require.Equal(t, "02000000010000002200000033000000"+
		"00000000000000000000000000000000"+
		"00000000000000008877665544332211"+
		"07000000000000000e0e00000f0f0000", hex.EncodeToString(c.AppendSQE(nil)))
}

func TestCommandFields(t *testing.T) {
	var c Command
	c.SetSLBA(math.MaxUint64 - 1)
	require.Equal(t, uint64(math.MaxUint64-1), c.SLBA())
	require.Equal(t, uint32(0xfffffffe), c.CDW10)
	require.Equal(t, uint32(0xffffffff), c.CDW11)

	for bit, set := range map[uint32]func(bool){
		1 << 31: c.SetLR, 1 << 30: c.SetFUA, 1 << 29: c.SetPRACT, 1 << 25: c.SetDEAC, 1 << 24: c.SetSTC, 1 << 23: c.SetNSZ,
	} {
		set(true)
		require.Equal(t, bit, c.CDW12)
		set(false)
		require.Zero(t, c.CDW12)
	}
	c.CDW12 = math.MaxUint32
	require.True(t, c.LR() && c.FUA() && c.PRACT() && c.DEAC() && c.STC() && c.NSZ() && c.PIREMAP())
	require.Equal(t, CheckAll, c.PRCHK())
	require.Equal(t, DirectiveType(15), c.DTYPE())
	c.SetPRCHK(CheckApp)
	require.Equal(t, CheckApp, c.PRCHK())
	require.Equal(t, uint32(0xebffffff), c.CDW12)
	c.SetDTYPE(DirectivePlacement)
	require.Equal(t, uint32(0xeb2fffff), c.CDW12)
	c.SetNLB(1)
	require.Equal(t, uint32(0xeb2f0000), c.CDW12)

	c.CDW13 = 0xffff_ffff
	c.SetDSPEC(0x1234)
	require.Equal(t, uint32(0x1234ffff), c.CDW13)
	require.Equal(t, uint16(0x1234), c.DSPEC())

	c.SetAppTag(0xabcd, 0xff00)
	require.Equal(t, uint32(0xff00abcd), c.CDW15)
	tag, mask := c.AppTag()
	require.Equal(t, uint16(0xabcd), tag)
	require.Equal(t, uint16(0xff00), mask)
}

func TestCommandDirection(t *testing.T) {
	for op, write := range map[Opcode]bool{
		OpFlush: false, OpWrite: true, OpRead: false, OpCompare: true, OpWriteZeroes: false, OpDSM: true, OpVerify: false,
		OpCopy: true, OpIOMgmtRecv: false, OpIOMgmtSend: true, OpZoneAppend: true, OpZoneMgmtRecv: false,
		0x81: true, 0x82: false, AdminIdentify: false,
	} {
		c := Command{Opcode: op}
		require.Equal(t, write, c.IsWrite(), "opcode 0x%02x", uint8(op))
		require.False(t, c.HasData())
	}
}

func TestCommandString(t *testing.T) {
	c, err := NewRead(1, Layout{LBASize: 512}, 16, 8, IOOptions{TimeoutMS: 5})
	require.NoError(t, err)
	c.Addr = 0x1000
	require.Equal(t, "read (opcode 0x02) nsid=1 data_len=4096 metadata_len=0 cdw10=0x00000010 cdw11=0x00000000 cdw12=0x00000007 addr=0x1000 timeout_ms=5",
		c.String())
	c = Command{Opcode: 0x02, NSID: 3, Flags: 4, CDW2: 1, Metadata: 2}
	require.Equal(t, "get-log-page (opcode 0x02) nsid=3 flags=0x04 data_len=0 metadata_len=0 cdw2=0x00000001 cdw10=0x00000000 cdw11=0x00000000 cdw12=0x00000000 metadata=0x2",
		c.Text(SetAdmin))
}

func TestOpcodeNames(t *testing.T) {
	for _, tc := range []struct {
		op   Opcode
		set  CommandSet
		want string
	}{
		{0x00, SetNVM, "flush"},
		{0x01, SetNVM, "write"},
		{0x01, SetKV, "kv-store"},
		{0x01, SetAdmin, "create-io-sq"},
		{0x05, SetNVM, "compare"},
		{0x7d, SetZNS, "zone-append"},
		{0x06, SetAdmin, "identify"},
		{0x84, SetAdmin, "sanitize"},
		{0x84, SetNVM, "vendor-0x84"},
		{0xc0, SetAdmin, "vendor-0xc0"},
		{0x33, SetNVM, "opcode-0x33"},
		{0x8f, SetAdmin, "opcode-0x8f"},
	} {
		require.Equal(t, tc.want, tc.op.Name(tc.set))
	}
	require.Equal(t, "read", OpRead.String())
	for set, want := range map[CommandSet]string{
		SetNVM: "NVM", SetKV: "KV", SetZNS: "ZNS", SetSLM: "SLM", SetCP: "CP", SetAdmin: "admin", 0x30: "CSI 0x30",
	} {
		require.Equal(t, want, set.String())
	}
}
