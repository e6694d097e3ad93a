package workload

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzParseDistribution: what is accepted reads back from its own text and
// draws places of the region only.
func FuzzParseDistribution(f *testing.F) {
	for _, s := range []string{"random", "zipf:1.2", "zipf:1", "pareto:0.2", "zipf:10", "zipf:1e-300", "pareto:0.9999999999999999", "zipf:NaN", "zipf:Inf", "pareto:1", "zipf", "random:", "zipf:0x1p-2", "pareto:1e-320"} {
		f.Add(s, uint64(1000), uint64(1))
	}
	f.Add("zipf:1.1", uint64(1), uint64(2))
	f.Add("pareto:0.5", uint64(1)<<63, uint64(3))
	f.Fuzz(func(t *testing.T, in string, places, seed uint64) {
		d, err := ParseDistribution(in)
		if err != nil {
			require.Equal(t, Distribution{}, d)
			require.ErrorContains(t, err, "need random, zipf:THETA")
			return
		}
		require.True(t, d.Zipf >= 0 && d.Zipf <= maxTheta && d.Pareto >= 0 && d.Pareto < 1 && (d.Zipf == 0 || d.Pareto == 0), d)
		again, err := ParseDistribution(d.String())
		require.NoError(t, err)
		require.Equal(t, d, again)
		if places == 0 || d == (Distribution{}) {
			return
		}
		g := random{seed}
		r := newRanks(d, places)
		require.False(t, math.IsNaN(r.power))
		for range 20 {
			require.Less(t, r.draw(&g), places)
		}
	})
}

// FuzzParsePattern: a pattern is one of the list, and its kinds do not
// contradict each other.
func FuzzParsePattern(f *testing.F) {
	for _, p := range Patterns() {
		f.Add(string(p))
	}
	for _, s := range []string{"readwrite", "", "RandRead", "rand", "read,write", "read\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		p, err := ParsePattern(in)
		if err != nil {
			require.Empty(t, p)
			require.ErrorContains(t, err, "need one of randread, read")
			return
		}
		require.Contains(t, Patterns(), p)
		again, err := ParsePattern(string(p))
		require.NoError(t, err)
		require.Equal(t, p, again)
		writes := false
		for _, d := range p.Directions() {
			require.NotEmpty(t, d.String())
			writes = writes || d != DirRead
		}
		require.Equal(t, p.Writes(), writes)
		require.Equal(t, p.Mixed(), len(p.Directions()) == 2)
		if p.Commands() {
			require.True(t, p.Writes())
		}
	})
}
