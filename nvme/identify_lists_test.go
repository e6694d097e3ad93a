package nvme

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
)

// page is an Identify page with numbers at offsets, by their size.
func page(fields ...any) []byte {
	b := make([]byte, IdentifySize)
	le := binary.LittleEndian
	for i := 0; i < len(fields); i += 2 {
		at := fields[i].(int)
		switch v := fields[i+1].(type) {
		case uint8:
			b[at] = v
		case uint16:
			le.PutUint16(b[at:], v)
		case uint32:
			le.PutUint32(b[at:], v)
		case uint64:
			le.PutUint64(b[at:], v)
		case string:
			copy(b[at:], v)
		}
	}
	return b
}

func TestDecodeIdentifyKVNamespace(t *testing.T) {
	b := page(0, uint64(1<<40), 16, uint64(1<<30), 24, uint8(1), 25, uint8(1), 26, uint8(2), 27, uint8(3), 28, uint8(4), 32, uint32(512), 36, uint32(5),
		43, uint8(6), 44, uint16(7), 46, uint16(8), 48, "0123456789abcdef", 64, "ABCDEFGH",
		72, uint16(16), 75, uint8(9), 76, uint32(1<<20), 80, uint32(1000), 88, uint16(8), 92, uint32(4096), 312, uint16(99))
	n, err := DecodeIdentifyKVNamespace(b)
	require.NoError(t, err)
	want := &IdentifyKVNamespace{
		NSZE: 1 << 40, NUSE: 1 << 30, NSFEAT: 1, NKVF: 1, NMIC: 2, RESCAP: 3, FPI: 4, NOVG: 512, ANAGRPID: 5, NSATTR: 6, NVMSETID: 7, ENDGID: 8,
		NGUID: GUID([]byte("0123456789abcdef")), EUI64: EUI64([]byte("ABCDEFGH")),
	}
	want.Formats[0] = KVFormat{KML: 16, FOPT: 9, VML: 1 << 20, MNK: 1000}
	want.Formats[1] = KVFormat{KML: 8, VML: 4096}
	want.Formats[15] = KVFormat{KML: 99}
	require.Equal(t, want, n)
	_, err = DecodeIdentifyKVNamespace(b[:4095])
	require.EqualError(t, err, "Identify Namespace for the key value command set needs 4096 bytes, given 4095")
}

func TestDecodeControllerList(t *testing.T) {
	ids, err := DecodeControllerList(page(0, uint16(3), 2, uint16(1), 4, uint16(5), 6, uint16(0xffef), 8, uint16(9)))
	require.NoError(t, err)
	require.Equal(t, []uint16{1, 5, 0xffef}, ids)
	ids, err = DecodeControllerList(page(0, uint16(2047), 4094, uint16(7)))
	require.NoError(t, err)
	require.Len(t, ids, MaxListedControllers)
	require.Equal(t, uint16(7), ids[2046])
	_, err = DecodeControllerList(page(0, uint16(2048)))
	require.EqualError(t, err, "controller list: 2048 entries; a page of 4096 bytes holds at most 2047")
	_, err = DecodeEnduranceGroups(page(0, uint16(0xffff)))
	require.ErrorContains(t, err, "endurance group list: 65535 entries")
	ids, err = DecodeEnduranceGroups(page(0, uint16(1), 2, uint16(4)))
	require.NoError(t, err)
	require.Equal(t, []uint16{4}, ids)
}

func TestDecodePrimaryController(t *testing.T) {
	c, err := DecodePrimaryController(page(0, uint16(1), 2, uint16(2), 4, uint8(1), 32, uint32(3), 36, uint32(4), 40, uint16(5), 42, uint16(6), 44, uint16(7), 46, uint16(8),
		64, uint32(9), 68, uint32(10), 72, uint16(11), 74, uint16(12), 76, uint16(13), 78, uint16(14)))
	require.NoError(t, err)
	require.Equal(t, &PrimaryController{
		CNTLID: 1, PORTID: 2, CRT: 1, VQFRT: 3, VQRFA: 4, VQRFAP: 5, VQPRT: 6, VQFRSM: 7, VQGRAN: 8, VIFRT: 9, VIRFA: 10, VIRFAP: 11, VIPRT: 12, VIFRSM: 13, VIGRAN: 14,
	}, c)
	require.True(t, c.HasQueues())
	require.False(t, c.HasInterrupts())
}

