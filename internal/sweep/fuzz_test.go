package sweep

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/badflag"
	"github.com/nvmepass/nvmepass/internal/compare"
	"github.com/nvmepass/nvmepass/internal/units"
)

// FuzzLists: sizes and paths are within their limits, each once, sizes sorted,
// and read back from their own text.
func FuzzLists(f *testing.F) {
	for _, s := range []string{"4k,128k, 144k,1m", "512,512", "0", "1g", "16m", "", ",", "4k,", "4Ki", "block,sync-poll, sync", "passthru-poll", "block,block", strings.Repeat("1,", 120)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		var bad *badflag.Error
		if sizes, err := ParseSizes(in); err != nil {
			require.ErrorAs(t, err, &bad)
			require.Equal(t, "--bs-list", bad.Flag)
			require.NotEmpty(t, bad.Value)
			require.NotEmpty(t, bad.Remedy)
		} else {
			require.LessOrEqual(t, len(sizes), MaxSizes)
			require.True(t, slices.IsSorted(sizes))
			var texts []string
			for i, n := range sizes {
				require.True(t, n >= 1 && n <= compare.MaxBlockSize && (i == 0 || sizes[i-1] != n), sizes)
				texts = append(texts, units.FormatSize(int64(n)))
			}
			again, err := ParseSizes(strings.Join(texts, ","))
			require.NoError(t, err)
			require.Equal(t, sizes, again)
		}
		if paths, err := ParsePaths(in); err != nil {
			require.ErrorAs(t, err, &bad)
			require.Equal(t, "--paths", bad.Flag)
			require.NotEmpty(t, bad.Remedy)
		} else {
			for i, p := range paths {
				require.Contains(t, AllPaths(), p)
				require.NotContains(t, paths[:i], p)
			}
		}
	})
}

// FuzzDefaultSizes: for every block size and limit that a drive can claim, the
// sizes of the default list are whole blocks of at least one, sorted, each once,
// and below what a command line may ask for.
func FuzzDefaultSizes(f *testing.F) {
	for _, v := range [][2]uint64{{512, 131072}, {4096, 0}, {4160, 524288}, {520, 131000}, {1 << 31, 1 << 33}, {512, 512}, {512, 1 << 40}, {65536, 4096}} {
		f.Add(v[0], v[1])
	}
	f.Fuzz(func(t *testing.T, unit, limit uint64) {
		// nvme.Layout allows units up to 2^31 and 65535 bytes of metadata; limits
		// come from 32-bit attributes of sysfs in KiB.
		unit, limit = unit%(1<<31+1<<16), limit%(1<<42)
		if unit == 0 {
			return
		}
		sizes := DefaultSizes(unit, limit)
		require.True(t, slices.IsSorted(sizes))
		for i, n := range sizes {
			require.True(t, n > 0 && uint64(n)%unit == 0, "%d of unit %d", n, unit)
			require.LessOrEqual(t, n, compare.MaxBlockSize)
			require.True(t, i == 0 || sizes[i-1] != n)
		}
		require.LessOrEqual(t, len(sizes), MaxSizes)
	})
}
