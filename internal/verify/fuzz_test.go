package verify

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzJudge: nothing but the expected block passes, whatever a patch makes of
// it, and what is found is named.
func FuzzJudge(f *testing.F) {
	f.Add([]byte("x"), uint16(3))
	f.Add([]byte("nvmepass"), uint16(512))
	f.Add(bytes.Repeat([]byte{0}, 1024), uint16(0))
	f.Add(bytes.Repeat([]byte{0xff}, 512), uint16(512))
	f.Fuzz(func(t *testing.T, patch []byte, at uint16) {
		want := make([]byte, 1024)
		FillBlock(want, 1, 2, 3)
		got := bytes.Clone(want)
		copy(got[int(at)%len(got):], patch)
		m := judge(got, want, Stamp{LBA: 1, Seed: 2, Generation: 3})
		require.Equal(t, bytes.Equal(got, want), m == nil)
		if m != nil {
			require.NotEqual(t, good, m.Kind)
			require.NotEmpty(t, m.Text())
			require.Positive(t, m.Bytes)
		}
	})
}

// FuzzStamp: every stamp reads back as it was put, a changed bit is found, and
// two that differ in any field have different sectors.
func FuzzStamp(f *testing.F) {
	f.Add(uint64(0), uint64(0), uint32(0), uint16(0), uint16(0), []byte{})
	f.Add(^uint64(0), ^uint64(0), ^uint32(0), ^uint16(0), uint16(4095), []byte("nvmepass"))
	f.Add(uint64(1)<<32, uint64(7), uint32(1), uint16(7), uint16(77), bytes.Repeat([]byte{1}, 511))
	f.Fuzz(func(t *testing.T, lba, seed uint64, generation uint32, sector, bit uint16, junk []byte) {
		if _, marked, _ := read(junk); marked {
			require.GreaterOrEqual(t, len(junk), SectorSize)
		}
		s := Stamp{LBA: lba, Seed: seed, Generation: generation, Sector: sector}
		b := make([]byte, SectorSize)
		s.put(b)
		got, marked, ok := read(b)
		require.True(t, marked && ok)
		require.Equal(t, s, got)
		for _, other := range []Stamp{{lba + 1, seed, generation, sector}, {lba, seed + 1, generation, sector}, {lba, seed, generation + 1, sector}, {lba, seed, generation, sector + 1}} {
			o := make([]byte, SectorSize)
			other.put(o)
			require.NotEqual(t, b[fillStart:], o[fillStart:], "%+v and %+v", s, other)
		}
		b[bit/8%SectorSize] ^= 1 << (bit % 8)
		_, _, ok = read(b)
		require.False(t, ok, "bit %d", bit)
	})
}
