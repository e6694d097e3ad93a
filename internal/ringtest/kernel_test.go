package ringtest

import (
	"math"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/sys"
	"github.com/nvmepass/nvmepass/internal/uapi"
	"github.com/nvmepass/nvmepass/uringcmd"
)

func withRing(t *testing.T, k *Kernel, cfg uringcmd.Config, f func(r *uringcmd.Ring)) {
	t.Helper()
	cfg.Kernel = k
	r, err := uringcmd.New(cfg)
	require.NoError(t, err)
	require.NoError(t, r.Enable())
	f(r)
	require.NoError(t, r.Close())
	require.Equal(t, 1, k.Closed)
	require.Equal(t, 2, k.Unmapped)
}

// TestStandInKeepsOrderAcrossTheWrap of 32-bit positions, in every shape.
func TestStandInKeepsOrderAcrossTheWrap(t *testing.T) {
	for _, cfg := range []uringcmd.Config{{Slots: 4}, {Slots: 4, Big: true}, {Slots: 4, Linear: true}, {Slots: 4, Big: true, Linear: true}} {
		k := &Kernel{StartAt: math.MaxUint32 - 5}
		k.Answer = func(Entry) (int32, uint64, bool) { return int32(len(k.Consumed)), uint64(len(k.Consumed)) << 40, true }
		withRing(t, k, cfg, func(r *uringcmd.Ring) {
			done := make([]uringcmd.Completion, 4)
			for i := range 20 {
				slot := i * 3 % 4
				require.NoError(t, r.Publish(slot))
				require.NoError(t, r.Submit(1))
				require.Equal(t, 1, r.Reap(done))
				want := uringcmd.Completion{Slot: slot, Res: int32(i + 1)}
				if cfg.Big {
					want.Result = uint64(i+1) << 40
				}
				require.Equal(t, want, done[0])
			}
			require.Len(t, k.Consumed, 20)
			require.Len(t, k.Consumed[0].Image, map[bool]int{false: 64, true: 128}[cfg.Big])
		})
	}
}

func TestStandInFaults(t *testing.T) {
	p := uapi.Params{Flags: uapi.SetupCQE32, CQEntries: 8}
	_, err := (&Kernel{RefuseFlags: uapi.SetupCQE32}).Setup(4, &p)
	require.Equal(t, syscall.EINVAL, err)
	_, err = (&Kernel{SetupErr: syscall.EPERM}).Setup(4, &p)
	require.Equal(t, syscall.EPERM, err)
	k := &Kernel{RegisterErr: map[uint32]error{uapi.RegisterFiles: syscall.EMFILE}}
	for range 2 {
		_, err = k.Register(0, uapi.RegisterFiles, nil, 1)
		require.Equal(t, syscall.EMFILE, err)
	}
	require.Equal(t, 2, k.Registered[uapi.RegisterFiles])
}

// TestStandInHoldsBack what Answer does not post, and what needs GETEVENTS.
func TestStandInHoldsBack(t *testing.T) {
	k := &Kernel{Answer: func(e Entry) (int32, uint64, bool) { return 7, 0, uint32(e.SQE().UserData) != 1 }, NeedGetEvents: true}
	withRing(t, k, uringcmd.Config{Slots: 2, Without: uringcmd.SingleIssuer}, func(r *uringcmd.Ring) {
		done := make([]uringcmd.Completion, 2)
		require.NoError(t, r.Publish(0))
		require.NoError(t, r.Publish(1))
		require.NoError(t, r.Submit(0))
		require.Zero(t, r.Reap(done), "without GETEVENTS nothing shows")
		require.NoError(t, r.Submit(1))
		require.Equal(t, 1, r.Reap(done))
		require.Equal(t, uringcmd.Completion{Slot: 0, Res: 7}, done[0])
		require.Len(t, k.Held, 1)
		k.Release(0, -4)
		require.Equal(t, 1, r.Reap(done))
		require.Equal(t, uringcmd.Completion{Slot: 1, Res: -4}, done[0])
		_, ok := k.Consume()
		require.False(t, ok, "the queue is empty")
	})
}

// TestStandInMemoryIsDirty, so that a byte that nobody wrote shows.
func TestStandInMemoryIsDirty(t *testing.T) {
	k := &Kernel{}
	p := uapi.Params{Flags: uapi.SetupSQE128, CQEntries: 8}
	_, err := k.Setup(4, &p)
	require.NoError(t, err)
	b, err := k.Map(0, uapi.OffSQEs, 512)
	require.NoError(t, err)
	for _, c := range b {
		require.EqualValues(t, 0xAA, c)
	}
	require.NoError(t, sys.Unmap(b))
}
