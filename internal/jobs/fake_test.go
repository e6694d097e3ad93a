package jobs

import (
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/ioqueue"
	"github.com/nvmepass/nvmepass/internal/iosetup"
	"github.com/nvmepass/nvmepass/internal/workload"
	"github.com/nvmepass/nvmepass/passthru"
	"github.com/nvmepass/nvmepass/uringcmd"
)

// fakeQueue completes commands in order, each submission taking some time.
type fakeQueue struct {
	depth  int
	took   time.Duration
	busy   []int
	res    func(n int) int32 // of command n
	n      int
	stats  uringcmd.Stats
	broken int // submission that fails, 0 for none
	closed bool
}

func (q *fakeQueue) Depth() int                      { return q.depth }
func (q *fakeQueue) Buffer(int) []byte               { return make([]byte, 16) }
func (q *fakeQueue) Read(int, uint64, uint32) error  { return errors.New("not used") }
func (q *fakeQueue) Write(int, uint64, uint32) error { return errors.New("not used") }
func (q *fakeQueue) Ready() int                      { return len(q.busy) }
func (q *fakeQueue) InFlight() int                   { return len(q.busy) }
func (q *fakeQueue) OKResult() int32                 { return 0 }
func (q *fakeQueue) Err(c uringcmd.Completion) error {
	return &passthru.KernelError{Errno: syscall.Errno(-c.Res)}
}
func (q *fakeQueue) Stats() uringcmd.Stats                          { return q.stats }
func (q *fakeQueue) Settings() passthru.Settings                    { return passthru.Settings{BlocksPerBuffer: 1} }
func (q *fakeQueue) Close() error                                   { q.closed = true; return nil }
func (q *fakeQueue) publish(slots []int) error                      { q.busy = append(q.busy, slots...); return nil }
func (q *fakeQueue) ReadBatch(s []int, _ []uint64, _ uint32) error  { return q.publish(s) }
func (q *fakeQueue) WriteBatch(s []int, _ []uint64, _ uint32) error { return q.publish(s) }
func (q *fakeQueue) Submit(int) error {
	q.stats.Enters++
	q.stats.Submitted += uint64(len(q.busy))
	if q.broken > 0 && int(q.stats.Enters) >= q.broken {
		return fmt.Errorf("submit: %w", uringcmd.ErrStalled)
	}
	time.Sleep(q.took)
	return nil
}
func (q *fakeQueue) Take(dst []uringcmd.Completion) int {
	n := min(len(dst), len(q.busy))
	for i := range n {
		dst[i] = uringcmd.Completion{Slot: q.busy[i]}
		if q.res != nil {
			dst[i].Res = q.res(q.n)
		}
		q.n++
	}
	q.busy = q.busy[n:]
	q.stats.Reaped += uint64(n)
	return n
}

var _ ioqueue.Queue = (*fakeQueue)(nil)

// crewOf has a job for each queue, on devices as c has them; c.Devices are only
// names.
func crewOf(t *testing.T, c *Config, queues ...*fakeQueue) *crew {
	t.Helper()
	if c.BlockSize == 0 {
		c.BlockSize = 512
	}
	c.Jobs = len(queues)
	require.NoError(t, c.Validate())
	r := &crew{cfg: c, device: make([]Spread, len(c.Devices)), opt: Options{Interval: 20 * time.Millisecond}}
	for n, q := range queues {
		j := &job{number: n, drives: c.drives(n)}
		j.queueOf = func(_ []*passthru.Device, qc ioqueue.Config) (ioqueue.Queue, error) {
			if q == nil {
				return nil, fmt.Errorf("cannot be opened")
			}
			q.depth = qc.Depth
			return q, nil
		}
		j.cfg = workload.Config{
			Batch: c.Depth.Batch, Rule: c.Rule, Pattern: c.RW, Blocks: 1 << 20, NLB: 1, Count: c.Number, Latency: c.Latency,
			ReadShare: float64(c.ReadPercent) / 100, Devices: len(j.drives), Rate: c.rate(),
		}
		r.jobs = append(r.jobs, j)
	}
	return r
}

func testConfig(devices int) *Config {
	c := DefaultConfig()
	for i := range devices {
		c.Devices = append(c.Devices, fmt.Sprintf("/dev/ng%dn1", i))
	}
	c.Depth, c.Runtime = iosetup.Depth{QD: 8, Batch: 4}, 150*time.Millisecond
	return &c
}
