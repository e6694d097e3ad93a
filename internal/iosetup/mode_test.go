package iosetup

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestVariants: each switch once, in the other position, and none that means
// nothing on the path or contradicts the mode.
func TestVariants(t *testing.T) {
	base := DefaultMode()
	require.Equal(t, []string{
		"", "--fixedbufs=false", "--registerfiles=false", "--registerring=false", "--coop-taskrun=false", "--defer-taskrun=false",
		"--no-sqarray=true", "--sq-rewind=true", "--hugepages=true", "--vectored=true", "--sqpoll=true",
	}, Variants(base, Block))
	require.Contains(t, Variants(base, BlockPoll), "--hybrid-poll=true")
	rewound := base
	rewound.Array = ArrayRewind
	require.NotContains(t, Variants(rewound, Block), "--sqpoll=true")
	require.Contains(t, Variants(rewound, Block), "--sq-rewind=false")
	for _, p := range AllPaths() {
		seen := map[Mode]bool{}
		for _, name := range Variants(base, p) {
			m, err := ModeVariant(base, name)
			require.NoError(t, err)
			require.NoError(t, m.Validate())
			require.False(t, seen[m], name)
			seen[m] = true
		}
	}
	for _, bad := range []string{"fixed", "--fixedbufs", "--fixedbufs=perhaps", "--other=true"} {
		_, err := ModeVariant(base, bad)
		require.ErrorContains(t, err, "no such switch", bad)
	}
}

func TestModeValidate(t *testing.T) {
	cpu := func(n int) *int { return &n }
	good := DefaultMode()
	require.NoError(t, good.Validate())
	for text, change := range map[string]func(*Mode){
		"--sq-array":                func(m *Mode) { m.Array = "x" },
		"no SQ_REWIND":              func(m *Mode) { m.Array, m.SQPoll = ArrayRewind, true },
		"--sqpoll-idle 1s: there":   func(m *Mode) { m.SQPollIdle = time.Second },
		"--sqpoll-cpu 0: there":     func(m *Mode) { m.SQPollCPU = cpu(0) },
		"--sqpoll-idle 2h0m0s":      func(m *Mode) { m.SQPoll, m.SQPollIdle = true, 2*time.Hour },
		"--sqpoll-idle 1.5ms":       func(m *Mode) { m.SQPoll, m.SQPollIdle = true, 1500*time.Microsecond },
		"--sqpoll-cpu 8192: must":   func(m *Mode) { m.SQPoll, m.SQPollCPU = true, cpu(8192) },
		"--sqpoll-cpu -1: must be ": func(m *Mode) { m.SQPoll, m.SQPollCPU = true, cpu(-1) },
	} {
		m := DefaultMode()
		change(&m)
		require.ErrorContains(t, m.Validate(), text)
	}
}

func TestMissing(t *testing.T) {
	all := Mode{FixedBuffers: true, RegisteredFiles: true, HugePages: true, Vectored: true, SQPoll: true, Array: ArrayRewind, HybridPoll: true}
	none := Effective{Polled: true, FixedBuffers: "plain (EINVAL)"}
	require.Len(t, none.Missing(all), 8)
	full := Effective{
		Polled: true, FixedBuffers: FixedPerSlot, RegisteredFiles: true, HugePages: true, Vectored: true,
		RingFlags: []string{"SQPOLL", "NO_SQARRAY", "SQ_REWIND", "HYBRID_IOPOLL"},
	}
	require.Empty(t, full.Missing(all))
	require.Empty(t, none.Missing(Mode{}))
	unpolled := Effective{}
	require.NotContains(t, unpolled.Missing(all), "hybrid polls (HYBRID_IOPOLL)", "which are none without polling")
	require.True(t, full.Equal(&full))
	require.False(t, full.Equal(&none))
}
