// Package badflagtest checks the errors of settings in tests.
package badflagtest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/badflag"
)

// Require checks that err is about this flag and value, and says a problem and a
// remedy.
func Require(t testing.TB, err error, flag, value string) {
	t.Helper()
	var bad *badflag.Error
	require.ErrorAs(t, err, &bad)
	require.Equal(t, flag, bad.Flag)
	require.Equal(t, value, bad.Value)
	require.NotEmpty(t, bad.Problem)
	require.NotEmpty(t, bad.Remedy)
	for _, part := range []string{bad.Flag, bad.Value, bad.Problem, bad.Remedy} {
		require.ErrorContains(t, err, part)
	}
}
