package workload

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestB13AddressesStayInTheRegion: whole multiples of the command from the
// start of the region, never beyond its end, whatever the numbers.
func TestB13AddressesStayInTheRegion(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for range 2000 {
		nlb := uint32(1) << rng.IntN(17)
		if rng.IntN(2) == 0 {
			nlb = 1 + rng.Uint32N(65536)
		}
		blocks := uint64(nlb) + rng.Uint64N(1<<rng.IntN(63))
		first := rng.Uint64N(math.MaxUint64 - blocks)
		for _, p := range []Pattern{RandRead, Read} {
			a, err := newAddresses(&Config{Pattern: p, First: first, Blocks: blocks, NLB: nlb}, rng.Uint64())
			require.NoError(t, err)
			dst := make([]uint64, 50)
			a.fill(dst)
			for _, slba := range dst {
				off := slba - first
				if slba < first || off > blocks-uint64(nlb) || off%uint64(nlb) != 0 {
					t.Fatalf("%s: slba %d with nlb %d in a region of %d blocks from %d", p, slba, nlb, blocks, first)
				}
			}
		}
	}
}

func TestB13RegionOfOneCommand(t *testing.T) {
	for _, p := range []Pattern{RandRead, Read} {
		for _, blocks := range []uint64{8, 9, 15} {
			a, err := newAddresses(&Config{Pattern: p, First: 100, Blocks: blocks, NLB: 8}, 1)
			require.NoError(t, err)
			dst := make([]uint64, 5)
			a.fill(dst)
			require.Equal(t, []uint64{100, 100, 100, 100, 100}, dst)
		}
	}
}

// TestSequentialWraps across batches, before a partial last command.
func TestSequentialWraps(t *testing.T) {
	a, err := newAddresses(&Config{Pattern: Read, First: 1000, Blocks: 27, NLB: 8}, 0)
	require.NoError(t, err)
	var got []uint64
	for _, n := range []int{2, 3, 0, 2} {
		dst := make([]uint64, n)
		a.fill(dst)
		got = append(got, dst...)
	}
	require.Equal(t, []uint64{1000, 1008, 1016, 1000, 1008, 1016, 1000}, got)
}

// TestRandomIsUniform: over every place, and repeatable by its seed. The
// generator is fixed, so that the counts are, too.
func TestRandomIsUniform(t *testing.T) {
	const places, draws = 100, 100_000
	for seed := range uint64(5) {
		a, err := newAddresses(&Config{Pattern: RandRead, First: 0, Blocks: places, NLB: 1}, seed)
		require.NoError(t, err)
		b, err := newAddresses(&Config{Pattern: RandRead, First: 0, Blocks: places, NLB: 1}, seed)
		require.NoError(t, err)
		x, y := make([]uint64, draws), make([]uint64, draws)
		a.fill(x)
		for i := 0; i < draws; i += 1000 {
			b.fill(y[i : i+1000])
		}
		require.Equal(t, x, y)
		var count [places]int
		for _, v := range x {
			count[v]++
		}
		chi2 := 0.0
		for _, c := range count {
			d := float64(c) - draws/places
			chi2 += d * d / (draws / places)
		}
		require.Less(t, chi2, 160.0, "99 degrees of freedom: above 160 with a chance of 1 in 10000")
		require.Greater(t, chi2, 50.0, "and below 50 likewise: too even to be random")
	}
}

func TestB13RegionTooSmall(t *testing.T) {
	for _, c := range []struct {
		blocks uint64
		nlb    uint32
	}{{0, 1}, {7, 8}, {100, 0}, {0, 0}, {1 << 31, math.MaxUint32}} {
		_, err := newAddresses(&Config{Pattern: RandRead, First: 0, Blocks: c.blocks, NLB: c.nlb}, 1)
		require.ErrorContains(t, err, "no whole command")
		require.ErrorContains(t, err, "smaller block size")
	}
	_, err := newAddresses(&Config{Pattern: RandRead, First: math.MaxUint64 - 5, Blocks: 10, NLB: 1}, 1)
	require.ErrorContains(t, err, "ends beyond")
}
