package workload

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Phases of a run, in the low bits of the word that a Control advances and the
// loops read once per batch.
const (
	warmingUp = iota
	measuring
	ending

	phaseMask = 3
	oneSample = phaseMask + 1
)

// Control leads any number of runs through warm-up, window and end, and asks
// them for samples. Its methods are safe for use by any goroutine. The zero
// value is a Control of runs that warm up.
type Control struct{ word atomic.Uint32 }

func (c *Control) change(f func(word uint32) uint32) uint32 {
	for {
		old := c.word.Load()
		next := f(old)
		if c.word.CompareAndSwap(old, next) {
			return next / oneSample
		}
	}
}

// Measure begins the window, unless the runs are ending, and asks for a sample,
// whose number it returns.
func (c *Control) Measure() uint32 {
	return c.change(func(w uint32) uint32 {
		if w&phaseMask == ending {
			return w
		}
		return w&^phaseMask + oneSample | measuring
	})
}

// End ends window and runs.
func (c *Control) End() {
	c.change(func(w uint32) uint32 { return w&^phaseMask | ending })
}

// Request asks every run for a sample, and returns its number.
func (c *Control) Request() uint32 {
	return c.change(func(w uint32) uint32 { return w + oneSample })
}

// Live is where a run stands; counts are since its start.
type Live struct {
	// Number is that of the Request.
	Number uint32
	At     time.Time
	Total  Counts
	// Cells are Total by direction and device; see Result.Cells.
	Cells                     []Counts
	Enters, Submitted, Reaped uint64
	// InFlight sums up the commands in flight at each of Calls submissions.
	InFlight, Calls uint64
}

// Meter holds the last sample of a run. The run writes it between two batches;
// any goroutine may read it.
type Meter struct {
	mu   sync.Mutex
	last Live
}

// Read is the last sample. Its Cells are a copy.
func (m *Meter) Read() Live {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.last
	l.Cells = slices.Clone(l.Cells)
	return l
}

func (m *Meter) set(l *Live, cells []Counts) {
	m.mu.Lock()
	defer m.mu.Unlock()
	kept := append(m.last.Cells[:0], cells...)
	m.last = *l
	m.last.Cells = kept
}
