package main

import (
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"
)

// tally counts what happens, from any goroutine.
type tally struct {
	began  time.Time
	paths  [pathCount]pathTally
	faults faultTally

	mu         sync.Mutex
	mismatches []Mismatch
	failures   []Failure
	badCount   uint64 // of mismatches
	oddCount   uint64 // of failures
}

// pathTally has operations, and blocks.
type pathTally struct {
	issued, ok, failed, cancelled atomic.Uint64
	written, verified, mixed      atomic.Uint64
	opened                        atomic.Uint64
}

// maxReports bounds what is reported one by one; all is counted.
const maxReports = 20

// Mismatch is a block that does not hold what it may.
type Mismatch struct {
	Drive    string  `json:"drive"`
	Path     string  `json:"path"`
	Op       string  `json:"op"`
	LBA      uint64  `json:"lba"`
	Expected string  `json:"expected"`
	Found    string  `json:"found"`
	Seconds  float64 `json:"seconds"` // since the start
}

// Text is the mismatch in a line.
func (m *Mismatch) Text() string {
	return fmt.Sprintf("MISMATCH after %.1fs: %s by %s of LBA %d (0x%x) on %s: expected %s; found %s", m.Seconds, m.Op, m.Path, m.LBA, m.LBA, m.Drive, m.Expected, m.Found)
}

// Failure is something that no fault explains.
type Failure struct {
	Drive   string  `json:"drive,omitempty"`
	Path    string  `json:"path"`
	Op      string  `json:"op"`
	Error   string  `json:"error"`
	Seconds float64 `json:"seconds"`
}

// Text is the failure in a line.
func (f *Failure) Text() string {
	return fmt.Sprintf("UNEXPLAINED after %.1fs: %s by %s on %s: %s", f.Seconds, f.Op, f.Path, f.Drive, f.Error)
}

func (t *tally) since() float64 { return time.Since(t.began).Seconds() }

// mismatch records a block and returns its text if it is among the first.
func (t *tally) mismatch(m Mismatch) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	m.Seconds = t.since()
	t.badCount++
	if len(t.mismatches) == maxReports {
		return ""
	}
	t.mismatches = append(t.mismatches, m)
	return m.Text()
}

// unexplained records a failure likewise.
func (t *tally) unexplained(f Failure) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	f.Seconds = t.since()
	t.oddCount++
	if len(t.failures) == maxReports {
		return ""
	}
	t.failures = append(t.failures, f)
	return f.Text()
}

// bad counts mismatches and failures that nothing explains.
func (t *tally) bad() (mismatches, failures uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.badCount, t.oddCount
}

// verified counts blocks over all paths.
func (t *tally) verified() (n uint64) {
	for i := range t.paths {
		n += t.paths[i].verified.Load()
	}
	return n
}

// faultTally counts faults by kind.
type faultTally struct {
	mu    sync.Mutex
	kinds map[string]uint64
}

func (f *faultTally) add(kind string, n uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.kinds == nil {
		f.kinds = map[string]uint64{}
	}
	f.kinds[kind] += n
}

func (f *faultTally) snapshot() map[string]uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.kinds)
}
