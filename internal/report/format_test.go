package report

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/compare"
)

func TestSignificant(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 1056: "1056", 80: "80.0", 13.3: "13.3", 13.25: "13.2", 99.94: "99.9", 99.96: "100", 9.996: "10.0", 9.994: "9.99", 1: "1.00",
		0.9996: "1.00", 0.5: "0.500", 0.0133: "0.0133", 0.00133: "0.00133", 999.5: "1000", 11323.4: "11323", 1e9: "1000000000",
	} {
		require.Equal(t, want, significant(v), v)
	}
	require.Equal(t, "-", optional(nil))
	require.Equal(t, "2.00", optional(new(2.0)))
}

func TestHalfWidth(t *testing.T) {
	for _, tc := range []struct {
		median, low, high float64
		want              string
	}{
		{100, 98, 103, "3.0%"},
		{100, 97, 101, "3.0%"},
		{100, 100, 100, "0.0%"},
		{100, 90.06, 100, "9.9%"},
		{100, 90.04, 100, "10%"},
		{100, 1, 150, "99%"},
		{100, 1, 2000, ">999%"},
		{100, 101, 102, "2.0%"},
		{0, 0, 0, "-"},
	} {
		e := compare.Estimate{Median: &tc.median, CILow: &tc.low, CIHigh: &tc.high}
		require.Equal(t, tc.want, halfWidth(e), tc)
	}
	require.Equal(t, "-", halfWidth(compare.Estimate{Median: new(3.0)}))
	require.Equal(t, "-", halfWidth(compare.Estimate{}))
}

func TestByteSize(t *testing.T) {
	for n, want := range map[uint64]string{0: "0 B", 512: "512 B", 4160: "4160 B", 1 << 17: "128 KiB", 1 << 20: "1 MiB", 1 << 62: "4194304 TiB"} {
		require.Equal(t, want, byteSize(n))
	}
}

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 0: "0s", 1499 * time.Millisecond: "1s", 59600 * time.Millisecond: "1m00s", 80 * time.Second: "1m20s",
		3661 * time.Second: "1h01m01s", 100 * time.Hour: "100h00m00s",
	} {
		require.Equal(t, want, duration(d))
	}
}

func TestASCII(t *testing.T) {
	for in, want := range map[string]string{
		" QEMU NVMe Ctrl  ": "QEMU NVMe Ctrl", "a\nb": "a; b", "\x1b[31mred\x07": `\x1b[31mred\x07`, "Café": `Caf\u00e9`, "\xff": `\ufffd`, "\x7f": `\x7f`,
		"😀": `\u1f600`,
	} {
		require.Equal(t, want, ascii(in))
	}
}

func TestWrap(t *testing.T) {
	for _, tc := range []struct {
		in   string
		want string
	}{
		{"", "\n"},
		{"one two", "one two\n"},
		{"one two three", "one two\n  three\n"},
		{"abcdefghijklmnopqrstuvwxyz", "abcdefghij\n  klmnopqr\n  stuvwxyz\n"},
		{"a abcdefghijkl", "a\n  abcdefgh\n  ijkl\n"},
		{"1234567890 x", "1234567890\n  x\n"},
	} {
		var b strings.Builder
		wrap(&b, tc.in, 10, 2)
		require.Equal(t, tc.want, b.String(), tc.in)
	}
}
