package units

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestParseSize(t *testing.T) {
	for in, want := range map[string]int64{
		"0": 0, "512": 512, "4k": 4096, "4K": 4096, "4KiB": 4096, "1m": 1 << 20, "2GiB": 2 << 30, "3t": 3 << 40, "7b": 7,
		"9223372036854775807": math.MaxInt64, "8388607t": 8388607 << 40,
	} {
		n, err := ParseSize(in)
		require.NoError(t, err, in)
		require.Equal(t, want, n, in)
	}
	for _, in := range []string{"", "k", "4Ki", "4kb", "-1", "+1", "1.5k", " 4k", "4k ", "4 k", "0x10", "1_000", "9223372036854775808", "8388608t", "4kk", "\xff"} {
		_, err := ParseSize(in)
		require.ErrorContains(t, err, "must be a whole number", in)
	}
}

func TestFormatSizeRoundTrip(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 512: "512", 4096: "4k", 4160: "4160", 1 << 30: "1g", 3 << 40: "3t", 1025 << 10: "1025k"} {
		require.Equal(t, want, FormatSize(n))
		back, err := ParseSize(want)
		require.NoError(t, err)
		require.Equal(t, n, back)
	}
}

func TestParseDuration(t *testing.T) {
	for in, want := range map[string]time.Duration{"2": 2 * time.Second, "500ms": 500 * time.Millisecond, "1.5s": 1500 * time.Millisecond, "0": 0, "1m": time.Minute} {
		d, err := ParseDuration(in)
		require.NoError(t, err, in)
		require.Equal(t, want, d, in)
	}
	for _, in := range []string{"", "-1", "-1s", "1 s", "1d", "s", "1e3", "99999999999999999999"} {
		_, err := ParseDuration(in)
		require.ErrorContains(t, err, "must be whole seconds", in)
	}
}
