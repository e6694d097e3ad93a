package uringcmd

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/ringtest"
	"github.com/nvmepass/nvmepass/internal/uapi"
)

// TestSQPollOnTheRunningKernel: the kernel's thread takes a thousand commands,
// also after it went to sleep, whatever the kind of submission queue.
func TestSQPollOnTheRunningKernel(t *testing.T) {
	for _, linear := range []bool{false, true} {
		r, err := New(Config{Slots: 4, Big: true, Linear: linear, SQPoll: &SQPoll{Idle: time.Millisecond}})
		if err != nil {
			ringtest.Missing(t, "io_uring with a submission thread", err)
		}
		null, err := os.Open(os.DevNull)
		require.NoError(t, err)
		require.NoError(t, r.RegisterFiles([]int{int(null.Fd())}))
		require.NoError(t, r.Enable())
		require.Contains(t, r.Flags().Names(), "SQPOLL")
		require.Zero(t, r.Flags()&(DeferTaskrun|CoopTaskrun))
		done := make([]Completion, 4)
		for turn := range 250 {
			if turn%100 == 50 {
				time.Sleep(20 * time.Millisecond) // the thread sleeps
			}
			for slot := range 4 {
				*r.BigEntry(slot) = BigSQE{Opcode: uapi.OpURingCmd, Flags: uapi.SQEFixedFile}
				require.NoError(t, r.Publish(slot))
			}
			require.NoError(t, r.Submit(4))
			require.Equal(t, 4, r.Reap(done))
		}
		s := r.Stats()
		require.EqualValues(t, 1000, s.Submitted)
		require.EqualValues(t, 1000, s.Reaped)
		require.Less(t, s.Enters, uint64(1000))
		for slot := range 4 {
			require.NoError(t, r.Publish(slot))
		}
		require.NoError(t, r.Submit(0))
		require.NoError(t, r.Close(), "which drains")
		require.NoError(t, null.Close())
	}
}

// TestSQPollStalls: a thread that takes nothing is noticed.
func TestSQPollStalls(t *testing.T) {
	k := &ringtest.Kernel{OnEnter: func(_, _, _ uint32) (int, syscall.Errno) { return 0, 0 }}
	owned(t, Config{Slots: 2, Kernel: k, SQPoll: &SQPoll{}, StallLimit: 30 * time.Millisecond}, func(r *Ring) {
		noError(t, r.Publish(0))
		err := r.Submit(1)
		if !errors.Is(err, ErrStalled) || !strings.Contains(err.Error(), "1 not yet taken") {
			t.Errorf("got %v", err)
		}
		k.Default(1, 0)
		noError(t, r.Submit(1))
		if n := r.Reap(make([]Completion, 1)); n != 1 {
			t.Errorf("reaped %d", n)
		}
	})
}

func TestSQPollAndHybridConfig(t *testing.T) {
	for text, cfg := range map[string]Config{
		"SQPOLL idle time -1ns":      {Slots: 1, SQPoll: &SQPoll{Idle: -1}},
		"SQPOLL idle time 1.5ms":     {Slots: 1, SQPoll: &SQPoll{Idle: 1500 * time.Microsecond}},
		"SQPOLL CPU -2":              {Slots: 1, SQPoll: &SQPoll{Pinned: true, CPU: -2}},
		"no SQ_REWIND with SQPOLL":   {Slots: 1, Linear: true, Rewind: true, SQPoll: &SQPoll{}},
		"HYBRID_IOPOLL needs IOPOLL": {Slots: 1, HybridPoll: true},
	} {
		_, err := New(cfg)
		require.ErrorContains(t, err, text)
	}
	_, err := New(Config{Slots: 1, SQPoll: &SQPoll{Pinned: true, CPU: 100000}})
	require.ErrorContains(t, err, "CPU 100000")
	k := &ringtest.Kernel{RefuseFlags: uapi.SetupHybridIOPoll}
	r, err := New(Config{Slots: 1, IOPoll: true, HybridPoll: true, Kernel: k})
	require.NoError(t, err)
	require.NotContains(t, r.Flags().Names(), "HYBRID_IOPOLL", "an older kernel polls without it")
	require.Contains(t, r.Requested().Names(), "HYBRID_IOPOLL")
	require.NoError(t, r.Close())
}
