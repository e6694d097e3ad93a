package fixedbuf

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestB09SlotsArePageAligned: also where the slot size is no multiple of a page.
func TestB09SlotsArePageAligned(t *testing.T) {
	for _, size := range []int{1, 512, 520, 4096, 4160, 131072, 1 << 20} {
		for _, guard := range []bool{false, true} {
			for _, huge := range []HugePages{HugeAuto, HugeNever} {
				t.Run(fmt.Sprintf("size=%d/guard=%v/huge=%d", size, guard, huge), func(t *testing.T) {
					a, err := New(Config{Slots: 9, SlotSize: size, Guard: guard, HugePages: huge})
					require.NoError(t, err)
					defer func() { require.NoError(t, a.Close()) }()
					for i := range a.Slots() {
						require.Zero(t, a.Addr(i)%4096)
						b := a.Slot(i)
						require.Len(t, b, size)
						require.Equal(t, size, cap(b))
						require.Equal(t, a.Addr(i), addressOf(b))
						require.Equal(t, size, bytes.Count(b, []byte{0}), "zeroed")
						for j := range b {
							b[j] = byte(i)
						}
					}
					if a.Huge() {
						require.Zero(t, (a.Addr(0)-uint64(a.guard))%hugePageSize)
					}
					if guard {
						require.NoError(t, a.CheckGuards(), "filling the slots leaves the canaries alone")
					} else {
						require.Error(t, a.CheckGuards())
					}
				})
			}
		}
	}
}

func TestGuardsCatchOverruns(t *testing.T) {
	for _, size := range []int{512, 4096} {
		a, err := New(Config{Slots: 3, SlotSize: size, Guard: true})
		require.NoError(t, err)
		require.NoError(t, a.CheckGuards())
		for slot := range 3 {
			at := a.offset(slot) + size
			a.mem[at] = 0
			require.ErrorContains(t, a.CheckGuards(), fmt.Sprintf("byte 0 after slot %d", slot))
			a.mem[at] = canary
		}
		a.mem[a.offset(0)-1] ^= 1
		require.ErrorContains(t, a.CheckGuards(), "after slot -1")
		require.NoError(t, a.Close())
		require.NoError(t, a.Close())
	}
}

func TestArenaLimits(t *testing.T) {
	for _, c := range []Config{{}, {Slots: 1}, {SlotSize: 1}, {Slots: -1, SlotSize: -1}} {
		_, err := New(c)
		require.ErrorContains(t, err, "at least 1")
	}
	for _, c := range []Config{{Slots: math.MaxInt, SlotSize: math.MaxInt}, {Slots: 1, SlotSize: MaxArenaBytes + 1}, {Slots: math.MaxInt, SlotSize: 1}} {
		_, err := New(c)
		require.ErrorContains(t, err, "limit")
	}
}

// ring is a Registrar that can refuse.
type ring struct {
	errs       []error // of RegisterBuffers, in turn
	registered [][]byte
	calls      [][][]byte
}

func (r *ring) RegisterBuffers(b [][]byte) error {
	r.calls = append(r.calls, b)
	if len(r.errs) >= len(r.calls) && r.errs[len(r.calls)-1] != nil {
		return r.errs[len(r.calls)-1]
	}
	r.registered = b
	return nil
}

func (r *ring) UnregisterBuffers() error {
	r.registered = nil
	return nil
}

