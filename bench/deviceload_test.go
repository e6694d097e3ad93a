package main

import (
	"errors"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// readerFunc is an io.ReaderAt.
type readerFunc func(p []byte, off int64) (int, error)

func (f readerFunc) ReadAt(p []byte, off int64) (int, error) { return f(p, off) }

// TestLoad: whole aligned reads inside the device, all goroutines at once, and
// figures that fit what was read.
func TestLoad(t *testing.T) {
	const size = 10*readSize + 100
	var reads, now, most atomic.Int64
	l := load{size: size, goroutines: 4, warmup: time.Millisecond, runtime: 50 * time.Millisecond}
	l.from = readerFunc(func(p []byte, off int64) (int, error) {
		most.Store(max(most.Load(), now.Add(1)))
		defer now.Add(-1)
		if len(p) != readSize || off%readSize != 0 || off < 0 || off+int64(len(p)) > size {
			return 0, errors.New("a read outside of the device, or not aligned")
		}
		time.Sleep(time.Millisecond)
		reads.Add(1)
		return len(p), io.EOF
	})
	s, err := l.run()
	require.NoError(t, err)
	require.NoError(t, s.check())
	require.Positive(t, most.Load())
	require.LessOrEqual(t, s[metricIOPS]*l.runtime.Seconds(), float64(reads.Load()))
	require.GreaterOrEqual(t, s[metricP50], 1e6, "a read takes a millisecond")
	require.GreaterOrEqual(t, s[metricP99], s[metricP50])
}

// TestLoadFails with the reader's error, also if the very first read fails.
func TestLoadFails(t *testing.T) {
	broken := errors.New("broken")
	for _, after := range []int64{0, 5} {
		var reads atomic.Int64
		l := load{size: 1 << 20, goroutines: 2, runtime: time.Millisecond}
		l.from = readerFunc(func(p []byte, _ int64) (int, error) {
			if reads.Add(1) > after {
				return 7, broken
			}
			return len(p), nil
		})
		_, err := l.run()
		require.ErrorIs(t, err, broken)
		require.ErrorContains(t, err, "got 7")
	}
	_, err := (&load{size: readSize - 1, goroutines: 1}).run()
	require.ErrorContains(t, err, "need at least 4096")
}

func TestPercentile(t *testing.T) {
	hundred := make([]time.Duration, 100)
	for i := range hundred {
		hundred[i] = time.Duration(i + 1)
	}
	require.Equal(t, 50.0, percentile(hundred, 50))
	require.Equal(t, 99.0, percentile(hundred, 99))
	require.Equal(t, 5.0, percentile([]time.Duration{5}, 99))
	require.Equal(t, 7.0, percentile([]time.Duration{5, 7}, 99))
	require.Equal(t, 5.0, percentile([]time.Duration{5, 7}, 50))
}
