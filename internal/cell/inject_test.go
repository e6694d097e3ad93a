package cell

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/workload"
)

func TestParseInjection(t *testing.T) {
	for text, want := range map[string]Injection{
		"400ns":      {Delay: 400},
		"4us/even":   {Delay: 4 * time.Microsecond, EvenRounds: true},
		"5%":         {Slowdown: 0.05},
		"12.5%/even": {Slowdown: 0.125, EvenRounds: true},
	} {
		got, err := ParseInjection(text)
		require.NoError(t, err)
		require.InDelta(t, want.Slowdown, got.Slowdown, 1e-12)
		got.Slowdown = want.Slowdown
		require.Equal(t, want, got)
		again, err := ParseInjection(got.Flag())
		require.NoError(t, err)
		require.Equal(t, got, again)
	}
	for _, text := range []string{"", "5", "-1ns", "0s", "0%", "NaN%", "91%", "2s", "/even", "5%/odd"} {
		_, err := ParseInjection(text)
		require.ErrorContains(t, err, "--inject-delay", text)
	}
	require.Empty(t, Injection{}.Flag())
}

// batches counts what reaches the queue behind an injection.
type batches struct {
	workload.Queue
	slots int
}

func (q *batches) ReadBatch(slots []int, _ []uint64, _ uint32) error {
	q.slots += len(slots)
	return nil
}

func TestInjectionDelaysBeforeEachBatch(t *testing.T) {
	set := &Set{}
	q := &batches{}
	require.Same(t, workload.Queue(q), set.delay(q, 2), "none was asked for")
	set.Inject(Injection{Delay: time.Millisecond, EvenRounds: true})
	require.Same(t, workload.Queue(q), set.delay(q, 1), "rounds of odd number are left alone")
	slow, ok := set.delay(q, 2).(*delayedQueue)
	require.True(t, ok)
	slow.perTurn = 1e6 // so that 3 ms are 3 turns
	before := slow.sum
	require.NoError(t, slow.ReadBatch([]int{0, 1, 2}, nil, 1))
	require.Equal(t, turn(before, 3), slow.sum)
	require.Equal(t, 3, q.slots)
}

// A slowdown settles on its share of the time of a batch.
func TestSlowdownFollowsTheTimeOfABatch(t *testing.T) {
	set := &Set{}
	set.Inject(Injection{Slowdown: 0.1})
	slow, ok := set.delay(&batches{}, 1).(*delayedQueue)
	require.True(t, ok)
	require.Greater(t, slow.perTurn, 0.0)
	slow.perTurn = 1
	slow.began = time.Now().Add(-resettle * time.Millisecond)
	for range resettle {
		require.NoError(t, slow.ReadBatch([]int{0}, nil, 1))
	}
	require.GreaterOrEqual(t, slow.turns, 100_000, "a tenth of a millisecond")
	require.Zero(t, slow.batches)
}

func TestInjectionSaysWhatItDoes(t *testing.T) {
	require.Contains(t, Injection{Slowdown: 0.05, EvenRounds: true}.String(), "even number were slowed down on purpose by 5 %")
	require.Contains(t, Injection{Delay: 400}.String(), "all rounds were slowed down on purpose by 400ns per command")
}
