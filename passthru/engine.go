package passthru

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nvmepass/nvmepass/fixedbuf"
	"github.com/nvmepass/nvmepass/internal/stall"
	"github.com/nvmepass/nvmepass/nvme"
	"github.com/nvmepass/nvmepass/uringcmd"
)

// engine carries the commands of any number of goroutines. A few workers own a
// ring each; a slot is a worker's slot with its bounce buffer, and whoever holds
// one may send one command. Nothing is allocated per command.
type engine struct {
	dev *Device // nil for a controller's
	set nvme.CommandSet
	// writable: the node is open for writing.
	writable bool
	open     func(*QueueConfig) (*Queue, error) // makes a worker's queue, on its thread
	slots    []slot
	free     freeSlots
	workers  []*worker

	closed  chan struct{} // closed when the device is
	broken  chan struct{} // closed when a ring has failed; reason says why
	reason  error
	once    sync.Once       // of broken
	lost    atomic.Int64    // slots that a failed ring still holds: never free again
	ioctl   *fixedbuf.Arena // bounce buffers where all commands go by ioctl, else nil
	fd      int             // for ioctls; open for as long as slots may be held
	meta    *fixedbuf.Arena
	blocks  uint32 // logical blocks in one bounce buffer
	timeout uint32 // of each command in ms, 0 for the driver's
	// loneBytes is the longest transfer that may go by lone, 0 for none; plain
	// are a read and a write of the first block, unless blocks have metadata;
	// byRingOnly is set when the node turned out not to take that, and
	// transfers counts those that are on their way.
	loneBytes  int64
	plain      [2]nvme.Command
	byRingOnly atomic.Bool
	transfers  atomic.Int32
	// limit is how long commands may stay without a completion.
	limit time.Duration
	// givenUp: Close does not wait for commands any longer. Goroutines may
	// still hold slots, so that their memory has to stay.
	givenUp atomic.Bool
}

// States of a slot.
const (
	slotIdle      = iota // held by a goroutine or free
	slotBusy             // its command is on its way, a goroutine waits
	slotAbandoned        // its command is on its way, nobody waits
)

// slot is one command on its way. The goroutine that holds it writes cmd before
// start and reads res and result after done; in between they are the worker's.
type slot struct {
	state  atomic.Uint32
	worker *worker
	local  int // number within the worker
	cmd    nvme.Command
	res    int32
	result uint64
	err    error           // the ring failed; res means nothing
	big    *fixedbuf.Arena // data beyond the bounce buffer, or nil
	more   *fixedbuf.Arena // metadata beyond the bounce buffer, or nil
	done   chan struct{}   // one token when the command has ended
	lost   bool            // the ring failed while it held the command
	memory *byte           // the caller's, in lone
}

// newEngine starts the workers, or where allowed and necessary prepares for
// ioctls.
func newEngine(d *Device, cfg *Config) (*engine, error) {
	host := d.layout.UnderPRACT()
	unit := host.Unit()
	depth, size, workers := cfg.Depth, cfg.BufferSize, cfg.Workers
	if size == 0 {
		size = int(max(1, min(DefaultBufferSize/unit, blocksPerCommand(host, d.limits.MaxTransfer)))) * int(unit)
	}
	e := newSlots(depth, d.set, uint32(cfg.Timeout.Milliseconds()), cfg.StallLimit)
	e.dev, e.fd, e.writable = d, d.fd, d.writable
	e.open = func(q *QueueConfig) (*Queue, error) { return d.newQueue(q, []*Device{d}) }
	var err error
	for i := range workers {
		first, last := depth*i/workers, depth*(i+1)/workers
		var w *worker
		w, err = startWorker(e, e.slots[first:last], QueueConfig{BufferSize: size, Poll: cfg.Poll, HugePages: cfg.HugePages})
		if err != nil {
			break
		}
		e.workers = append(e.workers, w)
		e.blocks = w.q.perBuffer
	}
	noRing := errors.Is(err, uringcmd.ErrDisabled) || errors.Is(err, uringcmd.ErrNotSupported)
	switch {
	case noRing && cfg.AllowIoctl && cfg.Poll:
		err = fmt.Errorf("%w; Config.AllowIoctl does not help, since ioctls are not polled: leave out Config.Poll", err)
	case noRing && cfg.AllowIoctl:
		err = e.prepareIoctl(size)
	case noRing:
		err = withoutRing(err)
	}
	if err != nil {
		return nil, errors.Join(err, e.stopWorkers())
	}
	for i := range e.slots {
		e.free.put(i)
	}
	e.findLone(cfg)
	return e, nil
}

// newSlots makes an engine without workers. None of its slots is free yet.
func newSlots(depth int, set nvme.CommandSet, timeoutMS uint32, limit time.Duration) *engine {
	e := &engine{
		set: set, slots: make([]slot, depth), free: newFreeSlots(depth), closed: make(chan struct{}), broken: make(chan struct{}),
		timeout: timeoutMS, limit: limit,
	}
	for i := range e.slots {
		e.slots[i].done = make(chan struct{}, 1)
	}
	return e
}

// acquire gives the caller a free slot.
func (e *engine) acquire(ctx context.Context) (int, error) {
	if err := e.refuses(); err != nil {
		return 0, err
	}
	if err := ctx.Err(); err != nil {
		return 0, err // nothing is sent for a caller that does not wait
	}
	if i := e.free.tryTake(); i >= 0 {
		return i, nil
	}
	defer e.free.done()
	if i := e.free.await(); i >= 0 {
		return i, nil
	}
	select {
	case i := <-e.free.rest:
		return i, nil
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-e.broken:
	case <-e.closed:
	}
	return 0, e.refuses()
}

