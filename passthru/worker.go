package passthru

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nvmepass/nvmepass/fixedbuf"
	"github.com/nvmepass/nvmepass/internal/stall"
	"github.com/nvmepass/nvmepass/internal/sys"
	"github.com/nvmepass/nvmepass/internal/sysfs"
	"github.com/nvmepass/nvmepass/internal/uapi"
	"github.com/nvmepass/nvmepass/nvme"
	"github.com/nvmepass/nvmepass/uringcmd"
)

// worker owns a ring on a thread of its own and carries the commands of its
// slots: many at a time, in one system call, when many goroutines send.
type worker struct {
	e     *engine
	slots []slot // of the engine
	first int    // number of slots[0] in the engine
	q     *Queue

	mu      sync.Mutex
	pending []int // local slots to send
	err     error // the ring failed: nothing is sent any more
	quit    bool

	state atomic.Uint32
	wake  chan struct{} // for a parked worker
	event int           // eventfd for one that sleeps in the kernel, -1 if polled

	ended chan error
}

// States of a worker. Who finds it parked or sleeping after leaving work, and
// moves it to running, wakes it.
const (
	workerRunning  = iota
	workerParked   // waits on wake: nothing is in flight
	workerSleeping // waits in the kernel for completions or the event
)

// wakeSlot is the local number of the ring's slot that reads the event.
func (w *worker) wakeSlot() int { return len(w.slots) }

func startWorker(e *engine, slots []slot, cfg QueueConfig) (*worker, error) {
	w := &worker{
		e: e, slots: slots, wake: make(chan struct{}, 1), event: -1, ended: make(chan error, 1),
		pending: make([]int, 0, len(slots)),
	}
	for i := range e.slots {
		if &e.slots[i] == &slots[0] {
			w.first = i
		}
	}
	for i := range slots {
		slots[i].worker, slots[i].local = w, i
	}
	cfg.Depth, cfg.StallLimit = len(slots), e.limit
	if !cfg.Poll {
		cfg.Depth++ // one more to read the event with
		var err error
		if w.event, err = sys.Eventfd(); err != nil {
			return nil, fmt.Errorf("make event counter: %w: %s", err, sysfs.MoreFiles)
		}
	}
	started := make(chan error)
	go func() {
		q, err := e.open(&cfg)
		w.q = q
		started <- err
		if err == nil {
			w.ended <- w.run()
		}
	}()
	if err := <-started; err != nil {
		if w.event >= 0 {
			_ = sys.Close(w.event)
		}
		return nil, err
	}
	return w, nil
}

// push leaves a slot's command for the worker.
func (w *worker) push(local int) {
	w.mu.Lock()
	if w.err != nil {
		err := w.err
		w.mu.Unlock()
		w.slots[local].err = err
		w.e.finish(w.first + local)
		return
	}
	w.pending = append(w.pending, local)
	w.mu.Unlock()
	w.rouse()
}

func (w *worker) rouse() {
	switch {
	case w.state.CompareAndSwap(workerParked, workerRunning):
		w.wake <- struct{}{}
	case w.state.CompareAndSwap(workerSleeping, workerRunning):
		_ = sys.SignalEventfd(w.event) // the counter cannot overflow: each wake is read
	}
}

// run is the worker's life. It returns when it was told to quit and nothing is
// in flight any more, or when the ring failed.
func (w *worker) run() error {
	taken := make([]int, 0, len(w.slots))
	done := make([]uringcmd.Completion, len(w.slots)+1)
	eventArmed := false
	commands := 0 // in flight, without the event's read
	stall := polledStall{limit: w.e.limit}
	for {
		if commands > 0 && w.e.givenUp.Load() {
			return w.fail(fmt.Errorf("closed with %d commands in flight: %w of %v", commands, uringcmd.ErrStalled, w.e.limit))
		}
		taken = w.take(taken)
		for _, local := range taken {
			if err := w.q.send(local, &w.slots[local].cmd, addrOf(w.slots[local].big), addrOf(w.slots[local].more)); err != nil {
				w.slots[local].err = err
				w.e.finish(w.first + local)
				continue
			}
			commands++
		}
		wait := 0
		if commands == 0 {
			if w.park() {
				break
			}
			continue
		}
		if w.event >= 0 {
			if !eventArmed {
				if err := w.armEvent(); err != nil {
					return w.fail(err)
				}
				eventArmed = true
			}
			if w.sleepy() {
				wait = 1
			}
		}
		err := w.q.core.Ring.Submit(wait)
		w.state.Store(workerRunning)
		n := w.q.core.Ring.Reap(done)
		for _, c := range done[:n] {
			if w.event >= 0 && c.Slot == w.wakeSlot() {
				eventArmed = false
				continue
			}
			s := &w.slots[c.Slot]
			s.res, s.result = c.Res, c.Result
			commands--
			w.e.finish(w.first + c.Slot)
		}
		if err != nil {
			return w.fail(err)
		}
		if w.event < 0 {
			if err := stall.check(n, w.q.core.Ring); err != nil {
				return w.fail(err)
			}
		}
	}
	return w.close()
}

// polledStall notices that polling brings nothing any more: a poll returns at
// once, so that the ring's own limit on waits does not apply. It reads the
// clock only now and then.
type polledStall struct {
	limit time.Duration
	empty uint64 // polls in a row without a completion
	idle  stall.Clock
}

