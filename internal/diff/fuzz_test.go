package diff

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/badflag"
)

// FuzzParseFailOn: sizes are shares within their limits, and what is accepted
// reads back from its own text.
func FuzzParseFailOn(f *testing.F) {
	for _, s := range []string{"slower:3%,noisy", "faster", "changed:0.5%", "slower:100%", "slower:0%", "slower:NaN%", "slower:1e-320%", "noisy:1%", "", ",", "slower:3", "slower:%", "slower:0x1p-1%", "slower:99.99999999999999999%"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		list, err := ParseFailOn(in)
		if err != nil {
			var bad *badflag.Error
			require.ErrorAs(t, err, &bad)
			require.Equal(t, "--fail-on", bad.Flag)
			require.NotEmpty(t, bad.Value)
			require.NotEmpty(t, bad.Problem)
			return
		}
		var texts []string
		for _, f := range list {
			require.Contains(t, []string{"slower", "faster", "changed", "noisy"}, f.Kind)
			require.True(t, f.Least >= 0 && f.Least < 1, "%v of %q", f.Least, in)
			texts = append(texts, f.String())
		}
		again, err := ParseFailOn(strings.Join(texts, ","))
		require.NoError(t, err, "%q of %q", texts, in)
		require.Len(t, again, len(list))
		for i := range list {
			require.Equal(t, list[i].Kind, again[i].Kind)
			require.InDelta(t, list[i].Least, again[i].Least, 1e-12)
		}
	})
}
