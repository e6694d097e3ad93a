package kvlog

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func mustOpen(t *testing.T, dev Storage, o Options) *Log {
	t.Helper()
	l, err := Open(dev, o)
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func contents(t *testing.T, l *Log) map[string]string {
	t.Helper()
	all := map[string]string{}
	require.NoError(t, l.Iterate(func(k string, v []byte) error {
		all[k] = string(v)
		return nil
	}))
	return all
}

func TestPutGetDeleteReopen(t *testing.T) {
	for _, block := range []int{512, 520, 4096} {
		dev := newMemory(block, 600)
		l := mustOpen(t, dev, Options{Format: true})
		require.NoError(t, l.Put("a", []byte("1")))
		require.NoError(t, l.Put("b", nil))
		require.NoError(t, l.Put("c", bytes.Repeat([]byte("x"), 3*block)))
		require.NoError(t, l.Put("a", []byte("2")))
		require.NoError(t, l.Delete("b"))
		require.NoError(t, l.Delete("never there"))
		check := func(l *Log) {
			v, err := l.Get("a")
			require.NoError(t, err)
			require.Equal(t, "2", string(v))
			_, err = l.Get("b")
			require.ErrorIs(t, err, ErrNotFound)
			require.ErrorContains(t, err, `get "b"`)
			require.Equal(t, map[string]string{"a": "2", "c": strings.Repeat("x", 3*block)}, contents(t, l))
			s := l.Stats()
			require.EqualValues(t, 5, s.Records)
			require.Equal(t, 2, s.Keys)
		}
		check(l)
		require.NoError(t, l.Sync())
		require.NoError(t, l.Close())
		for i := range 3 {
			l = mustOpen(t, dev, Options{})
			check(l)
			require.EqualValues(t, 5, l.Stats().Recovered)
			require.EqualValues(t, 3+i, l.Stats().Generation)
			require.NoError(t, l.Close())
		}
		require.NoError(t, l.Close())
		for _, err := range []error{l.Put("a", nil), l.Delete("a"), l.Sync(), l.Iterate(nil)} {
			require.ErrorIs(t, err, os.ErrClosed)
		}
		_, err := l.Get("a")
		require.ErrorIs(t, err, ErrClosed)
	}
}

// TestOpenRefuses what is not its own, and touches nothing then.
func TestOpenRefuses(t *testing.T) {
	log := newMemory(512, 4096)
	require.NoError(t, mustOpen(t, log, Options{Format: true}).Close())
	foreign := newMemory(512, 4096)
	foreign.image[1024+56] = 0x53 // where ext4 has its magic number
	late := newMemory(512, 4096)
	late.image[blankBytes-1] = 1
	newer := log.restart(log.image)
	for i := range 2 {
		b := newer.image[i*512:][:512]
		s, err := decodeSuperblock(b)
		require.NoError(t, err)
		b[8] = version + 1
		copy(b, withChecksum(b))
		require.NotNil(t, s)
	}
	shrunk := log.restart(log.image[:2048*512])
	reformatted := log.restart(log.image)
	reformatted.block = 256
	tests := []struct {
		name string
		dev  *memory
		o    Options
		is   error
		says string
	}{
		{"blank", newMemory(512, 4096), Options{}, ErrNotLog, "Options.Format"},
		{"foreign", foreign, Options{}, ErrNotLog, "neither of the first two blocks"},
		{"format over foreign data", foreign, Options{Format: true}, ErrNotBlank, "byte 1080 is 0x53"},
		{"format over late data", late, Options{Format: true}, ErrNotBlank, "blkdiscard"},
		{"format over a log", log, Options{Format: true}, ErrExists, "without Options.Format"},
		{"newer version", newer, Options{}, ErrNotLog, "version 2"},
		{"shrunk", shrunk, Options{}, nil, "2097152 bytes in blocks of 512"},
		{"other block size", reformatted, Options{}, nil, "blocks of 256"},
		{"too small", newMemory(512, 2), Options{Format: true}, nil, "at least 3 blocks"},
		{"block too small", newMemory(64, 4096), Options{Format: true}, nil, "from 128 up"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := bytes.Clone(tt.dev.image)
			_, err := Open(tt.dev, tt.o)
			require.ErrorContains(t, err, tt.says)
			require.ErrorContains(t, err, "open key-value log: ")
			if tt.is != nil {
				require.ErrorIs(t, err, tt.is)
			}
			require.Equal(t, before, tt.dev.image)
		})
	}
}

// withChecksum is a superblock whose checksum fits its bytes.
func withChecksum(b []byte) []byte {
	b = bytes.Clone(b)
	s := superblock{blockSize: uint32(len(b))}
	fresh := s.encode()
	copy(fresh, b[:superSize-4])
	sum := checksum(0, append(make([]byte, 4), fresh[:superSize-4]...))
	for i := range 4 {
		fresh[superSize-4+i] = byte(sum >> (8 * i))
	}
	return fresh
}

