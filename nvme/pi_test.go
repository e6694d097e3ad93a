package nvme

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"hash/crc64"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGuardCheckValues(t *testing.T) {
	check := []byte("123456789")
	require.Equal(t, uint16(0xd0db), CRC16(0, check))
	require.Equal(t, uint32(0xe3069283), CRC32C(0, check))
	require.Equal(t, uint64(0xae8b14860a799888), CRC64(0, check))
}

// Test cases of the NVM command set specification for a 4 KiB block without
// metadata.
func TestGuardSpecificationCases(t *testing.T) {
	up, down := make([]byte, 4096), make([]byte, 4096)
	for i := range up {
		up[i], down[i] = byte(i), byte(255-i&0xff)
	}
	for _, tc := range []struct {
		b      []byte
		crc32c uint32
		crc64  uint64
	}{
		{make([]byte, 4096), 0x98f94189, 0x6482d367eb22b64e},
		{bytes.Repeat([]byte{0xff}, 4096), 0x25c1fe13, 0xc0ddba7302eca3ac},
		{up, 0x9c71fe32, 0x3e729f5f6750449c},
		{down, 0x214941a8, 0x9a2df64b8e9e517e},
	} {
		require.Equal(t, tc.crc32c, CRC32C(0, tc.b))
		require.Equal(t, fmt.Sprintf("%x", tc.crc64), fmt.Sprintf("%x", CRC64(0, tc.b)))
	}
}

// bitCRC16 is the definition, one bit at a time.
func bitCRC16(b []byte) (crc uint16) {
	for _, c := range b {
		crc ^= uint16(c) << 8
		for range 8 {
			top := crc >> 15
			crc <<= 1
			if top != 0 {
				crc ^= 0x8bb7
			}
		}
	}
	return crc
}

func TestGuardTablesFollowTheDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	buf := make([]byte, 600)
	for i := range buf {
		buf[i] = byte(r.Uint32())
	}
	std := crc64.MakeTable(0x9a6c9329ac4bc9b5)
	for n := range 100 {
		b := buf[r.IntN(8):][:n*5]
		cut := r.IntN(len(b) + 1)
		require.Equal(t, bitCRC16(b), CRC16(0, b))
		require.Equal(t, bitCRC16(b), CRC16(CRC16(0, b[:cut]), b[cut:]))
		require.Equal(t, crc64.Checksum(b, std), CRC64(0, b))
		require.Equal(t, crc64.Checksum(b, std), CRC64(CRC64(0, b[:cut]), b[cut:]))
	}
}

func TestPITupleLayout(t *testing.T) {
	for _, tc := range []struct {
		l    Layout
		pi   PI
		want string
	}{
		{Layout{LBASize: 512, MetadataSize: 8, PI: PIType1}, PI{Guard: 0x1122, App: 0x3344, Ref: 0x55667788}, "1122" + "3344" + "55667788"},
		{Layout{LBASize: 512, MetadataSize: 8, PI: PIType1, StorageTagBits: 8}, PI{Guard: 0x1122, App: 0x3344, Ref: 0x667788, Storage: 0x55}, "1122" + "3344" + "55667788"},
		{Layout{LBASize: 512, MetadataSize: 16, PI: PIType1, PIFormat: Guard64}, PI{Guard: 0x1122334455667788, App: 0x99aa, Ref: 0xbbccddeeff00},
			"1122334455667788" + "99aa" + "bbccddeeff00"},
		{Layout{LBASize: 512, MetadataSize: 16, PI: PIType1, PIFormat: Guard32, StorageTagBits: 16}, PI{Guard: 0x11223344, App: 0x5566, Storage: 0x7788, Ref: 0x99aabbccddeeff00},
			"11223344" + "5566" + "7788" + "99aabbccddeeff00"},
	} {
		b := tc.l.AppendPI(nil, tc.pi)
		require.Equal(t, tc.want, hex.EncodeToString(b))
		require.Len(t, b, int(tc.l.PISize()))
		back, err := tc.l.DecodePI(b)
		require.NoError(t, err)
		require.Equal(t, tc.pi, back)
		_, err = tc.l.DecodePI(b[:len(b)-1])
		require.ErrorContains(t, err, "protection information needs")
	}
	none := Layout{LBASize: 512}
	require.Empty(t, none.AppendPI(nil, PI{}))
	_, err := none.DecodePI(nil)
	require.ErrorContains(t, err, "layout 512 has none")
}

