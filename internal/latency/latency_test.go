package latency

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPercentilesAgree with those of the sorted times, to the digits kept.
func TestPercentilesAgree(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	h, parts := New(), []*Histogram{New(), New(), New()}
	var all []int64
	for i := range 100_000 {
		ns := int64(math.Exp(rng.NormFloat64()*2 + 10))
		all = append(all, ns)
		h.Record(ns)
		parts[i%3].Record(ns)
	}
	slices.Sort(all)
	merged := New()
	for _, p := range parts {
		merged.Merge(p)
	}
	s := h.Summary()
	require.Equal(t, s, merged.Summary(), "merging changes nothing")
	require.EqualValues(t, len(all), s.Count)
	require.EqualValues(t, len(all), h.Count())
	require.InEpsilon(t, all[0], s.MinNS, 0.001)
	require.InEpsilon(t, all[len(all)-1], s.MaxNS, 0.001)
	require.Len(t, s.Percentiles, len(Percents()))
	for _, p := range Percents() {
		got, ok := s.At(p)
		require.True(t, ok)
		at := all[int(math.Round(p/100*float64(len(all))))-1]
		require.InEpsilon(t, at, got, 0.002, "p%v", p)
	}
	_, ok := s.At(50.5)
	require.False(t, ok)
	h.Reset()
	require.Nil(t, h.Summary())
}

// TestOutOfRange: what cannot be told apart is still counted.
func TestOutOfRange(t *testing.T) {
	h := New()
	for _, ns := range []int64{math.MinInt64, -1, 0, 1, int64(Longest), int64(Longest) + 1, math.MaxInt64} {
		h.Record(ns)
	}
	s := h.Summary()
	require.EqualValues(t, 7, s.Count)
	require.EqualValues(t, 1, s.MinNS)
	require.InEpsilon(t, int64(Longest), s.MaxNS, 0.001)
}

func TestOneValue(t *testing.T) {
	h := New()
	h.Record(12345)
	s := h.Summary()
	require.Zero(t, s.StddevNS)
	for _, p := range s.Percentiles {
		require.InEpsilon(t, 12345, p.NS, 0.001)
	}
}

func TestRecordAllocatesNothing(t *testing.T) {
	h := New()
	ns := int64(1)
	require.Zero(t, testing.AllocsPerRun(1000, func() { h.Record(ns); ns = ns*3%1e9 + 1 }))
}

func BenchmarkRecord(b *testing.B) {
	h := New()
	for i := range b.N {
		h.Record(int64(i)*7919%1e7 + 1)
	}
}