// refuses says why no more commands are taken, nil if they are.
func (e *engine) refuses() error {
	select {
	case <-e.closed:
		return os.ErrClosed
	default:
	}
	select {
	case <-e.broken:
		return e.reason
	default:
		return nil
	}
}

// breakDown ends the engine for good: rings are not made anew under a drive
// that did not answer.
func (e *engine) breakDown(reason error) {
	e.once.Do(func() {
		e.reason = reason
		close(e.broken)
	})
}

// next is acquire; if it must not wait, it returns -1 if no slot is free.
func (e *engine) next(ctx context.Context, wait bool) (int, error) {
	if wait {
		return e.acquire(ctx)
	}
	if err := e.refuses(); err != nil {
		return -1, err
	}
	return e.free.tryTake(), nil
}

// release gives a slot back, unless a failed ring still holds it.
func (e *engine) release(i int) {
	s := &e.slots[i]
	if s.lost {
		return
	}
	if s.big != nil {
		_ = s.big.Close()
		s.big = nil
	}
	if s.more != nil {
		_ = s.more.Close()
		s.more = nil
	}
	e.free.put(i)
}

// data and metadata are the slot's buffers.
func (e *engine) data(i int) []byte {
	switch s := &e.slots[i]; {
	case s.big != nil:
		return s.big.Slot(0)
	case e.ioctl != nil:
		return e.ioctl.Slot(i)
	default:
		return s.worker.q.core.Bufs.Slot(s.local)
	}
}

func (e *engine) metadata(i int) []byte {
	s := &e.slots[i]
	if s.more != nil {
		return s.more.Slot(0)
	}
	if e.ioctl != nil {
		if e.meta == nil {
			return nil
		}
		return e.meta.Slot(i)
	}
	if s.worker.q.core.Meta == nil {
		return nil
	}
	return s.worker.q.core.Meta.Slot(s.local)
}

// start sends the slot's command. From here on the slot is the engine's until
// wait returns.
func (e *engine) start(i int) {
	s := &e.slots[i]
	s.err = nil
	if s.cmd.TimeoutMS == 0 {
		s.cmd.TimeoutMS = e.timeout
	}
	s.state.Store(slotBusy)
	if e.ioctl != nil || s.worker.q.onlyData && s.cmd.DataLen == 0 && e.dev != nil {
		go e.byIoctl(i)
		return
	}
	s.worker.push(s.local)
}

// wait returns how the slot's command ended. If ctx is done first, it returns
// at once with ctx's error, the command goes on by itself, and the slot and its
// buffer come back when it has ended: held is then false.
func (e *engine) wait(ctx context.Context, i int) (held bool, err error) {
	s := &e.slots[i]
	select {
	case <-s.done:
	default:
		select {
		case <-s.done:
		case <-ctx.Done():
			if s.state.CompareAndSwap(slotBusy, slotAbandoned) {
				return false, ctx.Err()
			}
			<-s.done // it ended in the same moment
		}
	}
	if s.err != nil {
		return true, s.err
	}
	return true, deny(e.dev.missing(resultError(s.res, s.result, &s.cmd, e.set)), &s.cmd, e.set, e.writable)
}

// finish ends a slot's command; it is called by who carried it.
func (e *engine) finish(i int) {
	s := &e.slots[i]
	if s.state.CompareAndSwap(slotBusy, slotIdle) {
		s.done <- struct{}{}
		return
	}
	s.state.Store(slotIdle)
	e.release(i)
}

// close refuses new commands, waits for those on their way, and stops the
// workers. A command that does not come back within the stall limit makes it
// leave the memory mapped and say so.
func (e *engine) close() error {
	close(e.closed)
	look := time.NewTicker(stall.LookEvery(e.limit))
	defer look.Stop()
	var idle stall.Clock
	var errs []error
	broken := e.broken
	n := 0
	if e.free.await() >= 0 { // for good: every slot comes through the channel from now on
		n++
	}
wait:
	for n < len(e.slots)-int(e.lost.Load()) {
		select {
		case <-e.free.rest:
			n++
		case <-broken:
			broken = nil // some are lost and will not come
		case <-look.C:
			if !idle.Over(e.limit) {
				continue
			}
			e.givenUp.Store(true)
			errs = append(errs, fmt.Errorf("commands are still in flight after %v: %w; the buffers of all stay mapped on purpose, and the node open", e.limit, uringcmd.ErrStalled))
			break wait
		}
	}
	errs = append(errs, e.stopWorkers())
	for _, a := range []*fixedbuf.Arena{e.ioctl, e.meta} {
		if a == nil {
			continue
		}
		if e.givenUp.Load() {
			a.Leak()
		}
		errs = append(errs, a.Close())
	}
	return errors.Join(errs...)
}

func (e *engine) stopWorkers() error {
	var errs []error
	for _, w := range e.workers {
		w.stop()
	}
	for _, w := range e.workers {
		errs = append(errs, <-w.ended)
	}
	return errors.Join(errs...)
}

// engine is started by the first command that needs it, which reads from the
// drive: a caller whose context is done leaves that to the others.
func (d *Device) engine(ctx context.Context) (*engine, error) {
	if e := d.running.Load(); e != nil {
		return e, nil
	}
	if ctx.Done() == nil {
		return d.startEngine()
	}
	var e *engine
	var err error
	started := make(chan struct{})
	go func() {
		e, err = d.startEngine()
		close(started)
	}()
	select {
	case <-started:
		return e, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (d *Device) startEngine() (*engine, error) {
	d.starting.Lock()
	defer d.starting.Unlock()
	if e := d.running.Load(); e != nil {
		return e, nil
	}
	if d.closed() {
		return nil, os.ErrClosed
	}
	e, err := newEngine(d, &d.cfg)
	if err != nil {
		return nil, err
	}
	d.running.Store(e)
	return e, nil
}
