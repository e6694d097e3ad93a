package diff

import (
	"compress/gzip"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/compare"
	"github.com/nvmepass/nvmepass/internal/record"
)

// labRounds are rounds recorded in the lab. Those of even number were slowed down
// by 5 % on purpose, by a delay in the submitting thread, and ran in between the
// others, so that nothing else differs:
//
//	nvmepass compare --lab --cpus 1 --rounds 160 --runtime 60ms --warmup 5ms --depths 1_1,16_4 --inject-delay 5%/even
type labRounds struct {
	clean, slowed [][]float64 // by cell
}

func readLabRounds(t testing.TB) labRounds {
	t.Helper()
	f, err := os.Open("testdata/lab-injected.json.gz")
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	res, err := compare.Decode(z)
	require.NoError(t, err)
	var out labRounds
	for i := range res.Cells {
		var clean, slowed []float64
		for _, round := range res.Cells[i].Rounds {
			if round.Error != "" {
				continue
			}
			if round.Round%2 == 1 {
				clean = append(clean, *round.Rates.IOPS)
			} else {
				slowed = append(slowed, *round.Rates.IOPS)
			}
		}
		require.Greater(t, len(clean), 20)
		require.Greater(t, len(slowed), 20)
		out.clean, out.slowed = append(out.clean, clean), append(out.slowed, slowed)
	}
	return out
}

// resampled is a record of n rounds for each cell, drawn from recorded ones.
func resampled(rng *rand.Rand, name string, cells [][]float64, n int) *record.Record {
	drawn := make([][]float64, len(cells))
	for i, rounds := range cells {
		drawn[i] = make([]float64, n)
		for j := range drawn[i] {
			drawn[i][j] = rounds[rng.IntN(len(rounds))]
		}
	}
	return recordOf(name, drawn...)
}

const pairs = 100

// Of a hundred pairs of runs that do not differ, at most five may have a cell
// that is called changed, whatever the number of rounds.
func TestIdenticalRunsAreNotCalledChanged(t *testing.T) {
	lab := readLabRounds(t)
	rng := rand.New(rand.NewPCG(1, 1))
	for _, rounds := range []int{3, 5, 10, 40, 200} {
		cries := 0
		for range pairs {
			r := compared(t, resampled(rng, "old", lab.clean, rounds), resampled(rng, "new", lab.clean, rounds), Options{})
			if r.Counts[Faster]+r.Counts[Slower] > 0 {
				cries++
			}
		}
		t.Logf("%d rounds: %d of %d pairs called changed", rounds, cries, pairs)
		require.LessOrEqual(t, cries, 5, "%d rounds", rounds)
	}
}

// neededRounds is what diff itself says of a pair of short runs.
func neededRounds(t testing.TB, rng *rand.Rand, lab labRounds) int {
	t.Helper()
	r, err := Compare(resampled(rng, "old", lab.clean, 20), resampled(rng, "new", lab.clean, 20), Options{})
	require.NoError(t, err)
	most := 0
	for i := range r.Cells {
		if n := r.Cells[i].RoundsNeeded; n != nil {
			most = max(most, *n)
		}
	}
	require.Positive(t, most, "20 rounds are too few to see 5 %% in the lab")
	return most
}

// Runs that were really slowed down by 5 % are found with the number of rounds
// that a short run is told it needs.
func TestInjectedSlowdownIsFound(t *testing.T) {
	lab := readLabRounds(t)
	rng := rand.New(rand.NewPCG(2, 2))
	rounds := neededRounds(t, rng, lab)
	found, wrong := 0, 0
	for range pairs {
		r := compared(t, resampled(rng, "old", lab.clean, rounds), resampled(rng, "new", lab.slowed, rounds), Options{})
		if r.Counts[Slower] > 0 {
			found++
		}
		wrong += r.Counts[Faster]
	}
	t.Logf("%d rounds: %d of %d pairs called slower", rounds, found, pairs)
	require.GreaterOrEqual(t, found, 95)
	require.Zero(t, wrong)
}
