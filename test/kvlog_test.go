package test

import (
	"bufio"
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/examples/kvlog"
	"github.com/nvmepass/nvmepass/passthru"
)

// envKVLogChild makes TestKVLogChild write to the node that it names.
const envKVLogChild = "NVMEPASS_TEST_KVLOG_CHILD"

const kvlogWriters = 4

// kvlogValue is the value of a key: of some length, and no other key's.
func kvlogValue(key string) []byte {
	h := fnv.New64a()
	_, _ = io.WriteString(h, key)
	rng := rand.New(rand.NewPCG(h.Sum64(), 0))
	value := make([]byte, rng.IntN(3000))
	for i := range value {
		value[i] = byte(rng.Uint32())
	}
	return value
}

// TestKVLogChild is no test of its own: TestKVLogSurvivesKill runs and kills it.
// It prints a line for each thing that has happened: "opening", "opened
// GENERATION", and "ack KEY" for a key that is durable.
func TestKVLogChild(t *testing.T) {
	path := os.Getenv(envKVLogChild)
	if path == "" {
		return
	}
	// No polling: on Linux 6.1 the death of a process with polled commands in
	// flight crashes the kernel.
	dev, err := passthru.Open(path, &passthru.Config{Writable: true})
	require.NoError(t, err)
	store, err := kvlog.OnDevice(dev)
	require.NoError(t, err)
	fmt.Fprintln(os.Stdout, "opening")
	log, err := kvlog.Open(store, kvlog.Options{})
	require.NoError(t, err)
	generation := log.Stats().Generation
	fmt.Fprintln(os.Stdout, "opened", generation)
	var wg sync.WaitGroup
	for w := range kvlogWriters {
		wg.Go(func() {
			for i := 0; ; i++ {
				key := fmt.Sprintf("%d/%d/%d", generation, w, i)
				if err := log.Put(key, kvlogValue(key)); err != nil {
					fmt.Fprintln(os.Stdout, "failed", err)
					return
				}
				fmt.Fprintln(os.Stdout, "ack "+key)
			}
		})
	}
	wg.Wait()
}

// killedChild starts a child and kills it at the moment that at chooses: at is
// called with each line the child prints and tells whether to kill it, and how
// much later. It returns the lines up to the child's end.
func killedChild(t *testing.T, path string, at func(line string) (kill bool, later time.Duration)) (lines []string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestKVLogChild$", "-test.count=1")
	cmd.Env = append(os.Environ(), envKVLogChild+"="+path)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	watchdog := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	defer watchdog.Stop()
	killed := false
	scanner := bufio.NewScanner(out)
	for scanner.Scan() {
		lines = append(lines, scanner.Text())
		if killed {
			continue
		}
		if kill, later := at(scanner.Text()); kill {
			killed = true
			time.AfterFunc(later, func() { _ = cmd.Process.Kill() })
		}
	}
	require.NoError(t, scanner.Err())
	_ = cmd.Wait()
	require.True(t, killed, "the child ended by itself: %v\n%s", lines[max(0, len(lines)-5):], errs.String())
	return lines
}

// requireKVLog opens the log and holds it against what was acknowledged: every
// such key is there, and every value is its key's.
func requireKVLog(t *testing.T, store kvlog.Storage, acked map[string]bool) {
	t.Helper()
	log, err := kvlog.Open(store, kvlog.Options{})
	require.NoError(t, err)
	found := 0
	require.NoError(t, log.Iterate(func(key string, value []byte) error {
		require.Equal(t, kvlogValue(key), value, "value of %s", key)
		if acked[key] {
			found++
		}
		return nil
	}))
	require.Equal(t, len(acked), found, "acknowledged keys that are there")
	require.NoError(t, log.Close())
}

// TestKVLogSurvivesKill kills a process that writes a log with several
// goroutines, by SIGKILL at random moments, some of them while it recovers what
// the last one left. Nothing that was acknowledged is lost, nothing is corrupt.
func TestKVLogSurvivesKill(t *testing.T) {
	writing, recovering := long(6, 100), long(2, 20)
	for _, lba := range []uint32{512, 4096} {
		t.Run(fmt.Sprintf("lba=%d", lba), func(t *testing.T) {
			dev := device(t, want{lba: lba, ms: 0, write: true})
			require.NoError(t, dev.WriteZeroes(context.Background(), passthru.Range{Blocks: 1 << 20 / uint64(lba)}, false))
			store, err := kvlog.OnDevice(dev)
			require.NoError(t, err)
			log, err := kvlog.Open(store, kvlog.Options{Format: true})
			require.NoError(t, err)
			require.NoError(t, log.Close())
			rng := rand.New(rand.NewPCG(uint64(lba), 9))
			acked := map[string]bool{}
			count := func(lines []string) (opened bool) {
				for _, line := range lines {
					if key, ok := strings.CutPrefix(line, "ack "); ok {
						acked[key] = true
					}
					require.False(t, strings.HasPrefix(line, "failed"), line)
					opened = opened || strings.HasPrefix(line, "opened")
				}
				return opened
			}
			for range writing {
				after := 1 + rng.IntN(60) // acknowledged keys
				later := time.Duration(rng.IntN(2000)) * time.Microsecond
				count(killedChild(t, dev.Path(), func(line string) (bool, time.Duration) {
					if strings.HasPrefix(line, "ack ") {
						after--
					}
					return after == 0, later
				}))
				requireKVLog(t, store, acked)
			}
			during := 0
			for tries := 0; during < recovering; tries++ {
				require.Less(t, tries, 20*recovering, "%d of %d kills came while the child recovered", during, tries)
				later := time.Duration(rng.IntN(1000)) * time.Microsecond
				if !count(killedChild(t, dev.Path(), func(line string) (bool, time.Duration) { return line == "opening", later })) {
					during++
				}
				requireKVLog(t, store, acked)
			}
			log, err = kvlog.Open(store, kvlog.Options{})
			require.NoError(t, err)
			s := log.Stats()
			require.NoError(t, log.Close())
			require.GreaterOrEqual(t, len(acked), writing)
			t.Logf("%d kills while writing, %d while recovering: %d keys acknowledged, %d found, 0 lost; %d bytes of log", writing, during, len(acked), s.Keys, s.Used)
		})
	}
}
