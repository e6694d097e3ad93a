package uringcmd

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/nvmepass/nvmepass/internal/sys"
)

// The watchdog makes the stall limit hold for waits that nothing else would
// interrupt. It costs the hot path nothing: it reads the counters that kernel
// and ring share, and when commands are in flight without progress it sends
// the owner thread a signal that ends its system call, so that enter looks at
// the clock.
const watchPeriod = 100 * time.Millisecond

var watchdog struct {
	sync.Mutex
	rings map[*Ring]uint32 // CQ tail at the last look
	stop  chan struct{}
}

// Quiet tells the watchdog that what is in flight may take as long as it likes,
// such as a wait for an event, so that it leaves the owner alone.
func (r *Ring) Quiet(on bool) { r.quiet.Store(on) }

func watch(r *Ring) {
	watchdog.Lock()
	defer watchdog.Unlock()
	if watchdog.rings == nil {
		watchdog.rings = map[*Ring]uint32{}
	}
	watchdog.rings[r] = atomic.LoadUint32(r.cqTail)
	if len(watchdog.rings) == 1 {
		watchdog.stop = make(chan struct{})
		go runWatchdog(watchdog.stop)
	}
}

// unwatch returns only when the watchdog no longer looks at r's memory.
func unwatch(r *Ring) {
	watchdog.Lock()
	defer watchdog.Unlock()
	delete(watchdog.rings, r)
	if len(watchdog.rings) == 0 {
		close(watchdog.stop)
	}
}

func runWatchdog(stop <-chan struct{}) {
	tick := time.NewTicker(watchPeriod)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
			look()
		}
	}
}

func look() {
	watchdog.Lock()
	defer watchdog.Unlock()
	for r, last := range watchdog.rings {
		tail := atomic.LoadUint32(r.cqTail)
		watchdog.rings[r] = tail
		// Consumed entries less posted completions: what the kernel holds.
		// With SQ_REWIND the head stays 0 and the difference means nothing.
		idle := !r.rewind && atomic.LoadUint32(r.sqHead) == tail
		if tail == last && !idle && !r.quiet.Load() {
			_ = sys.InterruptThread(r.owner) // the thread may be gone; then nobody waits
		}
	}
}
