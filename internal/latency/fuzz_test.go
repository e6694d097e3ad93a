package latency

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzHistogram: whatever times are recorded, in whatever parts, the summary
// counts all of them and its percentiles rise from the least to the greatest,
// right to the digits that are kept.
func FuzzHistogram(f *testing.F) {
	word := func(vs ...uint64) (b []byte) {
		for _, v := range vs {
			b = binary.LittleEndian.AppendUint64(b, v)
		}
		return b
	}
	f.Add(word(1, 2, 3), uint8(1))
	f.Add(word(0, 1<<63, 1<<63-1, 1<<36), uint8(2))
	f.Add(word(999, 1000, 1001, 12345678), uint8(0))
	f.Add([]byte{}, uint8(0))
	whole, first, second := New(), New(), New()
	f.Fuzz(func(t *testing.T, b []byte, cut uint8) {
		whole.Reset()
		first.Reset()
		second.Reset()
		low, high, n := int64(Longest), int64(1), 0
		for ; len(b) >= 8; b = b[8:] {
			ns := int64(binary.LittleEndian.Uint64(b))
			whole.Record(ns)
			if n < int(cut) {
				first.Record(ns)
			} else {
				second.Record(ns)
			}
			ns = min(max(ns, 1), int64(Longest))
			low, high, n = min(low, ns), max(high, ns), n+1
		}
		first.Merge(second)
		s := whole.Summary()
		require.Equal(t, s, first.Summary(), "merging parts changes nothing")
		if n == 0 {
			require.Nil(t, s)
			return
		}
		require.EqualValues(t, n, s.Count)
		require.InEpsilon(t, low, s.MinNS, 0.001)
		require.InEpsilon(t, high, s.MaxNS, 0.001)
		last := int64(0)
		for _, p := range s.Percentiles {
			require.GreaterOrEqual(t, p.NS, last, "p%v", p.Percent)
			require.LessOrEqual(t, p.NS, s.MaxNS, "p%v", p.Percent)
			last = p.NS
		}
		require.GreaterOrEqual(t, s.MeanNS, float64(s.MinNS)*0.999)
		require.LessOrEqual(t, s.MeanNS, float64(s.MaxNS)*1.001)
		require.GreaterOrEqual(t, s.StddevNS, 0.0)
	})
}