func TestBindModes(t *testing.T) {
	einval := fmt.Errorf("read: %w", syscall.EINVAL)
	tests := []struct {
		name    string
		regErrs []error
		tryErrs []error
		want    Mode
		reason  string
	}{
		{"works", nil, nil, Whole, ""},
		{"drive says no, kernel was fine", nil, []error{errors.New("LBA out of range")}, Whole, ""},
		{"sub-buffer fault", nil, []error{einval}, PerSlot, "whole"},
		{"multi-page fault", nil, []error{einval, einval}, Plain, "per-slot"},
		{"memlock", []error{syscall.ENOMEM, syscall.ENOMEM}, nil, Plain, "cannot allocate memory"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := &ring{errs: tt.regErrs}
			n := 0
			b, err := Bind(r, Config{Slots: 4, SlotSize: 512}, func(*Buffers) error {
				n++
				if n <= len(tt.tryErrs) {
					return tt.tryErrs[n-1]
				}
				return nil
			})
			require.NoError(t, err)
			defer func() { require.NoError(t, b.Close()) }()
			require.Equal(t, tt.want, b.Mode())
			require.Contains(t, b.Reason(), tt.reason)
			require.Equal(t, tt.reason == "", b.Reason() == "")
			switch tt.want {
			case Whole:
				i, ok := b.Fixed(3, 100)
				require.True(t, ok)
				require.Zero(t, i)
				require.Len(t, r.registered, 1)
			case PerSlot:
				i, ok := b.Fixed(3, 512)
				require.True(t, ok)
				require.EqualValues(t, 3, i)
				_, ok = b.Fixed(3, 511)
				require.False(t, ok, "a shorter command must go as a plain one")
				require.Len(t, r.registered, 4)
			case Plain:
				_, ok := b.Fixed(0, 512)
				require.False(t, ok)
				require.Nil(t, r.registered)
			}
		})
	}
}

// TestSplitAt1GiB: no registered buffer is longer than the kernel takes, and
// every slot lies in the buffer that Fixed names.
func TestSplitAt1GiB(t *testing.T) {
	r := &ring{}
	const size = 200 << 20
	b, err := Bind(r, Config{Slots: 12, SlotSize: size, HugePages: HugeNever}, func(*Buffers) error { return nil })
	require.NoError(t, err)
	defer func() { require.NoError(t, b.Close()) }()
	require.Len(t, r.registered, 3)
	for slot := range 12 {
		i, ok := b.Fixed(slot, size)
		require.True(t, ok)
		piece := r.registered[i]
		require.LessOrEqual(t, len(piece), maxBufferBytes)
		start := addressOf(piece)
		require.GreaterOrEqual(t, b.Addr(slot), start)
		require.LessOrEqual(t, b.Addr(slot)+size, start+uint64(len(piece)))
	}
}

func TestPerSlotLimit(t *testing.T) {
	r := &ring{}
	b, err := Bind(r, Config{Slots: maxBuffers + 1, SlotSize: 1}, func(b *Buffers) error {
		if b.Mode() == Whole {
			return syscall.EINVAL
		}
		return nil
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, b.Close()) }()
	require.Equal(t, Plain, b.Mode())
	require.ErrorContains(t, errors.New(b.Reason()), "16384")
}

func TestLeakKeepsMemory(t *testing.T) {
	a, err := New(Config{Slots: 1, SlotSize: 1})
	require.NoError(t, err)
	a.Leak()
	require.NoError(t, a.Close())
	a.Slot(0)[0] = 1 // still mapped
}

// TestWhatIsNotThere is an error, nil or 0, and no panic.
func TestWhatIsNotThere(t *testing.T) {
	for _, h := range []HugePages{-1, HugeTLB + 1} {
		_, err := New(Config{Slots: 1, SlotSize: 1, HugePages: h})
		require.ErrorContains(t, err, fmt.Sprintf("Config.HugePages %d is none of", h))
	}
	const slots, size = 3, 1 << 20 // in huge pages, which leave mapped memory behind the last slot
	b, err := BindPlain(Config{Slots: slots, SlotSize: size, Guard: true})
	require.NoError(t, err)
	b.mode, b.perPiece = Whole, slots
	nothing := func(slot int) {
		require.Nil(t, b.Slot(slot))
		require.Zero(t, b.Addr(slot))
		_, ok := b.Fixed(slot, size)
		require.False(t, ok)
	}
	for _, slot := range []int{-1, slots, math.MinInt, math.MaxInt} {
		nothing(slot)
	}
	require.NoError(t, b.Close())
	nothing(0)
	require.ErrorIs(t, b.CheckGuards(), os.ErrClosed)
	require.Equal(t, "mode -1", Mode(-1).String())
	require.Equal(t, "mode 3", Mode(3).String())
}
