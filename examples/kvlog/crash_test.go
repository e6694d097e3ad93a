package kvlog

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// step is one operation of a script; a nil value deletes.
type step struct {
	key   string
	value []byte
}

// script is a random run of puts and deletes over few keys, with values from
// nothing to some blocks.
func script(rng *rand.Rand, n, block int) []step {
	steps := make([]step, n)
	for i := range steps {
		s := step{key: fmt.Sprint("key", rng.IntN(6))}
		if i == 0 || rng.IntN(4) > 0 {
			s.value = make([]byte, rng.IntN(2*block))
			for j := range s.value {
				s.value[j] = byte(rng.Uint32())
			}
		}
		steps[i] = s
	}
	return steps
}

// states are the contents after each number of steps.
func states(before map[string]string, steps []step) []map[string]string {
	all := []map[string]string{maps.Clone(before)}
	now := maps.Clone(before)
	for _, s := range steps {
		if s.value == nil {
			delete(now, s.key)
		} else {
			now[s.key] = string(s.value)
		}
		all = append(all, maps.Clone(now))
	}
	return all
}

func play(t *testing.T, l *Log, dev *memory, steps []step) {
	t.Helper()
	for i, s := range steps {
		if s.value == nil {
			require.NoError(t, l.Delete(s.key))
		} else {
			require.NoError(t, l.Put(s.key, s.value))
		}
		dev.acknowledge(i + 1)
	}
}

// requireRecovered opens a log after a crash: it holds the state after as many
// steps as were acknowledged, or after the one that was on its way as well.
func requireRecovered(t *testing.T, dev *memory, all []map[string]string, acked int) *Log {
	t.Helper()
	l, err := Open(dev, Options{})
	require.NoError(t, err)
	got := contents(t, l)
	for _, state := range all[acked:min(acked+2, len(all))] {
		if maps.Equal(state, got) {
			return l
		}
	}
	t.Fatalf("after %d acknowledged steps: found %v", acked, slices.Sorted(maps.Keys(got)))
	return nil
}

// TestCutAtEveryByte stops the stream of writes after each byte, opens the log,
// goes on, and opens it again.
func TestCutAtEveryByte(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const block = 128
	dev := newMemory(block, 64)
	l := mustOpen(t, dev, Options{Format: true})
	require.NoError(t, l.Close())
	start := bytes.Clone(dev.image)
	dev = dev.restart(start)
	l = mustOpen(t, dev, Options{})
	steps := script(rng, 16, block)
	all := states(map[string]string{}, steps)
	play(t, l, dev, steps)
	require.NoError(t, l.Close())
	cuts := 0
	for n := range dev.history {
		for b := range len(dev.history[n].data) + 1 {
			image, acked := dev.cut(start, n, b)
			again := dev.restart(image)
			l := requireRecovered(t, again, all, acked)
			want := contents(t, l)
			// What follows must not bring remains back to life: a short
			// record, which ends where remains may begin.
			require.NoError(t, l.Put("after", nil))
			require.NoError(t, l.Close())
			want["after"] = ""
			l, err := Open(again, Options{})
			require.NoError(t, err)
			require.Equal(t, want, contents(t, l))
			require.NoError(t, l.Close())
			cuts++
		}
	}
	t.Logf("%d cuts", cuts)
	require.Greater(t, cuts, 1000)
}

// TestScatteredBlocks crashes again and again on the same storage; of what no
// flush covers, any blocks land. Every generation leaves its remains to the
// next.
func TestScatteredBlocks(t *testing.T) {
	for seed := range uint64(24) {
		rng := rand.New(rand.NewPCG(seed, 3))
		block := []int{128, 512}[seed%2]
		dev := newMemory(block, 1024)
		require.NoError(t, mustOpen(t, dev, Options{Format: true}).Close())
		state := map[string]string{}
		for range 12 {
			start := bytes.Clone(dev.image)
			dev = dev.restart(start)
			l, err := Open(dev, Options{})
			require.NoError(t, err)
			require.Equal(t, state, contents(t, l), "seed %d", seed)
			steps := script(rng, 1+rng.IntN(6), block)
			all := states(state, steps)
			play(t, l, dev, steps)
			require.NoError(t, l.Close())
			image, acked := dev.scatter(rng, start, rng.IntN(len(dev.history)+1))
			dev = dev.restart(image)
			l = requireRecovered(t, dev, all, acked)
			state = contents(t, l)
			require.NoError(t, l.Close())
		}
	}
}

