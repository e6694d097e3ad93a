package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"time"
)

// Usage is what the process holds at a moment when no traffic runs.
type Usage struct {
	Seconds    float64 `json:"seconds"`
	FDs        int     `json:"fds"`
	Mappings   int     `json:"mappings"`
	LockedKiB  int     `json:"locked_kib"` // VmLck
	PinnedKiB  int     `json:"pinned_kib"` // VmPin: what rings have registered
	Goroutines int     `json:"goroutines"`
	Threads    int     `json:"threads"`
	HeapKiB    int     `json:"heap_kib"` // in use, after a collection

	// What it consists of, to name what grew.
	fds, maps, stacks map[string]int
}

// usageLog collects samples; a run that hangs is reported from another goroutine.
type usageLog struct {
	mu      sync.Mutex
	samples []Usage
}

func (l *usageLog) add(u Usage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.samples = append(l.samples, u)
}

func (l *usageLog) all() []Usage {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.samples)
}

// releaseTime is how long what was closed may take to be given back: the kernel
// frees rings, and the memory that they pin, on a thread of its own.
const releaseTime = 20 * time.Second

// settled takes a sample, again as long as it would be a leak, at most for a time.
func (l *usageLog) settled(limit time.Duration) (Usage, error) {
	for end := time.Now().Add(limit); ; time.Sleep(100 * time.Millisecond) {
		u, err := takeUsage()
		if err != nil || len(leaks(append(l.all(), u))) == 0 || time.Now().After(end) {
			return u, err
		}
	}
}

// slack is by how much a count may grow between the samples that are compared.
// Go keeps the threads that it once needed, and maps memory for its heap as it
// grows; the rest is exact.
var slack = Usage{FDs: 0, Mappings: 24, LockedKiB: 0, PinnedKiB: 0, Goroutines: 0, Threads: 16, HeapKiB: 16 << 10}

// takeUsage reads the process's own state.
func takeUsage() (u Usage, err error) {
	runtime.GC()
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	u.HeapKiB = int(mem.HeapAlloc >> 10)
	u.fds, u.maps, u.stacks = map[string]int{}, map[string]int{}, map[string]int{}

	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return u, err
	}
	for _, e := range entries {
		target, err := os.Readlink("/proc/self/fd/" + e.Name())
		if err != nil {
			continue // the one that the folder was read by
		}
		u.FDs++
		kind, _, _ := strings.Cut(target, ":[") // a pipe's number says nothing
		u.fds[kind]++
	}
	b, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return u, err
	}
	for line := range strings.Lines(string(b)) {
		u.Mappings++
		name := "anonymous"
		if fields := strings.Fields(line); len(fields) > 5 {
			name = strings.Join(fields[5:], " ")
		}
		u.maps[name]++
	}
	if b, err = os.ReadFile("/proc/self/status"); err != nil {
		return u, err
	}
	for line := range strings.Lines(string(b)) {
		for name, to := range map[string]*int{"VmLck:": &u.LockedKiB, "VmPin:": &u.PinnedKiB, "Threads:": &u.Threads} {
			if v, ok := strings.CutPrefix(line, name); ok {
				if _, err := fmt.Sscan(v, to); err != nil {
					return u, fmt.Errorf("/proc/self/status: %q: %w", line, err)
				}
			}
		}
	}
	u.Goroutines = runtime.NumGoroutine()
	u.stacks = goroutineStacks()
	return u, nil
}

// goroutineStacks counts goroutines by where they were started and are now.
func goroutineStacks() map[string]int {
	var b bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&b, 1); err != nil {
		return nil
	}
	stacks := map[string]int{}
	for group := range strings.SplitSeq(b.String(), "\n\n") {
		var n int
		var frames []string
		for line := range strings.Lines(group) {
			if fields := strings.Fields(line); len(fields) > 2 && fields[0] == "#" {
				frames = append(frames, strings.SplitN(fields[2], "+", 2)[0])
			} else if n == 0 {
				_, _ = fmt.Sscanf(line, "%d @", &n)
			}
		}
		if n > 0 && len(frames) > 0 {
			stacks[strings.Join(frames, " < ")] += n
		}
	}
	return stacks
}

// leaks compares samples of quiet moments: what is held at the end and was not
// after the first rounds has leaked. Fewer than three samples show nothing.
func leaks(samples []Usage) (found []string) {
	if len(samples) < 3 {
		return nil
	}
	warm := samples[min(2, len(samples)-2)]
	last := samples[len(samples)-1]
	for _, x := range []struct {
		name              string
		from, to, allowed int
		what              func() string
	}{
		{"file descriptors", warm.FDs, last.FDs, slack.FDs, func() string { return grown(warm.fds, last.fds) }},
		{"mappings", warm.Mappings, last.Mappings, slack.Mappings, func() string { return grown(warm.maps, last.maps) }},
		{"KiB of locked memory", warm.LockedKiB, last.LockedKiB, slack.LockedKiB, nil},
		{"KiB of pinned memory", warm.PinnedKiB, last.PinnedKiB, slack.PinnedKiB, nil},
		{"goroutines", warm.Goroutines, last.Goroutines, slack.Goroutines, func() string { return grown(warm.stacks, last.stacks) }},
		{"threads", warm.Threads, last.Threads, slack.Threads, nil},
		{"KiB of heap", warm.HeapKiB, last.HeapKiB, slack.HeapKiB, nil},
	} {
		if x.to-x.from <= x.allowed {
			continue
		}
		text := fmt.Sprintf("%s: %d after %.0fs, %d after %.0fs", x.name, x.from, warm.Seconds, x.to, last.Seconds)
		if x.what != nil {
			text += ": " + x.what()
		}
		found = append(found, text)
	}
	return found
}

// grown names what there is more of.
func grown(before, after map[string]int) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if n := after[name] - before[name]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d more of %s", n, name))
		}
	}
	return strings.Join(parts, "; ")
}
