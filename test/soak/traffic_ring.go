package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/nvmepass/nvmepass/fixedbuf"
	"github.com/nvmepass/nvmepass/internal/blockio"
	"github.com/nvmepass/nvmepass/nvme"
	"github.com/nvmepass/nvmepass/passthru"
	"github.com/nvmepass/nvmepass/uringcmd"
)

// ring is what both kinds of queue have.
type ring interface {
	Depth() int
	Buffer(slot int) []byte
	Read(slot int, slba uint64, nlb uint32) error
	Write(slot int, slba uint64, nlb uint32) error
	ReadBatch(slots []int, slbas []uint64, nlb uint32) error
	Reap(atLeast int, dst []uringcmd.Completion) (int, error)
	Err(c uringcmd.Completion) error
	CheckGuards() error
	InFlight() int
	Close() error
}

// ringConfig draws the settings of a queue.
func (s *session) ringConfig(rng *rand.Rand) (cfg passthru.QueueConfig, blocks uint32) {
	blocks = 1 + rng.Uint32N(s.t.most)
	if s.path == byBlockPoll {
		blocks = min(blocks, s.t.unsplit)
	}
	unit := s.t.host.Unit()
	if s.path.block() {
		unit = s.t.host.LBASize
	}
	chance := func(oneIn int) bool { return rng.IntN(oneIn) == 0 }
	cfg = passthru.QueueConfig{
		Depth: 1 + rng.IntN(48), BufferSize: int(blocks * unit), Poll: s.path.polls(),
		PlainBuffers: chance(5), PlainFile: chance(5), PlainRing: chance(5), Guard: chance(3), HoldP: chance(4), Vectored: chance(5),
		StallLimit: s.e.stallLimit(),
	}
	if chance(8) {
		cfg.HugePages = fixedbuf.HugeAuto
	}
	switch {
	case chance(6):
		cfg.Linear, cfg.Rewind = true, chance(2)
	case chance(10) && !cfg.Poll:
		cfg.SQPoll = &uringcmd.SQPoll{Idle: 5 * time.Millisecond}
	}
	return cfg, blocks
}

func (s *session) openRing(cfg passthru.QueueConfig) (q ring, err error) {
	d, err := passthru.Open(s.t.path, &passthru.Config{Writable: true, StallLimit: s.e.stallLimit()})
	if err != nil {
		return nil, err
	}
	defer d.Close() // a queue has descriptors of its own
	if s.path.block() {
		return blockio.NewQueue([]*passthru.Device{d}, cfg)
	}
	return d.NewQueue(cfg)
}

// ringTraffic is one life of a queue, of a number of operations.
func (s *session) ringTraffic(ctx context.Context, quota int) {
	done := make(chan struct{})
	go func() { // a queue ties its goroutine to a thread
		defer close(done)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		cfg, blocks := s.ringConfig(s.rng)
		g := s.e.watch.begin("opening a queue by %s on %s", s.path, s.t.name)
		opening := time.Now()
		q, err := s.openRing(cfg)
		s.e.watch.end(g)
		if err != nil {
			if !s.t.drive.resets.since(opening) {
				s.e.odd(s.t, s.path, "open queue", fmt.Errorf("%+v: %w", cfg, err))
			}
			return
		}
		s.e.tally.paths[s.path].opened.Add(1)
		r := &ringRun{session: s, q: q, guarded: cfg.Guard, blocks: blocks, slots: make([]slotState, q.Depth())}
		for i := range r.slots {
			r.free = append(r.free, i)
		}
		if s.rng.IntN(5) == 0 {
			r.batches(ctx, quota)
		} else {
			r.mixed(ctx, quota)
		}
		r.drain()
		r.end()
	}()
	<-done
}

// ringRun drives one queue.
type ringRun struct {
	*session
	q       ring
	guarded bool
	blocks  uint32 // of a slot's buffer
	slots   []slotState
	free    []int
	broken  bool
}

type slotState struct {
	o     *op
	parts [][]byte // where the data of a scattered command lies
	guard *guarded
}

func (r *ringRun) judge() *judge {
	if r.path.block() {
		return r.data
	}
	return r.whole
}

