package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/nvmepass/nvmepass/fixedbuf"
)

// readSize is what each read of the device part asks for, in bytes.
const readSize = 4096

// load is a number of goroutines, each of which reads at random places, one read
// after another.
type load struct {
	from            io.ReaderAt
	size            int64 // of what is read from, in bytes
	goroutines      int
	warmup, runtime time.Duration
}

// Phases of a load.
const (
	warmingUp = iota
	measuring
	ending
)

// run measures from the end of the warm-up on: reads that end in the window, the
// time that each took, and the processor time that the process used. The warm-up
// begins when each goroutine has read once, so that it is not used up by what
// the first reads set up.
func (l *load) run() (Sample, error) {
	if l.size < readSize {
		return nil, fmt.Errorf("read from %d bytes: need at least %d", l.size, readSize)
	}
	// Aligned memory outside the heap, which O_DIRECT needs, for both sides.
	arena, err := fixedbuf.New(fixedbuf.Config{Slots: l.goroutines, SlotSize: readSize})
	if err != nil {
		return nil, err
	}
	var phase atomic.Uint32
	var wg, ready sync.WaitGroup
	ready.Add(l.goroutines)
	latencies, errs := make([][]time.Duration, l.goroutines), make([]error, l.goroutines)
	for i := range l.goroutines {
		wg.Go(func() {
			latencies[i], errs[i] = l.reader(i, arena.Slot(i), &phase, ready.Done)
			if errs[i] != nil {
				phase.Store(ending)
			}
		})
	}
	ready.Wait()
	time.Sleep(l.warmup)
	began, cpuBefore := time.Now(), processCPU()
	phase.CompareAndSwap(warmingUp, measuring)
	time.Sleep(l.runtime)
	phase.Store(ending)
	took, cpu := time.Since(began), processCPU()-cpuBefore
	wg.Wait()
	if err := errors.Join(append(errs, arena.Close())...); err != nil {
		return nil, err
	}
	all := slices.Concat(latencies...)
	if len(all) == 0 {
		return nil, fmt.Errorf("no read of %d goroutines ended within %v", l.goroutines, took)
	}
	slices.Sort(all)
	n := float64(len(all))
	return Sample{
		metricIOPS: n / took.Seconds(), metricCPU: float64(cpu.Nanoseconds()) / n,
		metricP50: percentile(all, 50), metricP99: percentile(all, 99),
	}, nil
}

// percentile is the time in nanoseconds that p % of the sorted times, which are
// some, did not exceed.
func percentile(sorted []time.Duration, p int) float64 {
	return float64(sorted[max(0, (len(sorted)*p+99)/100-1)].Nanoseconds())
}

// reader is one goroutine: it returns how long each read of the window took. It
// calls first after its first read, failed or not.
func (l *load) reader(i int, buf []byte, phase *atomic.Uint32, first func()) ([]time.Duration, error) {
	rng := rand.New(rand.NewPCG(uint64(i), 0))
	places := uint64(l.size / readSize)
	read := func() error {
		off := int64(rng.Uint64N(places)) * readSize
		n, err := l.from.ReadAt(buf, off)
		if n == len(buf) {
			return nil // io.EOF may stand beside the last bytes
		}
		return fmt.Errorf("read %d bytes at offset %d: got %d: %w", len(buf), off, n, err)
	}
	times := make([]time.Duration, 0, 4096)
	err := read()
	first()
	last := time.Now()
	for {
		if err != nil {
			return nil, err
		}
		err = read()
		now := time.Now()
		switch phase.Load() {
		case measuring:
			if err == nil {
				times = append(times, now.Sub(last))
			}
		case ending:
			return times, err
		}
		last = now
	}
}

// processCPU is the user and system time of all threads of this process.
func processCPU() time.Duration {
	var ru syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &ru) != nil {
		return 0
	}
	return time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
}
