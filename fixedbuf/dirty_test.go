package fixedbuf

import (
	"bytes"
	"encoding/binary"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/sys"
)

// own tells whether the page at b belongs to this process alone; the page of
// zeros that all share does not (bit 56 of an entry in /proc/self/pagemap).
func own(t *testing.T, b []byte) bool {
	t.Helper()
	f, err := os.Open("/proc/self/pagemap")
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	var entry [8]byte
	_, err = f.ReadAt(entry[:], int64(AddressOf(b)/uint64(sys.PageSize())*8))
	require.NoError(t, err)
	return binary.NativeEndian.Uint64(entry[:])>>56&1 == 1
}

// TestDirty: a kernel that pins pages as if only to read from them must not get
// the page of zeros.
func TestDirty(t *testing.T) {
	page := sys.PageSize()
	for _, c := range []struct {
		name  string
		slot  int
		n     int
		pages []bool // of slot 1
	}{
		{"nothing", 1, 0, []bool{false, false, false}},
		{"one byte", 1, 1, []bool{true, false, false}},
		{"a page", 1, page, []bool{true, false, false}},
		{"a page and a byte", 1, page + 1, []bool{true, true, false}},
		{"the slot", 1, 2*page + 8, []bool{true, true, true}},
		{"more than the slot", 1, 1 << 30, []bool{true, true, true}},
		{"another slot", 0, 2*page + 8, []bool{false, false, false}},
		{"no slot", 3, 1, []bool{false, false, false}},
		{"no slot either", -1, 1, []bool{false, false, false}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, err := New(Config{Slots: 3, SlotSize: 2*page + 8, HugePages: HugeNever})
			require.NoError(t, err)
			defer func() { require.NoError(t, a.Close()) }()
			b := a.Slot(1)
			// Reading maps the shared page of zeros.
			require.Equal(t, len(b), bytes.Count(b, []byte{0}))
			require.False(t, own(t, b))
			a.Dirty(c.slot, c.n)
			for i, want := range c.pages {
				require.Equal(t, want, own(t, b[i*page:]), "page %d", i)
			}
		})
	}

	a, err := New(Config{Slots: 2, SlotSize: 8, Guard: true})
	require.NoError(t, err)
	for i := range a.Slots() {
		copy(a.Slot(i), "unbroken")
		a.Dirty(i, 8)
		require.Equal(t, "unbroken", string(a.Slot(i)), "no byte changes")
	}
	require.NoError(t, a.CheckGuards())
	require.NoError(t, a.Close())
	a.Dirty(0, 8) // after Close: nothing to write to
}