func (r *ringRun) metadata(slot int, n uint32) []byte {
	q, ok := r.q.(*passthru.Queue)
	if !ok || !r.t.separate {
		return nil
	}
	return q.Metadata(slot)[:r.t.host.MetadataLen(n)]
}

// mixed sends all kinds of commands in batches of random size.
func (r *ringRun) mixed(ctx context.Context, quota int) {
	kinds := r.kinds(opRead, opRead, opRead, opWrite, opWrite)
	if !r.path.block() {
		kinds = append(kinds, r.kinds(opCompare, opHint)...)
		if !r.path.polls() || r.e.pollsAnything {
			kinds = append(kinds, r.kinds(opZero, opFlush)...)
		}
	}
	for quota > 0 && !r.broken && ctx.Err() == nil {
		for range 1 + r.rng.IntN(len(r.free)+1) {
			if len(r.free) == 0 {
				break
			}
			slot := r.free[len(r.free)-1]
			r.free = r.free[:len(r.free)-1]
			r.issue(slot, kinds)
			quota--
		}
		r.reap(r.rng.IntN(len(r.slots) + 1))
	}
}

// drain waits for what is in flight.
func (r *ringRun) drain() {
	for r.q.InFlight() > 0 && !r.broken {
		r.reap(1 + r.rng.IntN(len(r.slots)))
	}
}

// issue publishes one command.
func (r *ringRun) issue(slot int, kinds []opKind) {
	o := r.pick(kinds, r.blocks)
	j := r.judge()
	n := int(o.n)
	data := r.q.Buffer(slot)[:n*int(j.layout.Unit())]
	meta := r.metadata(slot, o.n)
	if err := r.prepare(j, o, data, meta); err != nil {
		r.finish(j, o, done{err: err})
		r.free = append(r.free, slot)
		return
	}
	state := slotState{o: o, guard: r.e.guard(r.t, r.path, o)}
	if err := r.send(slot, o, data, &state); err != nil {
		r.e.watch.end(state.guard)
		r.finish(j, o, done{err: err})
		r.free = append(r.free, slot)
		return
	}
	r.slots[slot] = state
}

// send publishes the command of an operation.
func (r *ringRun) send(slot int, o *op, data []byte, state *slotState) error {
	q, native := r.q.(*passthru.Queue)
	scattered := native && len(data) >= 1024 && r.rng.IntN(4) == 0
	switch {
	case o.kind == opRead && scattered:
		state.parts = r.scatter(data)
		return q.ReadVec(slot, o.slba, state.parts)
	case o.kind == opWrite && scattered:
		state.parts = r.scatter(data)
		gather(state.parts, append([]byte{}, data...), false)
		return q.WriteVec(slot, o.slba, state.parts)
	case o.kind == opRead:
		return r.q.Read(slot, o.slba, o.n)
	case o.kind == opWrite:
		return r.q.Write(slot, o.slba, o.n)
	}
	cmd, ranges, err := r.t.command(o)
	if err != nil {
		return err
	}
	if ranges != nil {
		// As long as the command says, which is more than a small buffer holds.
		if len(ranges) > len(r.q.Buffer(slot)) {
			return fmt.Errorf("%d bytes of ranges for a buffer of %d", len(ranges), len(r.q.Buffer(slot)))
		}
		copy(r.q.Buffer(slot), ranges)
	}
	return q.Do(slot, cmd)
}

// command builds what is no plain read or write; ranges is its data if that is
// not the blocks'.
func (t *target) command(o *op) (cmd nvme.Command, ranges []byte, err error) {
	options := nvme.IOOptions{PRACT: t.pract()}
	switch o.kind {
	case opCompare:
		cmd, err = nvme.NewCompare(t.nsid, t.layout, o.slba, o.n, options)
	case opZero:
		cmd, err = nvme.NewWriteZeroes(t.nsid, t.layout, o.slba, o.n, o.slba%2 == 0, options)
	case opHint:
		r := nvme.DSMRange{SLBA: o.slba, NLB: o.n}
		ranges = r.AppendTo(nil)
		cmd, err = nvme.NewDSM(t.nsid, []nvme.DSMRange{r}, nvme.DSMDeallocate, nvme.Limits{})
	case opFlush:
		cmd = nvme.NewFlush(t.nsid)
	default:
		err = fmt.Errorf("no single command for %s", o.kind)
	}
	return cmd, ranges, err
}