func TestSizes(t *testing.T) {
	l := mustOpen(t, newMemory(4096, 1024), Options{Format: true})
	require.ErrorIs(t, l.Put("", nil), ErrEmptyKey)
	require.ErrorIs(t, l.Delete(""), ErrEmptyKey)
	require.ErrorIs(t, l.Put(strings.Repeat("k", MaxKey+1), nil), ErrTooLarge)
	err := l.Put("k", make([]byte, MaxValue+1))
	require.ErrorIs(t, err, ErrTooLarge)
	require.ErrorContains(t, err, fmt.Sprintf("%d bytes", MaxValue+1))
	require.ErrorContains(t, err, "at most 1048576")
	key, value := strings.Repeat("k", MaxKey), bytes.Repeat([]byte{7}, MaxValue)
	require.NoError(t, l.Put(key, value))
	got, err := l.Get(key)
	require.NoError(t, err)
	require.Equal(t, value, got)
}

// TestFull: what does not fit is refused, all that was acknowledged stays, and a
// smaller record may still fit.
func TestFull(t *testing.T) {
	dev := newMemory(512, 40)
	l := mustOpen(t, dev, Options{Format: true})
	n := 0
	var err error
	for ; err == nil; n++ {
		err = l.Put(fmt.Sprint("key", n), make([]byte, 700))
	}
	n-- // the last was refused
	require.ErrorIs(t, err, ErrFull)
	require.ErrorContains(t, err, "of 20480 are left")
	require.Equal(t, (40-2)/2, n)
	require.NoError(t, l.Close())
	l = mustOpen(t, dev, Options{})
	require.Equal(t, n, l.Stats().Keys)
	require.ErrorIs(t, l.Put("one more", nil), ErrFull)
	require.ErrorIs(t, l.Delete("key0"), ErrFull)
}

// TestGroupCommit: goroutines share writes and flushes, and each finds its own
// key at once.
func TestGroupCommit(t *testing.T) {
	dev := newMemory(512, 1<<14)
	l := mustOpen(t, dev, Options{Format: true})
	const goroutines, each = 50, 20
	// The first write waits until everybody has left something for the second.
	var once sync.Once
	dev.beforeWrite = func() {
		once.Do(func() {
			for l.Stats().Records < goroutines {
				runtime.Gosched()
			}
		})
	}
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			for i := range each {
				key := fmt.Sprintf("%d/%d", g, i)
				if err := l.Put(key, []byte(key)); err != nil {
					t.Error(err)
					return
				}
				if v, err := l.Get(key); err != nil || string(v) != key {
					t.Errorf("get %s: %q, %v", key, v, err)
				}
				if i%5 == 4 {
					if err := l.Delete(key); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	s := l.Stats()
	require.EqualValues(t, goroutines*each*6/5, s.Records)
	require.LessOrEqual(t, s.Batches, s.Records-goroutines+2, "the 49 that waited went with one write")
	require.Equal(t, goroutines*each*4/5, s.Keys)
	before := contents(t, l)
	require.NoError(t, l.Close())
	l = mustOpen(t, dev, Options{})
	require.Equal(t, before, contents(t, l))
}

// TestFailureSticks: after a failed write or flush nothing is acknowledged any
// more, not even if the drive recovers, until the log is opened anew.
func TestFailureSticks(t *testing.T) {
	broken := errors.New("broken")
	for _, fail := range []func(m *memory, err error){
		func(m *memory, err error) { m.writeErr = err },
		func(m *memory, err error) { m.flushErr = err },
	} {
		dev := newMemory(512, 4096)
		l := mustOpen(t, dev, Options{Format: true})
		require.NoError(t, l.Put("a", []byte("1")))
		fail(dev, broken)
		for range 2 {
			require.ErrorIs(t, l.Put("b", nil), broken)
			fail(dev, nil)
		}
		require.ErrorIs(t, l.Delete("a"), broken)
		require.ErrorIs(t, l.Delete("b"), broken, "it may be there when the log is opened anew")
		require.ErrorIs(t, l.Sync(), broken)
		v, err := l.Get("a")
		require.NoError(t, err, "reads go on")
		require.Equal(t, "1", string(v))
		_, err = l.Get("b")
		require.ErrorIs(t, err, ErrNotFound)
		require.ErrorIs(t, l.Close(), broken)
		l = mustOpen(t, dev, Options{})
		require.NoError(t, l.Put("c", nil))
		require.Contains(t, contents(t, l), "a")
	}
}

func TestDamageIsFound(t *testing.T) {
	dev := newMemory(512, 4096)
	l := mustOpen(t, dev, Options{Format: true})
	require.NoError(t, l.Put("a", []byte("value")))
	dev.image[bytes.Index(dev.image, []byte("value"))] ^= 1
	_, err := l.Get("a")
	require.ErrorIs(t, err, ErrCorrupt)
	require.ErrorContains(t, err, `get "a"`)
	require.ErrorIs(t, l.Iterate(func(string, []byte) error { return nil }), ErrCorrupt)
}
