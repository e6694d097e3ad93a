package workload

import (
	"math"
	"time"
)

// pacer says when commands are due. Times are in nanoseconds since the start of
// the run. A drive that does not keep up builds up a backlog; nothing due is
// forgotten, so that latencies from the times due tell what a user would have
// waited (coordinated omission).
type pacer struct {
	interval float64
	poisson  bool
	gen      random
	next     float64
}

func newPacer(rate float64, poisson bool, seed uint64) *pacer {
	p := &pacer{interval: 1e9 / rate, poisson: poisson, gen: random{seed}}
	if poisson {
		p.next = p.gap()
	}
	return p
}

func (p *pacer) gap() float64 {
	if !p.poisson {
		return p.interval
	}
	return -math.Log(p.gen.unit()) * p.interval
}

// due writes the times of the commands that are due by now, at most len(starts),
// and returns how many.
func (p *pacer) due(now int64, starts []int64) int {
	n := 0
	for n < len(starts) && p.next <= float64(now) {
		starts[n] = int64(p.next)
		p.next += p.gap()
		n++
	}
	return n
}

// Sleeping is not as exact as starts should be, so that the last part of a wait
// spins; a long one is cut, so that the run still hears of its end.
const (
	spinBelow = int64(500 * time.Microsecond)
	longest   = int64(20 * time.Millisecond)
)

// pause waits for the next start if nothing else is to be done.
func (p *pacer) pause(now int64) {
	if wait := int64(p.next) - now; wait > spinBelow {
		time.Sleep(time.Duration(min(wait-spinBelow, longest)))
	}
}