// scatter cuts a buffer into parts of whole 512 bytes, in random order.
func (r *ringRun) scatter(data []byte) (parts [][]byte) {
	for len(data) > 0 {
		n := min(len(data), 512*(1+r.rng.IntN(1+len(data)/1024)))
		parts = append(parts, data[:n])
		data = data[n:]
	}
	r.rng.Shuffle(len(parts), func(i, k int) { parts[i], parts[k] = parts[k], parts[i] })
	return parts
}

// gather copies between the parts of a scattered command and its data in order.
func gather(parts [][]byte, data []byte, read bool) {
	for _, p := range parts {
		if read {
			copy(data, p)
		} else {
			copy(p, data)
		}
		data = data[len(p):]
	}
}

// reap waits for some completions and judges them.
func (r *ringRun) reap(atLeast int) {
	got := make([]uringcmd.Completion, 1+r.rng.IntN(len(r.slots)))
	n, err := r.q.Reap(min(atLeast, len(got)), got)
	for _, c := range got[:n] {
		r.complete(c)
		r.free = append(r.free, c.Slot)
	}
	if err != nil {
		r.broken = true
		r.e.odd(r.t, r.path, "reap", err)
	}
}

func (r *ringRun) complete(c uringcmd.Completion) {
	state := r.slots[c.Slot]
	r.slots[c.Slot] = slotState{}
	r.e.watch.end(state.guard)
	j := r.judge()
	d := done{err: r.q.Err(c), data: r.q.Buffer(c.Slot)[:j.layout.DataLen(state.o.n)], meta: r.metadata(c.Slot, state.o.n)}
	if state.parts != nil && state.o.kind == opRead {
		inOrder := make([]byte, len(d.data))
		gather(state.parts, inOrder, true)
		d.data = inOrder
	}
	r.finish(j, state.o, d)
}

// batches reads in the way of measuring loops: one length, whole batches.
func (r *ringRun) batches(ctx context.Context, quota int) {
	n := 1 + r.rng.Uint32N(r.blocks)
	j := r.judge()
	for quota > 0 && !r.broken && ctx.Err() == nil {
		batch := min(len(r.free), 1+r.rng.IntN(len(r.slots)))
		slots := append([]int{}, r.free[len(r.free)-batch:]...)
		r.free = r.free[:len(r.free)-batch]
		quota -= batch
		var slbas []uint64
		for _, slot := range slots {
			o := &op{kind: opRead, n: n, slba: r.rng.Uint64N(r.t.blocks - uint64(n) + 1)}
			for !r.may(o.slba, n) {
				o.slba = r.rng.Uint64N(r.t.blocks - uint64(n) + 1)
			}
			if err := r.prepare(j, o, r.q.Buffer(slot)[:j.layout.DataLen(n)], r.metadata(slot, n)); err != nil {
				r.e.odd(r.t, r.path, "prepare read", err)
			}
			r.slots[slot] = slotState{o: o, guard: r.e.guard(r.t, r.path, o)}
			slbas = append(slbas, o.slba)
		}
		if err := r.q.ReadBatch(slots, slbas, n); err != nil {
			r.broken = true // it is not known which were sent
			r.e.odd(r.t, r.path, "read batch", err)
			return
		}
		r.reap(r.rng.IntN(len(r.slots) + 1))
	}
}

// end closes the queue, after which nothing of it is in flight any more.
func (r *ringRun) end() {
	if r.guarded && !r.broken {
		if err := r.q.CheckGuards(); err != nil {
			r.e.odd(r.t, r.path, "check guards", err)
		}
	}
	g := r.e.watch.begin("closing a queue by %s on %s", r.path, r.t.name)
	err := r.q.Close()
	r.e.watch.end(g)
	if err != nil {
		r.e.odd(r.t, r.path, "close queue", err)
		return // what was in flight may still land
	}
	for _, state := range r.slots {
		if state.o != nil { // only after a failure of the ring
			r.e.watch.end(state.guard)
			r.finish(r.judge(), state.o, done{err: errLost})
		}
	}
}
