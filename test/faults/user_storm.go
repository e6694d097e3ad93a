package faults

import (
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/ioqueue"
	"github.com/nvmepass/nvmepass/internal/iosetup"
	"github.com/nvmepass/nvmepass/internal/workload"
	"github.com/nvmepass/nvmepass/passthru"
)

func stormCases() []Case {
	return []Case{
		{
			Name:  "signal-storm-queue",
			Fault: "thousands of SIGURG, SIGWINCH and SIGPROF a second at every thread, an interval timer and a CPU profile at 10 kHz, while queues read on all four paths",
			Must:  "no read is lost, doubled or failed; interrupted waits go on",
			Bound: 90 * time.Second, Shape: userShape, Exit: LibraryOnly, Run: stormQueue,
		},
		{
			Name:  "signal-storm-device",
			Fault: "the same storm, while goroutines write and read back through a Device, by interrupt and polled, and one alone by ioctl",
			Must:  "every acknowledged block is intact; nothing fails",
			Bound: 90 * time.Second, Shape: userShape, Exit: LibraryOnly, Run: stormDevice,
		},
		{
			Name:  "more-goroutines-than-slots",
			Fault: "64 goroutines on a Device of 2 slots, and Close in the middle of their work",
			Must:  "calls before Close succeed, later ones are refused as closed; acknowledged blocks are intact; Close returns",
			Bound: 60 * time.Second, Shape: userShape, Exit: LibraryOnly, Run: closeDuringUse,
		},
	}
}

// storm sends signals to all threads of this process until the function that it
// returns is called.
func storm(t *testing.T) (end func()) {
	t.Helper()
	const every = 100 * time.Microsecond // 10 kHz, as far as the kernel's clock goes
	runtime.SetCPUProfileRate(int(time.Second / every))
	require.NoError(t, profileTimer(every))
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		sent := []syscall.Signal{syscall.SIGURG, syscall.SIGWINCH, syscall.SIGPROF}
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			default:
			}
			threads, err := os.ReadDir("/proc/self/task")
			if err != nil {
				continue
			}
			for range 20 {
				for _, thread := range threads {
					_ = syscall.Tgkill(os.Getpid(), number(thread.Name()), sent[n%len(sent)]) // a thread may have ended
				}
				time.Sleep(every)
			}
		}
	}()
	return func() {
		close(stop)
		<-done
		require.NoError(t, profileTimer(0))
		runtime.SetCPUProfileRate(0)
	}
}

func number(text string) (n int) {
	for _, c := range text {
		n = 10*n + int(c-'0')
	}
	return n
}

func stormQueue(t *testing.T, g *Guest) (o Outcome) {
	end := storm(t)
	defer end()
	interrupts := uint64(0)
	for _, serial := range []string{"fast0", "slow0"} {
		d := opened(t, g.Drive(t, serial).Generic, passthru.Config{})
		for _, path := range iosetup.AllPaths() {
			for _, hold := range []bool{false, true} {
				Owned(t, func(t *testing.T) {
					got, stats := readQueue(t, d, ioqueue.Config{Path: path, Depth: 8, HoldP: hold}, workload.Config{Batch: 2, Runtime: 500 * time.Millisecond})
					o = o.Add(got)
					interrupts += stats.Interrupts
				})
			}
		}
	}
	require.Positive(t, interrupts, "no wait was interrupted: the storm is none")
	return o
}

func stormDevice(t *testing.T, g *Guest) (o Outcome) {
	end := storm(t)
	defer end()
	for _, m := range modes {
		for _, workers := range []int{1, 8} {
			d := opened(t, g.Drive(t, "fast0").Generic, passthru.Config{Depth: 8, BufferSize: loadBlock, Poll: m.poll})
			l := newLoad(0, workers, 16)
			stop := l.start(d)
			time.Sleep(2 * time.Second)
			o = o.Add(stop())
			require.Empty(t, l.errs, m.name)
			l.verify(t, d)
			o.Issued += uint64(workers * 16)
			o.OK += uint64(workers * 16)
			forget(t, d, workers*16)
		}
	}
	require.Zero(t, o.Failed+o.Cancelled)
	return o
}

// forget makes blocks what they are on a drive that was not written to.
func forget(t *testing.T, d *passthru.Device, blocks int) {
	t.Helper()
	_, err := d.WriteAt(make([]byte, blocks*loadBlock), 0)
	require.NoError(t, err)
}

func closeDuringUse(t *testing.T, g *Guest) (o Outcome) {
	node := g.Drive(t, "fast0").Generic
	for _, m := range modes {
		for range 5 {
			d, err := passthru.Open(node, &passthru.Config{Writable: true, Depth: 2, BufferSize: loadBlock, Poll: m.poll})
			require.NoError(t, err)
			forget(t, d, 64*4)
			l := newLoad(0, 64, 4)
			end := l.start(d)
			l.await(t, 200)
			require.NoError(t, d.Close())
			o = o.Add(end())
			require.Empty(t, l.errs, "what Close refused was not sent")
			l.verify(t, opened(t, node, passthru.Config{}))
		}
	}
	require.Zero(t, o.Failed+o.Cancelled)
	return o
}
