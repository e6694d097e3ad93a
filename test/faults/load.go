package faults

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/nvme"
	"github.com/nvmepass/nvmepass/passthru"
	"github.com/nvmepass/nvmepass/uringcmd"
)

// loadBlock is the size in bytes of each of a load's transfers: one command.
const loadBlock = 4096

// load is verified traffic of many goroutines on one Device: each writes and
// reads blocks of its own, and remembers what the drive acknowledged.
type load struct {
	first           int // block of the drive, never written to before
	workers, blocks int // blocks of each worker
	held            [][]holding
	ok              atomic.Uint64 // of all workers, so far
	over            chan struct{} // closed when all workers have ended

	mu     sync.Mutex
	total  Outcome
	errs   map[string]int // by text, the addresses left out
	sample error          // one that ended a worker
	wrong  error          // data that is not what it must be
}

// holding is what one block may hold: the last acknowledged generation, or one
// of those that were sent after it and not acknowledged.
type holding struct{ acked, sent uint32 }

// newLoad makes a load of some workers, each with so many blocks, from block
// first on. They must be blocks that nothing was written to.
func newLoad(first, workers, blocks int) *load {
	l := &load{first: first, workers: workers, blocks: blocks, held: make([][]holding, workers), over: make(chan struct{}), errs: map[string]int{}}
	for i := range l.held {
		l.held[i] = make([]holding, blocks)
	}
	return l
}

// fillBlock fills p with what generation gen of a block holds; gen 0 is the zeros of
// a drive that was not written to.
func fillBlock(p []byte, block int, gen uint32) {
	if gen == 0 {
		clear(p)
		return
	}
	for i := 0; i < len(p); i += 8 {
		binary.LittleEndian.PutUint64(p[i:], uint64(block)<<40|uint64(gen)<<16|uint64(i/8))
	}
}

// judgeBlock says whether p is a generation of a block that it may hold.
func judgeBlock(p []byte, block int, h holding) error {
	want := make([]byte, len(p))
	for gen := h.acked; gen <= h.sent; gen++ {
		if fillBlock(want, block, gen); string(want) == string(p) {
			return nil
		}
	}
	v := binary.LittleEndian.Uint64(p)
	return fmt.Errorf("block %d holds generation %d of block %d, must be from %d (acknowledged) to %d (sent)", block, uint32(v>>16)&0xffffff, v>>40, h.acked, h.sent)
}

// block is the drive's number of block i of worker w.
func (l *load) block(w, i int) int { return l.first + w*l.blocks + i }

// loadArea is the blocks that a load of 8 workers with 32 blocks each takes.
const loadArea = 8 * 32

// run sends traffic until stop is closed or the device can take no more, which
// ends it with the error.
func (l *load) run(d *passthru.Device, stop <-chan struct{}) {
	var wg sync.WaitGroup
	for w := range l.workers {
		wg.Go(func() { l.work(d, w, stop) })
	}
	wg.Wait()
}

