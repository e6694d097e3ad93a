package nvme

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestB07UnitNeedNotBeAPowerOfTwo(t *testing.T) {
	ext64 := Layout{LBASize: 4096, MetadataSize: 64, Extended: true}
	ext8 := Layout{LBASize: 512, MetadataSize: 8, Extended: true, PI: PIType1}
	sep64 := Layout{LBASize: 4096, MetadataSize: 64}
	for _, tc := range []struct {
		l      Layout
		bytes  uint64
		blocks uint64
		err    string
	}{
		{ext64, 4160, 1, ""},
		{ext64, 8320, 2, ""},
		{ext64, 12480, 3, ""},
		{ext64, 8192, 0, "block size 8192 is not a multiple of 4160 (4096 data + 64 metadata)"},
		{ext64, 4096, 0, "block size 4096 is not a multiple of 4160 (4096 data + 64 metadata)"},
		{ext64, 0, 0, "block size 0 is not a multiple of 4160 (4096 data + 64 metadata)"},
		{ext8, 520, 1, ""},
		{ext8, 1040, 2, ""},
		{ext8, 1560, 3, ""},
		{ext8, 512, 0, "block size 512 is not a multiple of 520 (512 data + 8 metadata)"},
		{sep64, 4096, 1, ""},
		{sep64, 4160, 0, "block size 4160 is not a multiple of 4096"},
		{sep64, 1 << 40, 1 << 28, ""},
		{Layout{}, 512, 0, "layout 0: block size 0 is not a power of two from 512 up; take it from Identify Namespace"},
	} {
		n, err := tc.l.Blocks(tc.bytes)
		if tc.err != "" {
			require.EqualError(t, err, tc.err)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, tc.blocks, n)
		require.Equal(t, tc.bytes, tc.l.DataLen(uint32(n)))
	}
}

// Three layouts, three rules; PRACT takes the metadata away only if it is
// nothing but the protection tuple.
func TestB51LengthsUnderPRACT(t *testing.T) {
	type lengths struct{ data, meta uint64 }
	for _, tc := range []struct {
		ms       uint16
		format   PIFormat
		extended bool
		plain    lengths
		pract    lengths
	}{
		{8, Guard16, true, lengths{2 * 4104, 0}, lengths{2 * 4096, 0}},
		{8, Guard16, false, lengths{2 * 4096, 16}, lengths{2 * 4096, 0}},
		{16, Guard16, true, lengths{2 * 4112, 0}, lengths{2 * 4112, 0}},
		{16, Guard16, false, lengths{2 * 4096, 32}, lengths{2 * 4096, 32}},
		{16, Guard64, true, lengths{2 * 4112, 0}, lengths{2 * 4096, 0}},
		{16, Guard64, false, lengths{2 * 4096, 32}, lengths{2 * 4096, 0}},
		{16, Guard32, false, lengths{2 * 4096, 32}, lengths{2 * 4096, 0}},
		{64, Guard16, true, lengths{2 * 4160, 0}, lengths{2 * 4160, 0}},
		{64, Guard64, false, lengths{2 * 4096, 128}, lengths{2 * 4096, 128}},
	} {
		l := Layout{LBASize: 4096, MetadataSize: tc.ms, Extended: tc.extended, PI: PIType1, PIFormat: tc.format}
		l.StorageTagBits, _ = l.storageTagRange()
		require.NoError(t, l.Validate())
		for pract, want := range map[bool]lengths{false: tc.plain, true: tc.pract} {
			c, err := NewWrite(1, l, 0, 2, IOOptions{PRACT: pract})
			require.NoError(t, err)
			require.Equal(t, want, lengths{uint64(c.DataLen), uint64(c.MetadataLen)}, "%s PRACT %v", l, pract)
			require.NoError(t, Check(&c, l, Limits{}))
		}
	}
	require.Equal(t, Layout{LBASize: 512, MetadataSize: 8}, Layout{LBASize: 512, MetadataSize: 8}.UnderPRACT())
}

func TestLayoutValidate(t *testing.T) {
	for want, l := range map[string]Layout{
		"not a power of two from 512 up":                                          {LBASize: 520},
		"block size 256 is not":                                                   {LBASize: 256},
		"protection type 4 is not 0 to 3":                                         {LBASize: 512, MetadataSize: 8, PI: 4},
		"guard format 3 is not":                                                   {LBASize: 512, MetadataSize: 16, PI: PIType1, PIFormat: 3},
		"8 bytes of metadata do not hold the 16-byte":                             {LBASize: 512, MetadataSize: 8, PI: PIType1, PIFormat: Guard64},
		"a storage tag of 15 bits does not fit the guard format; it has 16 to 64": {LBASize: 512, MetadataSize: 16, PI: PIType1, PIFormat: Guard32, StorageTagBits: 15},
		"a storage tag of 49 bits does not fit the guard format; it has 0 to 48":  {LBASize: 512, MetadataSize: 16, PI: PIType1, PIFormat: Guard64, StorageTagBits: 49},
		"a storage tag of 33 bits does not fit the guard format; it has 0 to 32":  {LBASize: 512, MetadataSize: 8, PI: PIType1, StorageTagBits: 33},
	} {
		require.ErrorContains(t, l.Validate(), want)
		_, err := NewRead(1, l, 0, 1, IOOptions{})
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, Check(&Command{Opcode: OpRead}, l, Limits{}), want)
		require.ErrorContains(t, Check(&Command{Opcode: OpVerify}, l, Limits{}), want)
	}
}

func TestLayoutBlocksPerCommand(t *testing.T) {
	for _, tc := range []struct {
		l    Layout
		max  uint64
		want uint32
	}{
		{Layout{LBASize: 512}, 0, 65536},
		{Layout{LBASize: 512}, 131072, 256},
		{Layout{LBASize: 4096, MetadataSize: 64, Extended: true}, 131072, 31},
		{Layout{LBASize: 4096}, 4095, 0},
		{Layout{LBASize: 1 << 16}, 0, 65535},
		{Layout{LBASize: 1 << 31}, 1 << 62, 1},
		{Layout{}, 512, 0},
	} {
		require.Equal(t, tc.want, tc.l.BlocksPerCommand(tc.max), "%s %d", tc.l, tc.max)
	}
}

func TestLayoutString(t *testing.T) {
	for want, l := range map[string]Layout{
		"512":                               {LBASize: 512},
		"4096+64 extended":                  {LBASize: 4096, MetadataSize: 64, Extended: true},
		"4096+64 separate":                  {LBASize: 4096, MetadataSize: 64},
		"512+8 extended PI type 1 guard 16": {LBASize: 512, MetadataSize: 8, Extended: true, PI: PIType1},
		"4096+16 separate PI type 3 guard 64 first": {LBASize: 4096, MetadataSize: 16, PI: PIType3, PIFormat: Guard64, PIFirst: true},
		"4096+16 separate PI type 2 guard 32":       {LBASize: 4096, MetadataSize: 16, PI: PIType2, PIFormat: Guard32},
	} {
		require.Equal(t, want, l.String())
	}
}
