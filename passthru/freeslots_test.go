package passthru

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFreeSlots: every slot is with one holder at a time, none is lost, and who
// waits gets one.
func TestFreeSlots(t *testing.T) {
	for depth := 1; depth <= 5; depth++ {
		f := newFreeSlots(depth)
		for i := range depth {
			f.put(i)
		}
		require.Equal(t, depth, f.count())
		held := make([]atomic.Bool, depth)
		var all sync.WaitGroup
		for n := range 8 {
			all.Go(func() {
				for round := range 2000 {
					slot := f.tryTake()
					if slot < 0 && (n+round)%3 > 0 {
						if slot = f.await(); slot < 0 {
							slot = <-f.rest
						}
						f.done()
					}
					if slot < 0 {
						runtime.Gosched()
						continue
					}
					if held[slot].Swap(true) {
						panic("two hold one slot")
					}
					if round%7 == 0 {
						runtime.Gosched()
					}
					held[slot].Store(false)
					f.put(slot)
				}
			})
		}
		all.Wait()
		require.Equal(t, depth, f.count())
		require.Zero(t, f.waiting.Load())

		// Once somebody waits for good, all come through the channel.
		n := 0
		if f.await() >= 0 {
			n++
		}
		slot := f.tryTake()
		if slot >= 0 {
			f.put(slot)
		}
		require.Equal(t, depth, n+len(f.rest))
	}
}
