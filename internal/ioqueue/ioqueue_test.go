package ioqueue

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/fixedbuf"
	"github.com/nvmepass/nvmepass/internal/iosetup"
	"github.com/nvmepass/nvmepass/passthru"
	"github.com/nvmepass/nvmepass/uringcmd"
)

func TestFixedText(t *testing.T) {
	on, off := iosetup.DefaultMode(), iosetup.Mode{}
	require.Equal(t, "whole", Effective(passthru.Settings{FixedBuffers: fixedbuf.Whole}, &on).FixedBuffers)
	require.Equal(t, "per-slot", Effective(passthru.Settings{FixedBuffers: fixedbuf.PerSlot}, &on).FixedBuffers)
	require.Equal(t, "plain (no memlock)", Effective(passthru.Settings{FixedBuffers: fixedbuf.Plain, FixedReason: "no memlock"}, &on).FixedBuffers)
	require.Equal(t, "off", Effective(passthru.Settings{FixedBuffers: fixedbuf.Plain}, &off).FixedBuffers)
}

// TestEverySwitchReachesTheQueue: each switch turned over alone changes what is
// asked of the queue.
func TestEverySwitchReachesTheQueue(t *testing.T) {
	base := iosetup.DefaultMode()
	ask := func(m iosetup.Mode) passthru.QueueConfig {
		return queueConfig(&Config{Path: iosetup.PassthruPoll, Mode: m, Depth: 4})
	}
	for _, s := range iosetup.Switches() {
		require.NotEqual(t, ask(base), ask(s.Turned(base)), s.Name)
		require.Equal(t, ask(base), ask(s.Turned(s.Turned(base))), s.Name)
	}
	hybrid := iosetup.Mode{HybridPoll: true, Array: iosetup.ArrayIndex}
	require.False(t, queueConfig(&Config{Path: iosetup.Passthru, Mode: hybrid}).HybridPoll, "without polling it means nothing")
	cpu := 3
	require.Equal(t, &uringcmd.SQPoll{Idle: 5 * time.Millisecond, Pinned: true, CPU: 3},
		SQPoll(&iosetup.Mode{SQPoll: true, SQPollIdle: 5 * time.Millisecond, SQPollCPU: &cpu}))
}

func TestOpenNeedsDevices(t *testing.T) {
	for _, p := range iosetup.AllPaths() {
		for _, split := range []bool{false, true} {
			_, err := Open(nil, Config{Path: p, Depth: 1, AllowSplit: split})
			require.ErrorContains(t, err, "device", p)
		}
	}
}
