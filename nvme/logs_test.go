package nvme

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDecodeErrorLog(t *testing.T) {
	b := make([]byte, 2*ErrorLogEntrySize+10)
	le := binary.LittleEndian
	le.PutUint64(b, 9)
	le.PutUint16(b[8:], 1)
	le.PutUint16(b[10:], 2)
	le.PutUint16(b[12:], 0xc502)
	le.PutUint16(b[14:], 3)
	le.PutUint64(b[16:], 0x1000)
	le.PutUint32(b[24:], 4)
	b[28], b[29], b[30], b[31] = 5, 6, 2, 0x7d
	le.PutUint64(b[32:], 7)
	le.PutUint16(b[40:], 8)
	b[63] = 1
	log, err := DecodeErrorLog(b)
	require.NoError(t, err)
	require.Equal(t, []ErrorLogEntry{{
		Count: 9, SQID: 1, CID: 2, Status: 0x6281, PELOC: 3, LBA: 0x1000, NSID: 4, VS: 5, TRTYPE: 6, CSI: SetZNS, Opcode: OpZoneAppend,
		Specific: 7, TTSI: 8, Version: 1,
	}, {}}, log)
	require.True(t, log[0].Used())
	require.False(t, log[1].Used())
	require.Equal(t, UnrecoveredReadError, log[0].Status.Code())
	_, err = DecodeErrorLog(b[:63])
	require.EqualError(t, err, "error log entry needs 64 bytes, given 63")
}

// Firmware revisions are text, not numbers of any byte order.
func TestDecodeFirmwareSlots(t *testing.T) {
	b := make([]byte, FirmwareSlotLogSize)
	b[0] = 0x21
	copy(b[8:], "1.0     ")
	copy(b[16:], "2.0-beta")
	copy(b[56:], "SEVEN\x00\x00\x00")
	s, err := DecodeFirmwareSlots(b)
	require.NoError(t, err)
	require.Equal(t, &FirmwareSlots{Active: 1, Next: 2, Revisions: [7]string{"1.0", "2.0-beta", "", "", "", "", "SEVEN"}}, s)
}

func TestDecodeEffectsLog(t *testing.T) {
	b := make([]byte, EffectsLogSize)
	le := binary.LittleEndian
	le.PutUint32(b[4*int(AdminFormatNVM):], 0x0002001f)
	le.PutUint32(b[1024+4*int(OpWrite):], 1<<20|1<<19|3)
	le.PutUint32(b[1024+4*int(OpCompare):], 1<<16|1)
	l, err := DecodeEffectsLog(b)
	require.NoError(t, err)
	f := l.Admin[AdminFormatNVM]
	require.True(t, f.Supported() && f.ChangesData() && f.ChangesNamespaceCapability() && f.ChangesInventory() && f.ChangesController())
	require.Equal(t, uint8(2), f.Exclusion())
	require.False(t, f.UnprivilegedOK())
	require.True(t, l.IO[OpWrite].UnprivilegedOK())
	require.False(t, l.IO[OpCompare].UnprivilegedOK(), "an effect beyond user data")
	require.False(t, l.IO[OpRead].UnprivilegedOK(), "not supported")
}

func TestDecodeZoneReport(t *testing.T) {
	b := make([]byte, 64+2*64)
	le := binary.LittleEndian
	le.PutUint64(b, 1<<63) // more than the buffer holds
	z := b[64:]
	z[0], z[1], z[2], z[3] = 0x12, 0xe3, 1, 2
	le.PutUint64(z[8:], 100)
	le.PutUint64(z[16:], 200)
	le.PutUint64(z[24:], 250)
	r, err := DecodeZoneReport(b)
	require.NoError(t, err)
	require.Equal(t, uint64(1<<63), r.Count)
	require.Len(t, r.Zones, 2)
	require.Equal(t, Zone{Type: 2, State: ZoneStateFull, Attributes: 1, AttrInfo: 2, Capacity: 100, SLBA: 200, WritePointer: 250}, r.Zones[0])
	le.PutUint64(b, 1)
	r, err = DecodeZoneReport(b)
	require.NoError(t, err)
	require.Len(t, r.Zones, 1)
	_, err = DecodeZoneReport(b[:63])
	require.EqualError(t, err, "zone report needs 64 bytes, given 63")

	for want, s := range map[string]ZoneState{
		"empty": 1, "implicitly open": 2, "explicitly open": 3, "closed": 4, "read only": 0xd, "full": 0xe, "offline": 0xf, "unknown (0x7)": 7,
	} {
		text, err := s.MarshalText()
		require.NoError(t, err)
		require.Equal(t, want, string(text))
	}
}

func TestDecodeIdentifyZNS(t *testing.T) {
	b := make([]byte, IdentifySize)
	le := binary.LittleEndian
	le.PutUint16(b, 1)
	le.PutUint16(b[2:], 2)
	le.PutUint32(b[4:], 13)
	le.PutUint32(b[8:], 0xffffffff)
	le.PutUint32(b[12:], 3)
	le.PutUint32(b[16:], 4)
	for i := range uint32(6) {
		le.PutUint32(b[20+4*i:], 11+i)
	}
	le.PutUint32(b[44:], 5)
	le.PutUint16(b[48:], 6)
	le.PutUint16(b[50:], 7)
	b[52] = 8
	le.PutUint64(b[2816+16*2:], 0x8000)
	b[2816+16*2+8] = 1
	n, err := DecodeIdentifyZNSNamespace(b)
	require.NoError(t, err)
	want := &IdentifyZNSNamespace{ZOC: 1, OZCS: 2, MAR: 13, MOR: 0xffffffff, RRL: 3, FRL: 4, RRL1: 11, RRL2: 12, RRL3: 13, FRL1: 14, FRL2: 15, FRL3: 16, NUMZRWA: 5, ZRWAFG: 6, ZRWASZ: 7, ZRWACAP: 8}
	want.Formats[2] = ZNSFormat{ZSZE: 0x8000, ZDES: 1}
	require.Equal(t, want, n)
	require.Equal(t, uint32(14), n.MaxActive())
	require.Zero(t, n.MaxOpen(), "no limit")
	c, err := DecodeIdentifyZNSController(append([]byte{5}, make([]byte, 4095)...))
	require.NoError(t, err)
	require.Equal(t, uint64(128<<10), c.MaxAppend(4096))
}

