package guesttest

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGolden(t *testing.T) {
	s, err := Golden()
	require.NoError(t, err)
	require.Equal(t, "golden\n", s)
	exe, err := os.Executable()
	require.NoError(t, err)
	t.Log("runs as", exe)
}
