package stall

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestClock: time counts as far as somebody looked.
func TestClock(t *testing.T) {
	const limit = 10 * time.Second
	for name, tt := range map[string]struct {
		looks []time.Duration // after the one before
		over  bool
	}{
		"first look":        {[]time.Duration{time.Hour}, false},
		"not yet":           {[]time.Duration{0, time.Second, time.Second}, false},
		"stopped for long":  {[]time.Duration{0, time.Second, time.Hour, time.Second}, false},
		"exactly the limit": {repeat(time.Second, 11), false},
		"beyond it":         {repeat(time.Second, 12), true},
		"many short looks":  {repeat(100*time.Millisecond, 102), true},
		"stopped all along": {repeat(time.Hour, 12), true},
	} {
		t.Run(name, func(t *testing.T) {
			var c Clock
			now, over := time.Now(), false
			for _, d := range tt.looks {
				now = now.Add(d)
				over = c.at(now, limit)
			}
			require.Equal(t, tt.over, over)
			require.True(t, c.Started())
			c.Reset()
			require.False(t, c.Started())
			require.False(t, c.at(now.Add(time.Hour), limit))
		})
	}
}

// TestClockShortLimit: however short the limit, one interval is not enough.
func TestClockShortLimit(t *testing.T) {
	var c Clock
	now, limit := time.Now(), 20*time.Millisecond
	require.False(t, c.at(now, limit))
	require.False(t, c.at(now.Add(time.Hour), limit))
	require.False(t, c.at(now.Add(2*time.Hour), limit))
	require.True(t, c.at(now.Add(3*time.Hour), limit))
}

func repeat(d time.Duration, n int) []time.Duration {
	all := make([]time.Duration, n)
	for i := range all {
		all[i] = d
	}
	return all
}

// TestWait: it ends with done, or with the limit.
func TestWait(t *testing.T) {
	done := make(chan struct{})
	require.False(t, Wait(done, time.Millisecond))
	close(done)
	require.True(t, Wait(done, time.Hour))
	require.Equal(t, time.Millisecond, LookEvery(0))
	require.Equal(t, 100*time.Millisecond, LookEvery(time.Hour))
}
