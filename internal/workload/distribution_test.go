package workload

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseDistribution(t *testing.T) {
	for s, want := range map[string]Distribution{
		"random": {}, "zipf:1.2": {Zipf: 1.2}, "zipf:0.5": {Zipf: 0.5}, "zipf:1": {Zipf: 1}, "pareto:0.2": {Pareto: 0.2},
	} {
		d, err := ParseDistribution(s)
		require.NoError(t, err)
		require.Equal(t, want, d)
		require.Equal(t, s, d.String())
	}
	for _, s := range []string{"", "Random", "random:1", "zipf", "zipf:", "zipf:0", "zipf:-1", "zipf:NaN", "zipf:Inf", "zipf:11", "zipf:1,2", "pareto:0", "pareto:1", "pareto", "normal:1"} {
		_, err := ParseDistribution(s)
		require.ErrorContains(t, err, "zipf:THETA", s)
	}
}

// TestZipfShares: each rank is drawn as often as the law says. The generator is
// fixed, so that the counts are, too.
func TestZipfShares(t *testing.T) {
	const places, draws = 1000, 400_000
	for _, theta := range []float64{0.5, 0.99, 1, 1.2, 2.5} {
		r := newRanks(Distribution{Zipf: theta}, places)
		g := random{7}
		counts := make([]int, places)
		for range draws {
			counts[r.draw(&g)]++
		}
		norm := 0.0
		for k := 1; k <= places; k++ {
			norm += math.Pow(float64(k), -theta)
		}
		for rank := range places {
			want := draws * math.Pow(float64(rank+1), -theta) / norm
			if want < 50 {
				break
			}
			place := uint64(rank) * r.step % places
			require.InDelta(t, want, counts[place], 6*math.Sqrt(want)+1, "theta %v rank %d", theta, rank)
		}
	}
}

// TestParetoShares: a share h of the places takes 1-h of the commands.
func TestParetoShares(t *testing.T) {
	const places, draws = 1000, 200_000
	for _, h := range []float64{0.1, 0.2, 0.4} {
		r := newRanks(Distribution{Pareto: h}, places)
		g := random{3}
		counts := make([]int, places)
		for range draws {
			counts[r.draw(&g)]++
		}
		slices.SortFunc(counts, func(a, b int) int { return b - a })
		sum := 0
		for _, n := range counts[:int(h*places)] {
			sum += n
		}
		require.InDelta(t, (1-h)*draws, sum, 0.01*draws, "h %v", h)
	}
}

// TestRanksAreScattered over all places, each rank to one of its own, whatever
// their number.
func TestRanksAreScattered(t *testing.T) {
	for places := uint64(1); places < 600; places++ {
		r := newRanks(Distribution{Zipf: 1}, places)
		seen := make([]bool, places)
		for rank := range places {
			seen[rank*r.step%places] = true
		}
		require.NotContains(t, seen, false, "%d places", places)
	}
	r := newRanks(Distribution{Zipf: 1.1}, 1<<44)
	g := random{1}
	for range 10_000 {
		require.Less(t, r.draw(&g), uint64(1)<<44)
	}
}

func BenchmarkDraw(b *testing.B) {
	for name, d := range map[string]Distribution{"zipf": {Zipf: 1.2}, "pareto": {Pareto: 0.2}} {
		b.Run("distribution="+name, func(b *testing.B) {
			r, g := newRanks(d, 1<<30), random{1}
			for range b.N {
				r.draw(&g)
			}
		})
	}
}
