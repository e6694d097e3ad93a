package sys

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNoReader: true of a pipe whose reader is gone, and of nothing else.
func TestNoReader(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer w.Close()
	require.False(t, NoReader(int(w.Fd())))
	require.False(t, NoReader(int(r.Fd())))
	require.NoError(t, r.Close())
	require.True(t, NoReader(int(w.Fd())))
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	require.NoError(t, err)
	defer null.Close()
	require.False(t, NoReader(int(null.Fd())))
	require.False(t, NoReader(-1))
}