func TestPIGenerateAndVerify(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	const slba, blocks = 0xffff_fffe, 5 // the 32-bit reference tag wraps
	for _, typ := range []PIType{PIType1, PIType2, PIType3} {
		for _, format := range []PIFormat{Guard16, Guard32, Guard64} {
			for _, ms := range []uint16{8, 16, 64} {
				for mode := range 4 {
					l := Layout{LBASize: 512, MetadataSize: ms, Extended: mode&1 != 0, PI: typ, PIFormat: format, PIFirst: mode&2 != 0}
					l.StorageTagBits, _ = l.storageTagRange()
					if l.Validate() != nil {
						continue
					}
					data, meta := make([]byte, l.DataLen(blocks)), make([]byte, l.MetadataLen(blocks))
					for _, b := range [][]byte{data, meta} {
						for i := range b {
							b[i] = byte(r.Uint32())
						}
					}
					tags := PI{App: 0x1234, Ref: 77}
					require.NoError(t, l.GeneratePI(data, meta, slba, tags), l)
					check := PICheck{Check: CheckAll, Want: tags, AppMask: 0xffff}
					require.NoError(t, l.VerifyPI(data, meta, slba, check), l)

					_, before, tuple := l.block(data, meta, 3)
					got := l.pi(tuple)
					switch typ {
					case PIType1:
						require.Equal(t, l.RefTagOf(slba+3), got.Ref)
					case PIType2:
						require.Equal(t, uint64(80), got.Ref)
					case PIType3:
						require.Equal(t, uint64(77), got.Ref)
					}

					// One bit anywhere that the guard covers is found.
					d, _, _ := l.block(data, meta, 2)
					d[100] ^= 4
					err := l.VerifyPI(data, meta, slba, check)
					require.ErrorIs(t, err, GuardCheckError)
					var pe *PIError
					require.ErrorAs(t, err, &pe)
					require.Equal(t, uint64(slba+2), pe.LBA)
					require.Equal(t, 2, pe.Index)
					d[100] ^= 4
					if len(before) > 0 {
						before[0] ^= 1
						require.ErrorIs(t, l.VerifyPI(data, meta, slba, check), GuardCheckError)
						before[0] ^= 1
					}

					bad := check
					bad.Want.App = 0x1235
					require.ErrorIs(t, l.VerifyPI(data, meta, slba, bad), ApplicationTagCheckError)
					bad.AppMask = 0xff00
					require.NoError(t, l.VerifyPI(data, meta, slba, bad), "masked")
					bad = check
					bad.Storage, bad.Want.Storage = true, 1
					require.ErrorIs(t, l.VerifyPI(data, meta, slba, bad), StorageTagCheckError)
					bad = check
					bad.Want.Ref++
					err = l.VerifyPI(data, meta, slba+1, bad)
					if typ == PIType3 {
						require.NoError(t, err)
					} else {
						require.ErrorIs(t, err, ReferenceTagCheckError)
					}

					// The escape value switches the checks off.
					d[100] ^= 4
					got.App = appTagEscape
					_, _, tuple = l.block(data, meta, 2)
					l.AppendPI(tuple[:0], got)
					err = l.VerifyPI(data, meta, slba, check)
					if typ == PIType3 {
						require.ErrorIs(t, err, GuardCheckError, "type 3 needs the reference tag too")
						got.Ref = l.RefTagOf(^uint64(0))
						l.AppendPI(tuple[:0], got)
						err = l.VerifyPI(data, meta, slba, check)
					}
					require.NoError(t, err)
				}
			}
		}
	}
}

func TestPIBuffersHaveToFit(t *testing.T) {
	ext := Layout{LBASize: 512, MetadataSize: 8, Extended: true, PI: PIType1}
	sep := Layout{LBASize: 512, MetadataSize: 8, PI: PIType1}
	for want, err := range map[string]error{
		"layout 512 has none":                      Layout{LBASize: 512}.GeneratePI(make([]byte, 512), nil, 0, PI{}),
		"data buffer: block size 512 is not a":     ext.GeneratePI(make([]byte, 512), nil, 0, PI{}),
		"metadata buffer of 8 bytes, but 1 blocks": ext.VerifyPI(make([]byte, 520), make([]byte, 8), 0, PICheck{}),
		"metadata buffer of 0 bytes, but 2 blocks": sep.VerifyPI(make([]byte, 1024), nil, 0, PICheck{}),
		"block size 0 is not a power of two":       Layout{PI: PIType1}.VerifyPI(nil, nil, 0, PICheck{}),
	} {
		require.ErrorContains(t, err, want)
	}
	require.EqualError(t, &PIError{Code: GuardCheckError, LBA: 16, Index: 2, Got: 1, Want: 2},
		"block 0x10 (2 of the buffer): End-to-end Guard Check Error: got 0x1, want 0x2")
}

func TestPIDoesNotAllocate(t *testing.T) {
	l := Layout{LBASize: 512, MetadataSize: 8, Extended: true, PI: PIType1}
	data := make([]byte, l.DataLen(8))
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if l.GeneratePI(data, nil, 0, PI{}) != nil || l.VerifyPI(data, nil, 0, PICheck{Check: CheckAll}) != nil {
			t.Fatal("does not verify")
		}
	}))
}

func BenchmarkGuard(b *testing.B) {
	buf := make([]byte, 4096)
	b.Run("crc=16", func(b *testing.B) {
		b.SetBytes(int64(len(buf)))
		for range b.N {
			benchSink += uint64(CRC16(0, buf))
		}
	})
	b.Run("crc=32c", func(b *testing.B) {
		b.SetBytes(int64(len(buf)))
		for range b.N {
			benchSink += uint64(CRC32C(0, buf))
		}
	})
	b.Run("crc=64", func(b *testing.B) {
		b.SetBytes(int64(len(buf)))
		for range b.N {
			benchSink += CRC64(0, buf)
		}
	})
}
