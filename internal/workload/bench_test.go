package workload

import (
	"fmt"
	"testing"

	"github.com/nvmepass/nvmepass/internal/iosetup"
	"github.com/nvmepass/nvmepass/uringcmd"
)

// idealQueue completes everything at once and costs next to nothing, so that
// what is measured is the loop.
type idealQueue struct {
	depth int
	busy  []int
	stats uringcmd.Stats
}

func (q *idealQueue) Depth() int { return q.depth }
func (q *idealQueue) ReadBatch(slots []int, _ []uint64, _ uint32) error {
	q.busy = append(q.busy, slots...)
	return nil
}
func (q *idealQueue) Submit(int) error { q.stats.Enters++; return nil }
func (q *idealQueue) Take(dst []uringcmd.Completion) int {
	n := min(len(dst), len(q.busy))
	for i := range n {
		dst[i] = uringcmd.Completion{Slot: q.busy[i]}
	}
	q.busy = q.busy[:copy(q.busy, q.busy[n:])]
	return n
}
func (q *idealQueue) InFlight() int                 { return len(q.busy) }
func (q *idealQueue) OKResult() int32               { return 0 }
func (q *idealQueue) Err(uringcmd.Completion) error { return nil }
func (q *idealQueue) Stats() uringcmd.Stats         { return q.stats }

// BenchmarkTurn is what the loop costs per command, without the queue.
func BenchmarkTurn(b *testing.B) {
	for _, d := range []iosetup.Depth{{QD: 1, Batch: 1}, {QD: 8, Batch: 2}, {QD: 128, Batch: 32}} {
		for _, latency := range []bool{false, true} {
			b.Run(fmt.Sprintf("depth=%v/latency=%v", d, latency), func(b *testing.B) {
				cfg := Config{Batch: d.Batch, Rule: iosetup.RuleTIOUring, Pattern: RandRead, Blocks: 1 << 20, NLB: 1, Latency: latency}
				r, err := newRunner(&idealQueue{depth: d.QD, busy: make([]int, 0, d.QD)}, &cfg)
				if err != nil {
					b.Fatal(err)
				}
				r.begin()
				b.ResetTimer()
				for r.total.OK < uint64(b.N) {
					r.turn()
				}
			})
		}
	}
}
