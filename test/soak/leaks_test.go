package main

import (
	"bufio"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/sys"
)

func usage3(t *testing.T, plant func()) []string {
	t.Helper()
	var samples []Usage
	for round := range 4 {
		if round == 3 {
			plant()
		}
		u, err := takeUsage()
		require.NoError(t, err)
		u.Seconds = float64(15 * (round + 1))
		samples = append(samples, u)
	}
	return leaks(samples)
}

// TestLeaksAreNamed: each kind is planted for real.
func TestLeaksAreNamed(t *testing.T) {
	t.Run("none", func(t *testing.T) {
		require.Empty(t, usage3(t, func() {}))
	})
	t.Run("file descriptor", func(t *testing.T) {
		var f *os.File
		found := usage3(t, func() {
			var err error
			f, err = os.Open(os.DevNull)
			require.NoError(t, err)
		})
		require.Len(t, found, 1)
		require.Contains(t, found[0], "file descriptors")
		require.Contains(t, found[0], "1 more of /dev/null")
		require.Contains(t, found[0], "after 60s")
		require.NoError(t, f.Close())
	})
	t.Run("goroutine", func(t *testing.T) {
		stuck, running := make(chan struct{}), make(chan struct{})
		found := usage3(t, func() {
			go func() { close(running); <-stuck }()
			<-running
		})
		require.Len(t, found, 1)
		require.Contains(t, found[0], "goroutines")
		require.Contains(t, found[0], "TestLeaksAreNamed")
		close(stuck)
	})
	t.Run("mapping", func(t *testing.T) {
		var maps [][]byte
		found := usage3(t, func() {
			for i := range 2 * slack.Mappings {
				b, err := sys.MapAnonymous(sys.PageSize(), false)
				require.NoError(t, err)
				if i%2 == 0 {
					require.NoError(t, sys.DontFork(b)) // a kind of its own, so that neighbours do not merge
				}
				maps = append(maps, b)
			}
		})
		require.Len(t, found, 1)
		require.Contains(t, found[0], "mappings")
		require.Contains(t, found[0], "more of anonymous")
		for _, b := range maps {
			require.NoError(t, sys.Unmap(b))
		}
	})
}

// TestLeaks compares what it should: the last sample with one after warming up.
func TestLeaks(t *testing.T) {
	flat := Usage{FDs: 10, Mappings: 50, Goroutines: 5, Threads: 9, HeapKiB: 3000}
	warm := flat
	warm.FDs, warm.Threads = 3, 4
	require.Empty(t, leaks(nil))
	require.Empty(t, leaks([]Usage{warm, flat}), "two samples show nothing")
	require.Empty(t, leaks([]Usage{warm, flat, flat, flat}), "the first rounds warm up")
	for name, change := range map[string]func(u *Usage){
		"file descriptors":     func(u *Usage) { u.FDs++ },
		"mappings":             func(u *Usage) { u.Mappings += slack.Mappings + 1 },
		"KiB of locked memory": func(u *Usage) { u.LockedKiB += 4 },
		"KiB of pinned memory": func(u *Usage) { u.PinnedKiB += 4 },
		"goroutines":           func(u *Usage) { u.Goroutines++ },
		"threads":              func(u *Usage) { u.Threads += slack.Threads + 1 },
		"KiB of heap":          func(u *Usage) { u.HeapKiB += slack.HeapKiB + 1 },
	} {
		last := flat
		change(&last)
		found := leaks([]Usage{warm, flat, flat, last})
		require.Len(t, found, 1, name)
		require.True(t, strings.HasPrefix(found[0], name+": "), found[0])
	}
	within := flat
	within.Threads += slack.Threads
	require.Empty(t, leaks([]Usage{flat, flat, flat, within}))
}

// TestSettled waits for what is given back late, and not for what never is.
func TestSettled(t *testing.T) {
	var log usageLog
	for range 2 {
		u, err := log.settled(0)
		require.NoError(t, err)
		log.add(u)
	}
	f, err := os.Open(os.DevNull)
	require.NoError(t, err)
	kept, err := log.settled(0)
	require.NoError(t, err)
	require.Len(t, leaks(append(log.all(), kept)), 1)
	go func() { _ = f.Close() }()
	given, err := log.settled(time.Minute)
	require.NoError(t, err)
	require.Empty(t, leaks(append(log.all(), given)))
}

// TestStacks: goroutines are told apart by where they are.
func TestStacks(t *testing.T) {
	stuck := make(chan struct{})
	ready := make(chan struct{})
	for range 3 {
		go func() { ready <- struct{}{}; <-stuck }()
	}
	for range 3 {
		<-ready
	}
	count := 0
	for stack, n := range goroutineStacks() {
		if strings.Contains(stack, "TestStacks.func1") {
			count += n
		}
	}
	require.Equal(t, 3, count)
	close(stuck)
	require.NotEmpty(t, bufio.NewScanner(strings.NewReader(goroutineDump())))
	require.Contains(t, goroutineDump(), "TestStacks")
}
