package cell

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/badflag"
)

// FuzzParseInjection: a time or a share within its limits, which reads back
// from its own text.
func FuzzParseInjection(f *testing.F) {
	for _, s := range []string{"400ns", "5%", "5%/even", "1s/even", "0ns", "1.1s", "90%", "90.1%", "NaN%", "-1%", "%", "", "/even", "1e-320%", "1µs"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		got, err := ParseInjection(in)
		if err != nil {
			var bad *badflag.Error
			require.ErrorAs(t, err, &bad)
			require.Equal(t, "--inject-delay", bad.Flag)
			require.NotEmpty(t, bad.Problem)
			require.Equal(t, Injection{}, got)
			return
		}
		require.True(t, got.Delay >= 0 && got.Delay <= time.Second && got.Slowdown >= 0 && got.Slowdown <= 0.9, got)
		require.NotEqual(t, got.Delay > 0, got.Slowdown > 0, "one of the two: %+v of %q", got, in)
		again, err := ParseInjection(got.Flag())
		require.NoError(t, err, "%q of %q", got.Flag(), in)
		require.Equal(t, got.Delay, again.Delay)
		require.InDelta(t, got.Slowdown, again.Slowdown, 1e-12)
		require.Equal(t, got.EvenRounds, again.EvenRounds)
		require.NotEmpty(t, got.String())
	})
}
