package workload

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/ringtest"
	"github.com/nvmepass/nvmepass/internal/uapi"
	"github.com/nvmepass/nvmepass/uringcmd"
)

// ringQueue is the least queue that a run can drive, on a stand-in kernel or,
// over /dev/null, on the running one.
type ringQueue struct {
	*uringcmd.Ring
	fd     int32
	okRes  int32
	refuse int // slot whose command cannot be built, -1 for none
	errOf  func(c uringcmd.Completion) error
}

var errRefused = errors.New("cannot be built")

func (q *ringQueue) Depth() int                         { return q.Slots() }
func (q *ringQueue) OKResult() int32                    { return q.okRes }
func (q *ringQueue) Take(dst []uringcmd.Completion) int { return q.Reap(dst) }
func (q *ringQueue) Err(c uringcmd.Completion) error    { return q.errOf(c) }
func (q *ringQueue) slba(e ringtest.Entry) uint64       { return binary.NativeEndian.Uint64(e.Image[88:]) }
func (q *ringQueue) ReadBatch(slots []int, slbas []uint64, _ uint32) error {
	for i, slot := range slots {
		if slot == q.refuse {
			return fmt.Errorf("slot %d: %w", slot, errRefused)
		}
		e := q.BigEntry(slot)
		*e = uringcmd.BigSQE{Opcode: uapi.OpURingCmd, FD: q.fd}
		binary.NativeEndian.PutUint64(e.Cmd[40:], slbas[i])
		if err := q.Publish(slot); err != nil {
			return err
		}
	}
	return nil
}

// newRingQueue makes a queue that is closed with the test; k nil is the running
// kernel.
func newRingQueue(t *testing.T, depth int, k *ringtest.Kernel) *ringQueue {
	t.Helper()
	cfg := uringcmd.Config{Slots: depth, Big: true, StallLimit: 20 * time.Millisecond}
	q := &ringQueue{refuse: -1, errOf: func(c uringcmd.Completion) error { return syscall.Errno(-c.Res) }}
	if k != nil {
		cfg.Kernel = k
	} else {
		if _, err := uringcmd.ProbeKernel(); errors.Is(err, uringcmd.ErrDisabled) {
			ringtest.Missing(t, "io_uring", err)
		}
		null, err := os.Open(os.DevNull)
		require.NoError(t, err)
		t.Cleanup(func() { _ = null.Close() })
		q.fd = int32(null.Fd())
	}
	var err error
	q.Ring, err = uringcmd.New(cfg)
	require.NoError(t, err)
	require.NoError(t, q.Enable())
	t.Cleanup(func() { _ = q.Close() })
	return q
}

// lazy makes a kernel that completes as many commands as a call waits for, the
// oldest first, and none otherwise.
func lazy() *ringtest.Kernel {
	k := &ringtest.Kernel{Answer: func(ringtest.Entry) (int32, uint64, bool) { return 0, 0, false }}
	k.OnEnter = func(n, minComplete, flags uint32) (int, syscall.Errno) {
		done := k.Default(n, flags)
		for range minComplete {
			if len(k.Held) > 0 {
				k.Release(0, 0)
			}
		}
		return done, 0
	}
	return k
}
