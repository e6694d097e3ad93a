package passthru_test

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/passthru"
)

// These run on /dev/null: the engine and the kernel's share of a command, no
// drive. Names are for benchstat: go test ./passthru -run '^$' -bench . -count 10

func openNull(b *testing.B) *passthru.Device {
	d, err := passthru.OpenNull(passthru.NullConfig{})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, d.Close()) })
	return d
}

// BenchmarkQueue is a full queue that submits and reaps a batch per call.
func BenchmarkQueue(b *testing.B) {
	for _, depth := range [][2]int{{1, 1}, {8, 2}, {16, 4}, {128, 32}} {
		b.Run(fmt.Sprintf("op=read/bs=512/qd=%d/batch=%d", depth[0], depth[1]), func(b *testing.B) {
			batch := depth[1]
			q, err := openNull(b).NewQueue(passthru.QueueConfig{Depth: depth[0], HoldP: true})
			require.NoError(b, err)
			defer q.Close()
			slots, slbas := make([]int, batch), make([]uint64, batch)
			for i := range slots {
				slots[i], slbas[i] = i, uint64(i)*977
			}
			done := make([]passthru.Completion, depth[0])
			b.ReportAllocs()
			b.ResetTimer()
			for n := 0; n < b.N; n += batch {
				if err := q.ReadBatch(slots, slbas, 1); err != nil {
					b.Fatal(err)
				}
				if err := q.Submit(batch); err != nil {
					b.Fatal(err)
				}
				if got := q.Take(done); got != batch {
					b.Fatalf("%d completions", got)
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "IOPS")
		})
	}
}

// BenchmarkDevice is ReadAt by so many goroutines.
func BenchmarkDevice(b *testing.B) {
	for _, goroutines := range []int{1, 8, 64, 512} {
		b.Run(fmt.Sprintf("op=read/bs=4096/goroutines=%d", goroutines), func(b *testing.B) {
			d := openNull(b)
			_, err := d.ReadAt(make([]byte, 4096), 0) // starts the engine
			require.NoError(b, err)
			var left atomic.Int64
			left.Store(int64(b.N))
			var wg sync.WaitGroup
			b.ReportAllocs()
			b.ResetTimer()
			for range goroutines {
				wg.Go(func() {
					p := make([]byte, 4096)
					for left.Add(-1) >= 0 {
						if _, err := d.ReadAt(p, 4096); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "IOPS")
			b.ReportMetric(float64(runtime.GOMAXPROCS(0)), "procs")
		})
	}
}
