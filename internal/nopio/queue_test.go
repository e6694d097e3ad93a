package nopio

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/iosetup"
	"github.com/nvmepass/nvmepass/internal/ringtest"
	"github.com/nvmepass/nvmepass/internal/uapi"
	"github.com/nvmepass/nvmepass/internal/workload"
	"github.com/nvmepass/nvmepass/uringcmd"
)

func open(t testing.TB, cfg Config) *Queue {
	t.Helper()
	q, err := Open(cfg)
	if errors.Is(err, uringcmd.ErrDisabled) {
		ringtest.Missing(t, "io_uring", err)
	}
	require.NoError(t, err)
	return q
}

func tioRun(batch int, runtime time.Duration) workload.Config {
	return workload.Config{Batch: batch, Rule: iosetup.RuleTIOUring, Pattern: workload.Read, Blocks: 1, NLB: 1, Runtime: runtime}
}

// TestEntriesAreNOPs: every entry that the kernel gets is a NOP without file,
// flags or buffer, whatever slot it comes from and however the ring is made.
func TestEntriesAreNOPs(t *testing.T) {
	for name, cfg := range map[string]Config{
		"index": {Depth: 5}, "linear": {Depth: 5, Linear: true}, "plain ring": {Depth: 5, NoRegisteredRing: true},
	} {
		t.Run(name, func(t *testing.T) {
			k := &ringtest.Kernel{}
			cfg.Kernel = k
			q := open(t, cfg)
			require.Equal(t, !cfg.NoRegisteredRing, q.Registered())
			require.Equal(t, cfg.Linear, q.Flags()&uringcmd.NoSQArray != 0)
			require.Zero(t, q.Flags()&(uringcmd.SQE128|uringcmd.CQE32), "plain entries")
			done := make([]uringcmd.Completion, 5)
			for range 3 {
				require.NoError(t, q.ReadBatch([]int{4, 0, 2}, nil, 0))
				require.Equal(t, 3, q.InFlight())
				require.NoError(t, q.Submit(3))
				require.Equal(t, 3, q.Take(done))
				for _, c := range done[:3] {
					require.NoError(t, q.Err(c))
					require.Equal(t, q.OKResult(), c.Res)
				}
			}
			require.Len(t, k.Consumed, 9)
			for _, e := range k.Consumed {
				require.Len(t, e.Image, uapi.SQESize)
				sqe := *e.SQE()
				sqe.UserData = 0
				require.Equal(t, uapi.SQE{Opcode: uapi.OpNop, FD: -1}, sqe)
			}
			require.NoError(t, q.Close())
		})
	}
}

func TestErrors(t *testing.T) {
	k := &ringtest.Kernel{Answer: func(ringtest.Entry) (int32, uint64, bool) { return -int32(syscall.EINVAL), 0, true }}
	q := open(t, Config{Depth: 2, Kernel: k})
	res, err := workload.Run(context.Background(), q, tioRun(2, 5*time.Millisecond))
	require.NoError(t, err)
	require.Positive(t, res.Total.Failed)
	require.Equal(t, res.Total.Issued, res.Total.Failed)
	require.Equal(t, res.Total.Failed, res.Errors["EINVAL"])
	require.ErrorContains(t, q.Err(uringcmd.Completion{Slot: 1, Res: 7}), "result 7")
	require.ErrorIs(t, q.ReadBatch([]int{0, 0}, nil, 0), uringcmd.ErrSlotBusy)
	require.NoError(t, q.Submit(1))
	require.NoError(t, q.Close())

	_, err = Open(Config{Depth: 0})
	require.ErrorContains(t, err, "0 slots")
	_, err = Open(Config{Depth: 1, Kernel: &ringtest.Kernel{RegisterErr: map[uint32]error{uapi.RegisterEnableRings: syscall.EPERM}}})
	require.ErrorIs(t, err, syscall.EPERM)
}

// TestStall: a kernel that never completes ends the run within the limit.
func TestStall(t *testing.T) {
	k := &ringtest.Kernel{Answer: func(ringtest.Entry) (int32, uint64, bool) { return 0, 0, false }}
	q := open(t, Config{Depth: 2, Kernel: k, StallLimit: 10 * time.Millisecond})
	_, err := workload.Run(context.Background(), q, tioRun(1, time.Second))
	require.ErrorIs(t, err, uringcmd.ErrStalled)
	var leak *uringcmd.LeakError
	require.ErrorAs(t, q.Close(), &leak)
}

// TestRunningKernel: all published NOPs come back, none allocates.
func TestRunningKernel(t *testing.T) {
	for _, cfg := range []Config{{Depth: 8}, {Depth: 8, Linear: true}, {Depth: 8, SQPoll: &uringcmd.SQPoll{Idle: 5 * time.Millisecond}}} {
		cfg.HoldP = true
		q := open(t, cfg)
		res, err := workload.Run(context.Background(), q, tioRun(2, 20*time.Millisecond))
		require.NoError(t, err)
		require.Positive(t, res.Total.OK)
		require.Equal(t, res.Total.Issued, res.Total.OK)
		s := q.Stats()
		require.Equal(t, s.Submitted, s.Reaped)
		require.Zero(t, s.Stale)
		slots, done := []int{0, 1, 2, 3}, make([]uringcmd.Completion, 8)
		require.Zero(t, testing.AllocsPerRun(50, func() {
			if q.ReadBatch(slots, nil, 0) != nil || q.Submit(4) != nil {
				panic("submit")
			}
			for got := 0; got < 4; {
				got += q.Take(done)
			}
		}))
		require.NoError(t, q.Close())
	}
}

// BenchmarkNOP is the cost of one command in the run loop, kernel included.
func BenchmarkNOP(b *testing.B) {
	for _, d := range iosetup.DefaultDepths() {
		b.Run("depth="+d.String(), func(b *testing.B) {
			q := open(b, Config{Depth: d.QD, HoldP: true})
			slots, done := make([]int, d.Batch), make([]uringcmd.Completion, d.QD)
			for i := range slots {
				slots[i] = i
			}
			b.ReportAllocs()
			b.ResetTimer()
			for n := 0; n < b.N; n += d.Batch {
				if q.ReadBatch(slots, nil, 0) != nil || q.Submit(d.Batch) != nil || q.Take(done) != d.Batch {
					b.Fatal("a NOP did not come back")
				}
			}
			b.StopTimer()
			require.NoError(b, q.Close())
		})
	}
}
