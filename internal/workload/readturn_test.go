package workload

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/iosetup"
	"github.com/nvmepass/nvmepass/internal/ringtest"
	"github.com/nvmepass/nvmepass/internal/uapi"
	"github.com/nvmepass/nvmepass/passthru"
	"github.com/nvmepass/nvmepass/uringcmd"
)

// turnQueue is a ringQueue that goes round the loop of reads by itself.
type turnQueue struct{ *ringQueue }

func (q turnQueue) ReadTurns(slbas []uint64, nlb uint32, l *uringcmd.Loop) (int, error) {
	if q.refuse >= 0 { // a part of the batch is published, and nothing sent
		return q.TurnBy(len(slbas), l, func(slots []int) error { return q.ReadBatch(slots, slbas[:len(slots)], nlb) })
	}
	return q.Turns(slbas, 88, l)
}

// newTurnQueue has the ring take the short way if holdP.
func newTurnQueue(t *testing.T, depth int, k *ringtest.Kernel, holdP bool) turnQueue {
	t.Helper()
	q := &ringQueue{refuse: -1, errOf: func(c uringcmd.Completion) error {
		if errno := syscall.Errno(-c.Res); errno != syscall.EINTR {
			return errno
		}
		return passthru.ErrCancelled
	}}
	var err error
	q.Ring, err = uringcmd.New(uringcmd.Config{Slots: depth, Big: true, HoldP: holdP, Kernel: k})
	require.NoError(t, err)
	require.NoError(t, q.Enable())
	for slot := range depth {
		*q.BigEntry(slot) = uringcmd.BigSQE{Opcode: uapi.OpURingCmd}
	}
	return turnQueue{q}
}

// TestReadTurnsAreTurns: going round by itself, a run of reads makes the calls that
// it makes otherwise, with the same commands in them, and counts the same. Only it
// does not look for completions in calls that do not wait for any.
func TestReadTurnsAreTurns(t *testing.T) {
	const calls = 200
	for _, c := range []struct {
		depth, batch int
		rule         iosetup.BatchRule
		pattern      Pattern
	}{
		{1, 1, iosetup.RuleTIOUring, RandRead}, {1, 1, iosetup.RuleFio, RandRead}, {8, 2, iosetup.RuleTIOUring, RandRead}, {8, 2, iosetup.RuleFio, Read},
		{8, 3, iosetup.RuleTIOUring, Read}, {8, 3, iosetup.RuleFio, RandRead}, {16, 16, iosetup.RuleTIOUring, RandRead}, {16, 16, iosetup.RuleFio, RandRead},
	} {
		for _, holdP := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d_%d/%s/%v/%v", c.depth, c.batch, c.rule, c.pattern, holdP), func(t *testing.T) {
				run := func(turns bool) (*ringtest.Kernel, *runner) {
					k := lazy()
					q := newTurnQueue(t, c.depth, k, holdP)
					cfg := config(c.batch, c.rule)
					cfg.Pattern = c.pattern
					r := started(t, q, cfg)
					enter, releases := k.OnEnter, 0
					k.OnEnter = func(n, minComplete, flags uint32) (int, syscall.Errno) {
						if len(k.Enters) == calls {
							r.ctl.End()
						}
						if releases++; releases%5 == 0 { // more than a batch at once
							for len(k.Held) > 1 {
								k.Release(1, -5*int32(len(k.Held)%2))
							}
						}
						return enter(n, minComplete, flags)
					}
					seen := r.ctl.word.Load()
					for r.ctl.word.Load() == seen {
						if turns {
							r.turnReads(r.reader(), seen)
						} else {
							r.turn()
						}
					}
					require.NoError(t, r.fatal)
					free := slices.Clone(r.free)
					require.NoError(t, q.Close())
					r.free = free
					return k, r
				}
				wantKernel, want := run(false)
				gotKernel, got := run(true)
				require.Equal(t, thoughNotLooking(wantKernel.Enters), thoughNotLooking(gotKernel.Enters))
				require.Len(t, gotKernel.Consumed, len(wantKernel.Consumed))
				for i, e := range wantKernel.Consumed {
					require.Equal(t, binary.NativeEndian.Uint64(e.Image[88:]), binary.NativeEndian.Uint64(gotKernel.Consumed[i].Image[88:]), "SLBA of entry %d", i)
				}
				require.Equal(t, want.total, got.total)
				require.Equal(t, want.errors, got.errors)
				require.Len(t, got.free, len(want.free)) // their order is not the same after failures
				require.Equal(t, []uint64{want.inFlightSum, want.inFlightSamples}, []uint64{got.inFlightSum, got.inFlightSamples})
			})
		}
	}
}

func thoughNotLooking(calls []ringtest.Enter) []ringtest.Enter {
	calls = slices.Clone(calls)
	for i, c := range calls {
		if c.MinComplete == 0 {
			calls[i].Flags &^= uapi.EnterGetEvents
		}
	}
	return calls
}

// TestReadTurnAccounting: over a kernel that misbehaves, and however the run
// ends, every command is accounted for and every slot is somewhere once.
func TestReadTurnAccounting(t *testing.T) {
	clock := uint64(time.Now().UnixNano())
	t.Logf("seed of the clock: %d", clock)
	ends := map[string]int{}
	for i := range uint64(400) {
		seed := i
		if i >= 300 {
			seed += clock
		}
		random := rand.New(rand.NewPCG(seed, 3))
		k := &ringtest.Kernel{StartAt: 0xfffffff0, Forgetful: true}
		a := ringtest.NewAdversary(k, seed)
		depth := 1 + random.IntN(16)
		q := newTurnQueue(t, depth, k, random.IntN(4) > 0)
		r := started(t, q, config(1+random.IntN(depth), []iosetup.BatchRule{iosetup.RuleTIOUring, iosetup.RuleFio}[random.IntN(2)]))
		taken, last, end := 0, random.IntN(200), random.IntN(3)
		a.OnPost = func(uint64, int32, uint64, bool) {}
		a.OnTake = func(ringtest.Entry) (int32, uint64) {
			if taken++; taken == last {
				switch end {
				case 0:
					r.ctl.End()
				case 1:
					return -int32(syscall.ENODEV), 0
				default:
					q.refuse = random.IntN(depth)
				}
			}
			return []int32{0, 0, 0, -int32(syscall.EIO), -int32(syscall.EINTR)}[random.IntN(5)], 0
		}
		r.ctl.Measure()
		res, err := r.loop()
		if err != nil {
			ends[fmt.Sprint(err)]++
		}
		n := res.Total
		require.Equal(t, n.Issued, n.OK+n.Failed+n.Cancelled+uint64(q.InFlight()), "seed %d, %v", seed, err)
		require.Equal(t, depth, len(r.free)+q.InFlight(), "seed %d, %v", seed, err)
		slices.Sort(r.free)
		require.Len(t, slices.Compact(slices.Clone(r.free)), len(r.free), "seed %d: a slot is free twice: %v", seed, r.free)
		for _, slot := range r.free {
			require.False(t, q.Busy(slot), "seed %d: slot %d is free and in flight", seed, slot)
		}
		a.Calm = true
		require.NoError(t, q.Close())
	}
	require.Greater(t, len(ends), 3, "%v", ends)
}