func (p *polledStall) check(reaped int, ring *uringcmd.Ring) error {
	if reaped > 0 {
		p.empty = 0
		p.idle.Reset()
		return nil
	}
	const pollsPerLook = 1024
	p.empty++
	if p.empty%pollsPerLook == 0 && p.idle.Over(p.limit) {
		return fmt.Errorf("poll: %w of %v: %d commands in flight; check the drive and the kernel log", uringcmd.ErrStalled, p.limit, ring.InFlight())
	}
	return nil
}

// take moves everything pending to dst.
func (w *worker) take(dst []int) []int {
	w.mu.Lock()
	defer w.mu.Unlock()
	dst = append(dst[:0], w.pending...)
	w.pending = w.pending[:0]
	return dst
}

// park waits for work while nothing is in flight; true means quit.
func (w *worker) park() (quit bool) {
	// Only the event's read is in flight, for as long as it takes.
	w.q.core.Ring.Quiet(true)
	defer w.q.core.Ring.Quiet(false)
	w.state.Store(workerParked)
	w.mu.Lock()
	idle, quit := len(w.pending) == 0, w.quit
	w.mu.Unlock()
	if idle && !quit {
		<-w.wake
		return false
	}
	if !w.state.CompareAndSwap(workerParked, workerRunning) {
		<-w.wake // somebody is about to send it
	}
	return idle && quit
}

// sleepy announces that the worker will sleep in the kernel, unless there is
// work already or the time to wait is over.
func (w *worker) sleepy() bool {
	w.state.Store(workerSleeping)
	w.mu.Lock()
	idle := len(w.pending) == 0 && !w.e.givenUp.Load()
	w.mu.Unlock()
	if !idle && w.state.CompareAndSwap(workerSleeping, workerRunning) {
		return false
	}
	return true // also if somebody signals the event right now
}

// armEvent publishes a read of the event counter, whose completion ends a wait.
func (w *worker) armEvent() error {
	ring, slot := w.q.core.Ring, w.wakeSlot()
	*ring.BigEntry(slot) = uringcmd.BigSQE{Opcode: uapi.OpRead, FD: int32(w.event), Addr: w.q.core.Bufs.Addr(slot), Len: 8}
	return ring.Publish(slot)
}

// fail ends all commands with the ring's error and waits to be told to quit.
// The memory of commands in flight stays the kernel's: their slots are lost,
// and the arena stays mapped until the Device is closed, because goroutines may
// hold slots.
func (w *worker) fail(err error) error {
	err = fmt.Errorf("the ring failed: %w", err)
	w.refuse(err)
	for i := range w.slots {
		s := &w.slots[i]
		if !w.q.core.Ring.Busy(i) {
			continue
		}
		s.lost = true
		w.e.lost.Add(1)
		if s.state.CompareAndSwap(slotBusy, slotIdle) {
			s.err = err
			s.done <- struct{}{}
		}
	}
	w.e.breakDown(err) // now that all that is lost has been counted
	for !w.quitting() {
		w.state.Store(workerParked)
		if w.quitting() && w.state.CompareAndSwap(workerParked, workerRunning) {
			break
		}
		<-w.wake
	}
	return w.close()
}

// refuse ends what was not sent yet, and whatever comes from now on.
func (w *worker) refuse(err error) {
	w.mu.Lock()
	if w.err == nil {
		w.err = err
	}
	pending := w.pending
	w.pending = nil
	w.mu.Unlock()
	for _, local := range pending {
		w.slots[local].err = err
		w.e.finish(w.first + local)
	}
}

func (w *worker) quitting() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.quit
}

// close ends the event's read, then closes the ring on its own thread.
func (w *worker) close() error {
	w.refuse(os.ErrClosed)
	if w.event >= 0 && w.q.core.Ring.Busy(w.wakeSlot()) {
		_ = sys.SignalEventfd(w.event)
	}
	if w.e.givenUp.Load() {
		w.q.core.KeepMemory()
	}
	err := w.q.Close()
	if w.event >= 0 {
		_ = sys.Close(w.event)
	}
	return err
}

// stop makes the worker end once nothing is in flight; ended then tells how.
func (w *worker) stop() {
	w.mu.Lock()
	w.quit = true
	w.mu.Unlock()
	w.rouse()
}

// addrOf is where a command's own buffer lies, 0 if it uses the slot's.
func addrOf(a *fixedbuf.Arena) uint64 {
	if a == nil {
		return 0
	}
	return a.Addr(0)
}

// send publishes any command in a slot, with the slot's buffers or data and
// metadata at addresses that are not 0. It was checked by who built it.
func (q *Queue) send(slot int, cmd *nvme.Command, addr, metadata uint64) error {
	if err := q.core.CheckSlot(slot); err != nil {
		return err
	}
	e := uringcmd.BigSQE{Opcode: uapi.OpURingCmd, Off: uint64(uapi.NVMeURingCmdIO)}
	if q.admin {
		e.Off = uint64(uapi.NVMeURingCmdAdmin)
	}
	e.FD, e.Flags = q.core.Target(slot)
	c := *cmd
	if c.DataLen != 0 {
		c.Addr = addr
		if addr == 0 {
			c.Addr = q.core.Bufs.Addr(slot)
			if index, ok := q.core.Bufs.Fixed(slot, int(c.DataLen)); ok {
				e.OpFlags, e.BufIndex = uapi.URingCmdFixed, index
			}
		}
	}
	if c.MetadataLen != 0 {
		c.Metadata = metadata
		if metadata == 0 {
			c.Metadata = metadataAddr(q.core.Meta, slot, &c)
		}
	}
	if err := c.Image(e.Cmd[:]); err != nil {
		return err
	}
	*q.core.Ring.BigEntry(slot) = e
	q.setBuilt(slot, 0)
	return q.core.Ring.Publish(slot)
}
