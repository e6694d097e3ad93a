package memory

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/fixedbuf"
	"github.com/nvmepass/nvmepass/internal/nopio"
	"github.com/nvmepass/nvmepass/nvme"
	"github.com/nvmepass/nvmepass/passthru"
	"github.com/nvmepass/nvmepass/uringcmd"
)

// figures are what a process holds of the kernel and of the runtime.
type figures struct {
	fds, mappings, rings, arenas, locked, pinned, threads, goroutines int
}

func (f figures) String() string {
	return fmt.Sprintf("%d descriptors, %d mappings (%d of rings, %d of arenas), %d KiB locked, %d KiB pinned, %d threads, %d goroutines",
		f.fds, f.mappings, f.rings, f.arenas, f.locked, f.pinned, f.threads, f.goroutines)
}

func read(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(b)
}

// take counts. The garbage that there is goes first, since what the runtime maps
// for it is no concern of this test.
func take(t *testing.T) (f figures) {
	t.Helper()
	debug.FreeOSMemory()
	list, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	f = figures{fds: len(list), goroutines: runtime.NumGoroutine()}
	ring := false
	for line := range strings.Lines(read(t, "/proc/self/smaps")) {
		flags, last := strings.CutPrefix(line, "VmFlags:")
		ring = ring || strings.Contains(line, "io_uring")
		switch {
		case !last:
			continue
		case ring:
			f.rings++
		case slices.Contains(strings.Fields(flags), "dc"): // not copied to children, as arenas alone are here
			f.arenas++
		}
		f.mappings, ring = f.mappings+1, false
	}
	for line := range strings.Lines(read(t, "/proc/self/status")) {
		name, value, _ := strings.Cut(line, ":")
		if to := map[string]*int{"VmLck": &f.locked, "VmPin": &f.pinned, "Threads": &f.threads}[name]; to != nil {
			_, err := fmt.Sscan(value, to)
			require.NoError(t, err, line)
		}
	}
	return f
}

// settle takes the figures when goroutines beyond a number are gone and the
// kernel has let go of all pages: it takes down a ring that was closed, and
// unpins its buffers, some time later by itself.
func settle(t *testing.T, goroutines int) (f figures) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if f = take(t); f.goroutines <= goroutines && f.pinned == 0 || time.Now().After(deadline) {
			return f
		}
	}
}

// deviceRound opens a Device, sends commands by its ring, makes a Queue of its
// own shape beside it, uses that, and closes both.
func deviceRound(t *testing.T, i int) {
	layout := nvme.Layout{LBASize: 512 << (3 * (i % 2)), MetadataSize: uint16(i % 3 * 32)}
	d, err := passthru.OpenNull(passthru.NullConfig{Layout: layout, Config: passthru.Config{Depth: 1 + i%16, Workers: 1 + i%2, BufferSize: 16 * int(layout.UnderPRACT().Unit())}})
	require.NoError(t, err)
	if i%4 != 3 { // else it is closed before it was used
		_, err = d.Do(t.Context(), nvme.NewFlush(d.NSID()), nil)
		require.NoError(t, err)
		c, err := nvme.NewRead(d.NSID(), layout, uint64(i), 1, nvme.IOOptions{})
		require.NoError(t, err)
		_, err = d.DoMetadata(t.Context(), c, make([]byte, c.DataLen), make([]byte, c.MetadataLen))
		require.NoError(t, err)
	}
	q, err := d.NewQueue(passthru.QueueConfig{Depth: 1 + i%32, Guard: i%5 == 0, PlainBuffers: i%7 == 0, PlainFile: i%11 == 0, PlainRing: i%13 == 0, Linear: i%17 == 0})
	require.NoError(t, err)
	for slot := range q.Depth() {
		require.NoError(t, q.Read(slot, uint64(slot), 1))
	}
	if i%3 != 0 { // else it is closed with commands in flight
		done := make([]passthru.Completion, q.Depth())
		n, err := q.Reap(q.Depth(), done)
		require.NoError(t, err)
		require.Equal(t, q.Depth(), n)
	}
	require.NoError(t, q.Close())
	require.NoError(t, d.Close())
}

// nopRound does as much with a queue of NOPs.
func nopRound(t *testing.T, i int) {
	q, err := nopio.Open(nopio.Config{Depth: 1 + i%64, Linear: i%3 == 0, NoRegisteredRing: i%5 == 0})
	require.NoError(t, err)
	slots := make([]int, q.Depth())
	for slot := range slots {
		slots[slot] = slot
	}
	require.NoError(t, q.ReadBatch(slots, nil, 0))
	if i%4 != 0 { // else it is closed with commands in flight
		require.NoError(t, q.Submit(len(slots)))
		require.Equal(t, len(slots), q.Take(make([]uringcmd.Completion, len(slots))))
	}
	require.NoError(t, q.Close())
}

// TestFiguresShowWhatIsOpen, so that nothing is found gone that is not counted.
func TestFiguresShowWhatIsOpen(t *testing.T) {
	if err := uringcmd.Usable(); err != nil {
		missing(t, "io_uring", err)
	}
	before := settle(t, 2)
	d, err := passthru.OpenNull(passthru.NullConfig{})
	require.NoError(t, err)
	q, err := d.NewQueue(passthru.QueueConfig{Depth: 4})
	require.NoError(t, err)
	open := take(t)
	require.Equal(t, before.fds+3, open.fds, "the Device's node, the Queue's, its ring")
	require.Greater(t, open.rings, before.rings)
	require.Greater(t, open.arenas, before.arenas)
	require.Greater(t, open.goroutines, before.goroutines, "the watchdog")
	if q.Settings().FixedBuffers != fixedbuf.Plain {
		require.Positive(t, open.pinned)
	}
	require.NoError(t, q.Close())
	require.NoError(t, d.Close())
}

// TestRoundsLeaveNothing: opening, running and closing over and over leaves no
// descriptor, mapping, locked page, thread or goroutine behind.
// NVMEPASS_TEST_LONG=1 makes it 10,000 rounds instead of 3,000.
func TestRoundsLeaveNothing(t *testing.T) {
	if err := uringcmd.Usable(); err != nil {
		missing(t, "io_uring", err)
	}
	rounds := 3000
	if os.Getenv("NVMEPASS_TEST_LONG") != "" {
		rounds = 10000
	}
	const first = 250 // every shape, and the threads that the runtime keeps
	var before figures
	for i := range first + rounds {
		if i == first {
			before = settle(t, 2)
		}
		deviceRound(t, i)
		nopRound(t, i)
	}
	after := settle(t, before.goroutines)
	t.Logf("before: %v", before)
	t.Logf("after %d rounds of a Device with a Queue and of a NOP queue: %v", rounds, after)
	require.Equal(t, before.fds, after.fds)
	require.Zero(t, after.rings)
	require.Equal(t, before.arenas, after.arenas)
	require.Equal(t, before.locked, after.locked)
	require.Zero(t, after.pinned)
	require.LessOrEqual(t, after.goroutines, before.goroutines)
	// The runtime, and a race detector even more so, maps memory and starts
	// threads as it sees fit.
	require.Less(t, after.mappings, before.mappings+rounds/10)
	require.Less(t, after.threads, before.threads+rounds/100)
}
