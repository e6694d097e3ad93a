package workload

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestLinearPace(t *testing.T) {
	p := newPacer(1000, false, 1) // one per millisecond, the first at once
	starts := make([]int64, 4)
	ms := int64(time.Millisecond)
	require.Equal(t, 1, p.due(0, starts))
	require.Equal(t, 0, p.due(ms-1, starts))
	require.Equal(t, 3, p.due(3*ms, starts))
	require.Equal(t, []int64{ms, 2 * ms, 3 * ms}, starts[:3])
	// A stall forgets nothing: the backlog comes with the times that were due.
	require.Equal(t, 4, p.due(100*ms, starts))
	require.Equal(t, []int64{4 * ms, 5 * ms, 6 * ms, 7 * ms}, starts)
}

// TestPoissonPace: gaps are exponential with the mean of the rate. The
// generator is fixed, so that the sums are, too.
func TestPoissonPace(t *testing.T) {
	const n = 100_000
	p := newPacer(1e6, true, 5)
	starts := make([]int64, n)
	require.Equal(t, n, p.due(math.MaxInt64, starts))
	sum, squares, last := 0.0, 0.0, 0.0
	for _, s := range starts {
		gap := float64(s) - last
		require.GreaterOrEqual(t, gap, 0.0)
		sum, squares, last = sum+gap, squares+gap*gap, float64(s)
	}
	mean := sum / n
	require.InEpsilon(t, 1000, mean, 0.02)
	require.InEpsilon(t, 1000, math.Sqrt(squares/n-mean*mean), 0.02, "as large as the mean")
}
