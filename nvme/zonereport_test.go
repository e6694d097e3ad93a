package nvme

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDecodeExtendedZoneReport(t *testing.T) {
	b := make([]byte, 64+2*192+191)
	le := binary.LittleEndian
	le.PutUint64(b, 9)
	for i, z := range [][]byte{b[64:], b[64+192:]} {
		z[0], z[1] = 2, 0x10
		le.PutUint64(z[16:], uint64(i)*0x1000)
		z[64], z[191] = byte(0xa0+i), byte(0xb0+i)
	}
	b[66] = 0x80
	r, err := DecodeExtendedZoneReport(b, 128)
	require.NoError(t, err)
	require.Equal(t, uint64(9), r.Count)
	require.Len(t, r.Zones, 2, "the third is not whole")
	for i, z := range r.Zones {
		require.Equal(t, uint64(i)*0x1000, z.SLBA)
		require.Equal(t, ZoneStateEmpty, z.State)
		require.Len(t, z.Extension, 128)
		require.Equal(t, [2]byte{byte(0xa0 + i), byte(0xb0 + i)}, [2]byte{z.Extension[0], z.Extension[127]})
		require.Equal(t, i == 0, z.HasExtension())
	}
	for _, size := range []uint32{0, 63, 65, 256 * 64, 1 << 31} {
		_, err = DecodeExtendedZoneReport(b, size)
		require.ErrorContains(t, err, "take the size from Identify")
	}
	_, err = DecodeExtendedZoneReport(b[:63], 64)
	require.EqualError(t, err, "zone report needs 64 bytes, given 63")
	require.Equal(t, uint32(16320), ZNSFormat{ZDES: 255}.ExtensionSize())
}

func TestDecodeChangedZones(t *testing.T) {
	b := make([]byte, 8+2*8+7)
	b[0] = 9
	b[8], b[16] = 1, 2
	z, err := DecodeChangedZones(b)
	require.NoError(t, err)
	require.Equal(t, &ChangedZones{SLBAs: []uint64{1, 2}}, z)
	b[0], b[1] = 0xff, 0xff
	z, err = DecodeChangedZones(b)
	require.NoError(t, err)
	require.Equal(t, &ChangedZones{Overflow: true}, z)
	_, err = DecodeChangedZones(b[:7])
	require.EqualError(t, err, "changed zone list needs 8 bytes, given 7")
}