func (l *load) work(d *passthru.Device, w int, stop <-chan struct{}) {
	var count Outcome
	var last error
	errs := map[string]int{}
	p := make([]byte, loadBlock)
	for n := 0; ; n++ {
		select {
		case <-stop:
		default:
			i := n % l.blocks
			block := l.block(w, i)
			h := &l.held[w][i]
			var err error
			write := n/l.blocks%2 == 0 // a round of writes, then one of reads
			if write {
				h.sent++
				fillBlock(p, block, h.sent)
				_, err = d.WriteAt(p, int64(block)*loadBlock)
			} else {
				_, err = d.ReadAt(p, int64(block)*loadBlock)
			}
			if errors.Is(err, os.ErrClosed) {
				last = err // refused, so that nothing was sent
				break
			}
			count.Issued++
			switch {
			case err == nil:
				count.OK++
				l.ok.Add(1)
				if write {
					h.acked = h.sent
				} else if err := judgeBlock(p, block, *h); err != nil {
					l.mu.Lock()
					l.wrong = errors.Join(l.wrong, err)
					l.mu.Unlock()
				}
			case errors.Is(err, passthru.ErrCancelled):
				count.Cancelled++
			case errors.Is(err, uringcmd.ErrStalled):
				count.Lost++
			default:
				count.Failed++
			}
			if err != nil {
				errs[errorKind(err)]++
			}
			if gone(err) || errors.Is(err, uringcmd.ErrStalled) {
				last = err
				break
			}
			continue
		}
		break
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.total = l.total.Add(count)
	for k, n := range errs {
		l.errs[k] += n
	}
	if last != nil {
		l.sample = last
	}
}

// gone tells whether an error means that the drive is not there any more.
func gone(err error) bool {
	return errors.Is(err, syscall.ENODEV) || errors.Is(err, syscall.ENXIO)
}

// errorKind is what an error is, without its addresses.
func errorKind(err error) string {
	var k *passthru.KernelError
	var s *nvme.StatusError
	switch {
	case errors.As(err, &s):
		return s.Status.String()
	case errors.Is(err, passthru.ErrCancelled):
		return passthru.ErrCancelled.Error()
	case errors.As(err, &k):
		return k.Errno.Error()
	}
	return err.Error()
}

// start runs the load in the background, once; what it returns ends it and waits,
// and gives its counts.
func (l *load) start(d *passthru.Device) (end func() Outcome) {
	stop := make(chan struct{})
	go func() {
		defer close(l.over)
		l.run(d, stop)
	}()
	return func() Outcome {
		close(stop)
		<-l.over
		return l.total
	}
}

// ends waits until every worker has ended by itself, and gives its counts.
func (l *load) ends(t *testing.T) Outcome {
	t.Helper()
	select {
	case <-l.over:
	case <-time.After(time.Minute):
		require.Fail(t, "the load goes on without a drive", "%v", l.errs)
	}
	return l.total
}

// await waits until more commands have succeeded. After a reset that may take the
// driver's own time-outs, 30 s twice.
func (l *load) await(t *testing.T, more uint64) {
	t.Helper()
	from := l.ok.Load()
	require.Eventually(t, func() bool { return l.ok.Load() >= from+more }, 100*time.Second, time.Millisecond, "the load does not move: %v", l.errs)
}

// verify requires that every block holds what was acknowledged, or what was sent
// after that.
func (l *load) verify(t *testing.T, d *passthru.Device) {
	t.Helper()
	require.NoError(t, l.wrong)
	p := make([]byte, loadBlock)
	for w := range l.held {
		for i, h := range l.held[w] {
			block := l.block(w, i)
			_, err := d.ReadAt(p, int64(block)*loadBlock)
			require.NoError(t, err)
			require.NoError(t, judgeBlock(p, block, h))
		}
	}
}

// with opens a drive for writing, for the time of f. Devices that poll are not
// open side by side: kernels before 6.6 would crash.
func with(t *testing.T, node string, cfg passthru.Config, f func(d *passthru.Device)) {
	t.Helper()
	cfg.Writable = true
	d, err := passthru.Open(node, &cfg)
	require.NoError(t, err)
	closed := false
	defer func() {
		if !closed {
			_ = d.Close() // f has failed already
		}
	}()
	f(d)
	closed = true
	require.NoError(t, d.Close())
}

// mode is a way in which a Device or Queue waits for its completions.
type mode struct {
	name string
	poll bool
}

// modes are all of them.
var modes = []mode{{"interrupts", false}, {"polled", true}}

// failing are the modes in which commands may fail, or stay behind when their
// process ends, on the running kernel, and what has to be left out. Polled ones
// crash or hang Linux 6.1 (seen on 6.1.176; docs/design.md).
func (g *Guest) failing() (ways []mode, paths []string, without string) {
	if strings.HasPrefix(g.Kernel, "6.1.") {
		return modes[:1], []string{"passthru"}, "not polled, which can crash this kernel"
	}
	return modes, []string{"passthru", "passthru-poll"}, ""
}
