package fixedbuf

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHolds(t *testing.T) {
	a, err := New(Config{Slots: 3, SlotSize: 600, Guard: true})
	require.NoError(t, err)
	for i := range 3 {
		require.True(t, a.Holds(a.Slot(i)))
		require.True(t, a.Holds(a.Slot(i)[599:]))
		require.True(t, a.Holds(a.Slot(i)[10:20]))
		require.False(t, a.Holds(a.Slot(i)[:0]))
		o := a.offset(i)
		require.False(t, a.Holds(a.mem[o:o+601]), "one byte beyond the slot")
		require.False(t, a.Holds(a.mem[o-1:o+1]), "one byte before it")
	}
	require.False(t, a.Holds(a.mem[a.offset(0):a.offset(1)+1]), "across two slots")
	require.False(t, a.Holds(make([]byte, 10)))
	require.NoError(t, a.Close())
	require.False(t, a.Holds(make([]byte, 10)))
}