func TestDecodeSecondaryControllers(t *testing.T) {
	b := page(0, uint8(2), 32, uint16(1), 34, uint16(2), 36, uint8(1), 40, uint16(3), 42, uint16(4), 44, uint16(5), 64, uint16(6), 96, uint16(7))
	list, err := DecodeSecondaryControllers(b)
	require.NoError(t, err)
	require.Equal(t, []SecondaryController{{SCID: 1, PCID: 2, SCS: 1, VFN: 3, NVQ: 4, NVI: 5}, {SCID: 6}}, list)
	require.True(t, list[0].Online())
	require.False(t, list[1].Online())
	_, err = DecodeSecondaryControllers(page(0, uint8(128)))
	require.EqualError(t, err, "secondary controller list: 128 entries; a page of 4096 bytes holds at most 127")
}

func TestDecodeCapacityLists(t *testing.T) {
	b := page(0, uint8(2), 128, uint16(1), 130, uint16(2), 136, uint32(700), 140, uint32(8192), 144, uint64(1<<40), 152, uint64(1), 160, uint64(1<<30), 256, uint16(3))
	sets, err := DecodeNVMSets(b)
	require.NoError(t, err)
	require.Equal(t, []NVMSet{{NVMSETID: 1, ENDGID: 2, RR4KT: 700, OWS: 8192, Total: Uint128{Hi: 1, Lo: 1 << 40}, Unallocated: Uint128{Lo: 1 << 30}}, {NVMSETID: 3}}, sets)
	_, err = DecodeNVMSets(page(0, uint8(32)))
	require.EqualError(t, err, "NVM set list: 32 entries; a page of 4096 bytes holds at most 31")
	domains, err := DecodeDomains(page(0, uint8(1), 128, uint16(9), 144, uint64(100), 160, uint64(50), 176, uint64(25)))
	require.NoError(t, err)
	require.Equal(t, []Domain{{ID: 9, Total: Uint128{Lo: 100}, Unallocated: Uint128{Lo: 50}, MaxGroup: Uint128{Lo: 25}}}, domains)

	g, err := DecodeNamespaceGranularities(page(0, uint8(1), 4, uint8(1), 32, uint64(1<<20), 40, uint64(1<<21), 48, uint64(5), 64, uint64(6)))
	require.NoError(t, err)
	require.Equal(t, &NamespaceGranularities{PerFormat: true, Entries: []NamespaceGranularity{{1 << 20, 1 << 21}, {Size: 5}}}, g)
	_, err = DecodeNamespaceGranularities(page(4, uint8(16)))
	require.EqualError(t, err, "namespace granularity list: 17 entries; it holds at most 16")
}

func TestDecodeCommandSets(t *testing.T) {
	sets, err := DecodeCommandSets(page(0, uint64(1), 24, uint64(7)))
	require.NoError(t, err)
	require.Equal(t, []CommandSets{1, 0, 0, 7}, sets)
	require.True(t, sets[0].Has(SetNVM) && !sets[0].Has(SetZNS) && sets[3].Has(SetZNS) && sets[3].Has(SetKV))
	require.False(t, sets[3].Has(SetAdmin))
}

func TestDecodeUUIDs(t *testing.T) {
	list, err := DecodeUUIDs(page(32, uint8(0xfd), 48, "0123456789abcdef", 80, "ABCDEFGHIJKLMNOP", 144, "after the end..."))
	require.NoError(t, err)
	require.Equal(t, []VendorUUID{{GUID([]byte("0123456789abcdef")), UUIDOfVendor}, {GUID([]byte("ABCDEFGHIJKLMNOP")), UUIDNotAssociated}}, list)
	full := page()
	for at := 48; at < IdentifySize; at += 32 {
		full[at] = 1
	}
	list, err = DecodeUUIDs(full)
	require.NoError(t, err)
	require.Len(t, list, 127)
}

// TestDecodersNeedThePage: none of them reads a part of it.
func TestDecodersNeedThePage(t *testing.T) {
	for _, name := range []string{"kvNamespace", "controllers", "primary", "secondary", "nvmSets", "domains", "groups", "granularity", "commandSets", "uuids"} {
		_, err := decoders[name](make([]byte, IdentifySize-1))
		var size *SizeError
		require.ErrorAs(t, err, &size, name)
		_, err = decoders[name](make([]byte, IdentifySize))
		require.NoError(t, err, name)
	}
}