func TestDecodeKVList(t *testing.T) {
	b := []byte{3, 0, 0, 0, 2, 0, 'a', 'b', 3, 0, 'c', 'd', 'e', 0, 0, 0, 5, 0, 'f', 'g'}
	keys, err := DecodeKVList(b)
	require.NoError(t, err)
	require.Equal(t, [][]byte{[]byte("ab"), []byte("cde")}, keys, "the last key is not whole")
	b[4] = 17
	_, err = DecodeKVList(b)
	require.ErrorContains(t, err, "key 0 of the list has 17 bytes; a key has at most 16")
	_, err = DecodeKVList(b[:3])
	require.EqualError(t, err, "key list needs 4 bytes, given 3")

	c, err := NewKVExist(1, []byte("0123456789"))
	require.NoError(t, err)
	require.Equal(t, "0123456789", string(c.KVKey()))
	require.Len(t, (&Command{CDW11: 0xff}).KVKey(), MaxKVKey)
}

func TestDecodeRUHStatus(t *testing.T) {
	b := make([]byte, 16+2*32)
	le := binary.LittleEndian
	le.PutUint16(b[14:], 4)
	le.PutUint16(b[16:], 0x8001)
	le.PutUint16(b[18:], 2)
	le.PutUint32(b[20:], 3)
	le.PutUint64(b[24:], 4)
	s, err := DecodeRUHStatus(b)
	require.NoError(t, err)
	require.Equal(t, &RUHStatus{Count: 4, Handles: []RUHStatusDescriptor{{PID: 0x8001, RUHID: 2, EARUTR: 3, RUAMW: 4}, {}}}, s)
	require.Equal(t, []byte{1, 0, 2, 1}, AppendPlacementIDs(nil, 1, 0x102))
}

func TestB72PlacementID(t *testing.T) {
	for _, tc := range []struct {
		rgif          uint8
		group, handle uint16
		want          uint16
		err           bool
	}{
		{0, 0, 7, 7, false},
		{0, 1, 7, 0, true},
		{4, 3, 5, 0x3005, false},
		{4, 16, 0, 0, true},
		{4, 0, 0x1000, 0, true},
		{16, 0xffff, 0, 0xffff, false},
		{16, 0, 1, 0, true},
		{255, 5, 0, 5, false},
	} {
		id, err := PlacementID(tc.rgif, tc.group, tc.handle)
		require.Equal(t, tc.err, err != nil, "%+v", tc)
		require.Equal(t, tc.want, id)
	}
}

func TestDecodeFDPLogs(t *testing.T) {
	b := make([]byte, 16+72+64)
	le := binary.LittleEndian
	le.PutUint16(b, 1) // two configurations, zero-based
	le.PutUint32(b[4:], uint32(len(b)))
	c := b[16:]
	le.PutUint16(c, 72)
	c[2] = 0x94
	le.PutUint32(c[4:], 2)
	le.PutUint16(c[8:], 2)
	le.PutUint16(c[10:], 7)
	le.PutUint32(c[12:], 9)
	le.PutUint64(c[16:], 1<<30)
	le.PutUint32(c[24:], 60)
	c[64], c[68] = 1, 2
	le.PutUint16(c[72:], 64)
	configs, err := DecodeFDPConfigs(b)
	require.NoError(t, err)
	require.Equal(t, []FDPConfig{
		{Valid: true, RGIF: 4, VolatileCache: true, NRG: 2, NRUH: 2, MaxPIDs: 8, NNSS: 9, RUNS: 1 << 30, ERUTL: 60,
			Handles: []RUHType{RUHInitiallyIsolated, RUHPersistentlyIsolated}},
		{MaxPIDs: 1, Handles: []RUHType{}},
	}, configs)
	size, err := FDPConfigsSize(b)
	require.NoError(t, err)
	require.Equal(t, uint32(len(b)), size)

	_, err = DecodeFDPConfigs(b[:len(b)-1])
	require.EqualError(t, err, "FDP configuration 1 of 2 needs 64 bytes, given 63")
	le.PutUint16(c, 0) // a size of 0 would never end
	_, err = DecodeFDPConfigs(b)
	require.ErrorContains(t, err, "descriptor size 0 does not hold its 2 reclaim unit handles, which take 72 bytes")

	usage, err := DecodeRUHUsage([]byte{5, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3})
	require.NoError(t, err)
	require.Equal(t, []RUHUsage{1, 2}, usage)
	require.True(t, usage[0].Host() && !usage[0].Controller() && usage[1].Controller())

	s := make([]byte, 64)
	le.PutUint64(s, 100)
	le.PutUint64(s[16:], 150)
	le.PutUint64(s[32:], 200)
	stats, err := DecodeFDPStats(s)
	require.NoError(t, err)
	require.Equal(t, &FDPStats{HostWritten: Uint128{Lo: 100}, MediaWritten: Uint128{Lo: 150}, MediaErased: Uint128{Lo: 200}}, stats)
	require.InEpsilon(t, 1.5, stats.WriteAmplification(), 1e-12)
	require.Zero(t, (&FDPStats{}).WriteAmplification())
}
