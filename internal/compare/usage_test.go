package compare

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/badflag"
)

// requireUsage checks that err is a usage error which names the flag, the value and a remedy.
func requireUsage(t *testing.T, err error, flag, value string) {
	t.Helper()
	var bad *badflag.Error
	require.ErrorAs(t, err, &bad)
	require.Equal(t, flag, bad.Flag)
	require.Equal(t, value, bad.Value)
	require.NotEmpty(t, bad.Problem)
	require.NotEmpty(t, bad.Remedy)
	for _, part := range []string{bad.Flag, bad.Value, bad.Problem, bad.Remedy} {
		require.Contains(t, err.Error(), part)
	}
}