// TestTornBatch: of many records in one write, any blocks land; what was
// acknowledged before is there, and each record whole or not at all.
func TestTornBatch(t *testing.T) {
	const records, block = 40, 512
	dev := newMemory(block, 512)
	l := mustOpen(t, dev, Options{Format: true})
	require.NoError(t, l.Put("acknowledged", []byte("value")))
	start := bytes.Clone(dev.image)
	dev.history = nil
	dev.acknowledge(1)
	dev.beforeWrite = func() { // the first write waits until the others are in the second
		for l.Stats().Records < records+1 {
			runtime.Gosched()
		}
	}
	value := func(i int) []byte { return bytes.Repeat([]byte{byte(i)}, 50*(i%9)) }
	var wg sync.WaitGroup
	for i := range records {
		wg.Go(func() {
			if err := l.Put(fmt.Sprint(i), value(i)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	require.LessOrEqual(t, l.Stats().Batches, uint64(3))
	require.NoError(t, l.Close())
	rng := rand.New(rand.NewPCG(4, 4))
	found := map[int]bool{}
	for range 200 {
		image, _ := dev.scatter(rng, start, len(dev.history)-1) // without the last flush
		again := dev.restart(image)
		l, err := Open(again, Options{})
		require.NoError(t, err)
		got := contents(t, l)
		require.Equal(t, "value", got["acknowledged"])
		delete(got, "acknowledged")
		found[len(got)] = true
		for key, v := range got {
			var i int
			_, err := fmt.Sscan(key, &i)
			require.NoError(t, err)
			require.Equal(t, string(value(i)), v)
		}
		require.NoError(t, l.Close())
	}
	require.Greater(t, len(found), 3, "the cut fell at different places")
}

// TestOldLogIsNotTakenForNew: the records of an earlier log on the same
// storage, whose generations and sequence fit, belong to another UUID.
func TestOldLogIsNotTakenForNew(t *testing.T) {
	dev := newMemory(512, 4096)
	l := mustOpen(t, dev, Options{Format: true})
	for i := range 20 {
		require.NoError(t, l.Put(fmt.Sprint("old", i), make([]byte, 10)))
	}
	require.NoError(t, l.Close())
	records := bytes.Clone(dev.image[1024:])
	clear(dev.image)
	l = mustOpen(t, dev, Options{Format: true})
	require.NoError(t, l.Close())
	copy(dev.image[1024:], records)
	l = mustOpen(t, dev, Options{})
	require.Empty(t, contents(t, l))
	require.NoError(t, l.Put("new", make([]byte, 10)))
	require.NoError(t, l.Close())
	l = mustOpen(t, dev, Options{})
	require.Equal(t, map[string]string{"new": string(make([]byte, 10))}, contents(t, l))
}

// FuzzRecover opens whatever follows a valid superblock.
func FuzzRecover(f *testing.F) {
	dev := newMemory(512, 64)
	l, err := Open(dev, Options{Format: true})
	if err != nil {
		f.Fatal(err)
	}
	for i := range 5 {
		if err := l.Put(fmt.Sprint(i), make([]byte, 300*i)); err != nil {
			f.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		f.Fatal(err)
	}
	f.Add(dev.image[1024:], uint16(0), byte(0))
	f.Add(dev.image[1024:], uint16(40), byte(1))
	f.Add([]byte{0, 0, 0, 0, 1, 0, 255, 255, 255, 255, 255, 255}, uint16(3), byte(9))
	f.Fuzz(func(t *testing.T, records []byte, at uint16, flip byte) {
		m := dev.restart(dev.image)
		copy(m.image[1024:], records)
		m.image[1024+int(at)%(len(m.image)-1024)] ^= flip
		l, err := Open(m, Options{})
		if err != nil {
			t.Fatal(err)
		}
		before := map[string]string{}
		if err := l.Iterate(func(k string, v []byte) error { before[k] = string(v); return nil }); err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if l, err = Open(m, Options{}); err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if s := l.Stats(); s.Keys != len(before) {
			t.Fatalf("%d keys, then %d", len(before), s.Keys)
		}
	})
}

// TestLogHasNoHoles: what is torn or damaged ends the log, also where the next
// block starts with a record of the same generation.
func TestLogHasNoHoles(t *testing.T) {
	const block = 512
	dev := newMemory(block, 64)
	l := mustOpen(t, dev, Options{Format: true})
	require.NoError(t, l.Close())
	record := func(b []byte, sequence uint64, key string) []byte {
		h := header{kind: kindPut, keyLen: len(key), generation: l.super.generation, sequence: sequence}
		return appendRecord(b, l.seed, h, key, nil)
	}
	first := record(record(nil, 1, "a"), 2, "b")
	copy(dev.image[2*block:], first)
	copy(dev.image[3*block:], record(nil, 3, "c"))
	for _, tt := range []struct {
		name   string
		damage func(b []byte) // to the second record
		keys   []string
	}{
		{"whole", func([]byte) {}, []string{"a", "b", "c"}},
		{"missing", func(b []byte) { clear(b) }, []string{"a"}},
		{"torn", func(b []byte) { clear(b[headerSize:]) }, []string{"a"}},
		{"one bit", func(b []byte) { b[headerSize] ^= 1 }, []string{"a"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := dev.restart(dev.image)
			tt.damage(m.image[2*block+len(first)/2 : 2*block+len(first)])
			l := mustOpen(t, m, Options{})
			require.Equal(t, tt.keys, slices.Sorted(maps.Keys(contents(t, l))))
		})
	}
}
