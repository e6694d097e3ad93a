package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"
)

// watch notices operations that do not end.
type watch struct {
	limit time.Duration
	mu    sync.Mutex
	under map[*guarded]struct{}
}

// guarded is an operation under way.
type guarded struct {
	what  string
	since time.Time
}

func newWatch(limit time.Duration) *watch {
	return &watch{limit: limit, under: map[*guarded]struct{}{}}
}

// begin starts the clock of an operation; the caller ends it.
func (w *watch) begin(format string, args ...any) *guarded {
	g := &guarded{what: fmt.Sprintf(format, args...), since: time.Now()}
	w.mu.Lock()
	w.under[g] = struct{}{}
	w.mu.Unlock()
	return g
}

func (w *watch) end(g *guarded) {
	w.mu.Lock()
	delete(w.under, g)
	w.mu.Unlock()
}

// overdue is the operation that has taken longest, "" if none is beyond the limit.
func (w *watch) overdue(now time.Time) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var worst *guarded
	for g := range w.under {
		if worst == nil || g.since.Before(worst.since) {
			worst = g
		}
	}
	if worst == nil || now.Sub(worst.since) <= w.limit {
		return ""
	}
	return fmt.Sprintf("%s has not ended after %.0fs; the limit is %v", worst.what, now.Sub(worst.since).Seconds(), w.limit)
}

// run calls hung once, with what hangs, and ends with ctx. It does not judge by
// the clock of a process that was stopped: what is overdue has to be so twice, a
// second apart.
func (w *watch) run(ctx context.Context, hung func(what string)) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	suspect := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		what := w.overdue(time.Now())
		if what != "" && suspect != "" {
			hung(what)
			return
		}
		suspect = what
	}
}

// blockedTasks are all threads of this machine that sleep in the kernel without
// being interruptible, with where they do, as far as this process may know.
func blockedTasks() string {
	var b strings.Builder
	tasks, err := filepath.Glob("/proc/[0-9]*/task/[0-9]*")
	if err != nil {
		return ""
	}
	for _, dir := range tasks {
		stat, err := os.ReadFile(dir + "/stat")
		if err != nil {
			continue // it has ended
		}
		_, state, _ := strings.Cut(string(stat), ") ")
		if !strings.HasPrefix(state, "D") {
			continue
		}
		stack, err := os.ReadFile(dir + "/stack")
		if err != nil {
			stack = []byte(err.Error() + "\n")
		}
		name, _, _ := strings.Cut(string(stat), ") ")
		fmt.Fprintf(&b, "%s) sleeps in the kernel:\n%s", name, stack)
	}
	return b.String()
}

// stuckRequests are what the kernel holds of the drives' requests, where debugfs
// tells.
func stuckRequests() string {
	var b strings.Builder
	for _, pattern := range []string{"state", "requeue_list", "hctx*/busy", "hctx*/tags", "hctx*/dispatch", "hctx*/cpu*/*_rq_list", "hctx*/state"} {
		files, err := filepath.Glob("/sys/kernel/debug/block/nvme*/" + pattern)
		if err != nil {
			return ""
		}
		for _, name := range files {
			if text, err := os.ReadFile(name); err == nil && len(text) > 1 {
				fmt.Fprintf(&b, "%s: %s", strings.TrimPrefix(name, "/sys/kernel/debug/block/"), text)
			}
		}
	}
	return b.String()
}

// goroutineDump is where every goroutine is.
func goroutineDump() string {
	b := make([]byte, 4<<20)
	return string(b[:runtime.Stack(b, true)])
}
