package units

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzParseSize: what is read can be written and read again, with each unit
// meaning what its text says; anything else is refused with what is allowed.
func FuzzParseSize(f *testing.F) {
	for _, s := range []string{"4k", "1m", "512", "4Ki", "-1", "8388608t", "0", "7b", "4KIB", "9223372036854775807", "9223372036854775808", "1.5k", "4k ", "1_0", "٣k", "KELVIN\u212a"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := ParseSize(s)
		if err != nil {
			require.Zero(t, n)
			require.ErrorContains(t, err, "must be a whole number")
			return
		}
		require.GreaterOrEqual(t, n, int64(0))
		back, err := ParseSize(FormatSize(n))
		require.NoError(t, err)
		require.Equal(t, n, back)
		if doubled, err := ParseSize(s + "k"); err == nil {
			require.Equal(t, n<<10, doubled, "a number without a unit, and the same with one")
		}
	})
}

// FuzzFormatSize: every size has a form that is read back as it was.
func FuzzFormatSize(f *testing.F) {
	for _, n := range []int64{0, 1, 1023, 1024, 1 << 40, 3 << 39, math.MaxInt64} {
		f.Add(n)
	}
	f.Fuzz(func(t *testing.T, n int64) {
		if n < 0 {
			return // there are no negative sizes
		}
		back, err := ParseSize(FormatSize(n))
		require.NoError(t, err)
		require.Equal(t, n, back)
	})
}

// FuzzParseDuration: times are not negative and come back from their own text.
func FuzzParseDuration(f *testing.F) {
	for _, s := range []string{"2", "500ms", "1.5s", "-0s", "1h1m1s", "4294967295", "4294967296", "1d", "+1", "9223372036854775807ns", "0x1", ".5s", "1µs"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := ParseDuration(s)
		if err != nil {
			require.Zero(t, d)
			require.ErrorContains(t, err, "must be whole seconds")
			return
		}
		require.GreaterOrEqual(t, d, 0*d)
		back, err := ParseDuration(d.String())
		require.NoError(t, err)
		require.Equal(t, d, back)
	})
}
