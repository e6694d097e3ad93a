package passthru

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/nvmepass/nvmepass/fixedbuf"
	"github.com/nvmepass/nvmepass/internal/ringtest"
	"github.com/nvmepass/nvmepass/internal/uapi"
	"github.com/nvmepass/nvmepass/nvme"
	"github.com/nvmepass/nvmepass/uringcmd"
)

// TestQueueModel mixes all operations of a queue over a kernel that misbehaves,
// beside a model of the slots. Every entry that the kernel takes has to be what a
// build from nothing gives for the command that the slot was given last.
func TestQueueModel(t *testing.T) {
	const steps = 60_000
	clock := uint64(time.Now().UnixNano())
	t.Logf("seed of the clock: %d", clock)
	two := func(l nvme.Layout) []*Device {
		d, e := nullDevice(l), nullDevice(l)
		e.nsid, e.limits.Blocks = 9, 1<<39
		return []*Device{d, e}
	}
	one := func(l nvme.Layout) []*Device { return two(l)[:1] }
	separate := nvme.Layout{LBASize: 4096, MetadataSize: 64}
	for name, shape := range map[string]struct {
		devs    []*Device
		cfg     QueueConfig
		perSlot bool
	}{
		"short way":          {devs: one(lba512), cfg: QueueConfig{Depth: 6, HoldP: true}},
		"one slot":           {devs: one(lba512), cfg: QueueConfig{Depth: 1, HoldP: true}},
		"long way":           {devs: one(lba512), cfg: QueueConfig{Depth: 6}},
		"two namespaces":     {devs: two(lba512), cfg: QueueConfig{Depth: 5, HoldP: true}},
		"per slot":           {devs: one(lba512), cfg: QueueConfig{Depth: 5, HoldP: true}, perSlot: true},
		"plain":              {devs: one(nvme.Layout{LBASize: 4096}), cfg: QueueConfig{Depth: 5, PlainBuffers: true, PlainFile: true, PlainRing: true}},
		"vectored":           {devs: two(lba512), cfg: QueueConfig{Depth: 5, HoldP: true, Vectored: true, PlainBuffers: true}},
		"linear":             {devs: one(lba512), cfg: QueueConfig{Depth: 5, Linear: true, HoldP: true}},
		"rewind":             {devs: two(lba512), cfg: QueueConfig{Depth: 5, Linear: true, Rewind: true}},
		"submission thread":  {devs: one(lba512), cfg: QueueConfig{Depth: 5, SQPoll: &uringcmd.SQPoll{}}},
		"metadata":           {devs: one(separate), cfg: QueueConfig{Depth: 4, HoldP: true}},
		"extended":           {devs: two(nvme.Layout{LBASize: 4096, MetadataSize: 64, Extended: true}), cfg: QueueConfig{Depth: 4, HoldP: true}},
		"PRACT":              {devs: one(nvme.Layout{LBASize: 512, MetadataSize: 8, PI: nvme.PIType1}), cfg: QueueConfig{Depth: 4, HoldP: true}},
		"protection in host": {devs: one(nvme.Layout{LBASize: 4096, MetadataSize: 64, Extended: true, PI: nvme.PIType1}), cfg: QueueConfig{Depth: 4, HoldP: true}},
	} {
		for _, seed := range []uint64{1, clock} {
			n := steps
			if shape.cfg.SQPoll != nil {
				n /= 10 // its waits spin before they enter
			}
			t.Run(fmt.Sprintf("%s/seed=%d", name, seed), func(t *testing.T) {
				m := newQueueModel(t, shape.devs, shape.cfg, shape.perSlot, seed)
				for range n {
					m.step()
				}
				m.end()
			})
		}
	}
}

type slotModel struct {
	busy     bool
	image    []byte // what the kernel has to see, but for user_data
	table    []byte // of a vectored command
	userData uint64 // of the last command
	want     Completion
}

type queueModel struct {
	t      *testing.T
	q      *Queue
	k      *ringtest.Kernel
	a      *ringtest.Adversary
	random *rand.Rand
	count  int
	op     string

	slots         []slotModel
	queue         []int // published and not taken
	accepted      uint64
	ok, failed    uint64
	slbas         []uint64
	batch         []int
	done          []Completion
	loop          uringcmd.Loop
	blocksPerSlot uint32
}

func newQueueModel(t *testing.T, devs []*Device, cfg QueueConfig, perSlot bool, seed uint64) *queueModel {
	m := &queueModel{t: t, random: rand.New(rand.NewPCG(seed, 2)), slots: make([]slotModel, cfg.Depth), done: make([]Completion, cfg.Depth+1)}
	m.k = &ringtest.Kernel{StartAt: 0xfffffff0, Forgetful: true}
	m.a = ringtest.NewAdversary(m.k, seed)
	m.a.Calm, m.a.Stale = true, 0
	m.blocksPerSlot = 4
	cfg.BufferSize = int(devs[0].layout.UnderPRACT().DataLen(m.blocksPerSlot))
	m.a.OnTake = func(e ringtest.Entry) (int32, uint64) { // of the reads that prove the buffers
		if perSlot {
			res, _, _ := perSlotOnly(uint32(cfg.BufferSize))(e)
			return res, 0
		}
		return 0, 0
	}
	m.a.OnPost = func(uint64, int32, uint64, bool) {}
	for _, d := range devs {
		d.kernel, d.writable = m.k, true
	}
	q, err := NewSharedQueue(devs, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if want := map[bool]fixedbuf.Mode{false: fixedbuf.Whole, true: fixedbuf.PerSlot}[perSlot]; !cfg.PlainBuffers && q.Settings().FixedBuffers != want {
		t.Fatalf("buffers are %s", q.Settings().FixedBuffers)
	}
	m.q = q
	m.a.Calm, m.a.Stale, m.a.OnTake = false, 8, m.onTake
	return m
}

func (m *queueModel) failf(format string, args ...any) {
	m.t.Helper()
	m.t.Fatalf("step %d (%s): %s", m.count, m.op, fmt.Sprintf(format, args...))
}

// entry is a whole entry of a command, put together from nothing. parts, if there
// are any, make it a vectored one.
func (m *queueModel) entry(slot int, cmd nvme.Command, parts ...[]byte) (image, table []byte) {
	image = make([]byte, 128)
	fd, flags := m.q.core.Target(slot)
	image[0], image[1] = uapi.OpURingCmd, flags
	ne.PutUint32(image[4:], uint32(fd))
	ne.PutUint32(image[8:], uapi.NVMeURingCmdIO)
	if cmd.DataLen > 0 {
		cmd.Addr = m.q.core.Bufs.Addr(slot)
	}
	if cmd.MetadataLen > 0 {
		cmd.Metadata = m.q.core.Meta.Addr(slot)
	}
	if parts != nil {
		ne.PutUint32(image[8:], uapi.NVMeURingCmdIOVec)
		for _, p := range parts {
			table = ne.AppendUint64(table, fixedbuf.AddressOf(p))
			table = ne.AppendUint64(table, uint64(len(p)))
		}
		cmd.DataLen = uint32(len(parts))
	} else if cmd.DataLen > 0 {
		whole := int(cmd.DataLen) == m.q.Settings().BufferSize
		switch mode := m.q.Settings().FixedBuffers; {
		case mode == fixedbuf.Whole:
			ne.PutUint32(image[28:], uapi.URingCmdFixed)
		case mode == fixedbuf.PerSlot && whole:
			ne.PutUint32(image[28:], uapi.URingCmdFixed)
			ne.PutUint16(image[40:], uint16(slot))
		}
	}
	if err := cmd.Image(image[48:]); err != nil {
		m.failf("%v", err)
	}
	return image, table
}

// give notes what a slot is about to be given; false if it has to be refused.
func (m *queueModel) give(op nvme.Opcode, slot int, slba uint64, nlb uint32) bool {
	if uint(slot) >= uint(len(m.slots)) || m.slots[slot].busy {
		return false
	}
	build := nvme.NewRead
	if op == nvme.OpWrite {
		build = nvme.NewWrite
	}
	d := m.q.of(slot)
	cmd, err := build(d.nsid, d.layout, slba, nlb, m.q.optionsFor(d))
	if err != nil || nlb > m.blocksPerSlot {
		return false
	}
	var parts [][]byte
	if m.q.vectored {
		parts = [][]byte{m.q.Buffer(slot)[:cmd.DataLen]}
	}
	m.put(slot, cmd, parts...)
	return true
}

func (m *queueModel) put(slot int, cmd nvme.Command, parts ...[]byte) {
	s := &m.slots[slot]
	s.image, s.table = m.entry(slot, cmd, parts...)
	s.busy = true
	m.queue = append(m.queue, slot)
	m.accepted++
}

func (m *queueModel) onTake(e ringtest.Entry) (int32, uint64) {
	if len(m.queue) == 0 {
		m.failf("the kernel got an entry that nobody published: %x", e.Image)
	}
	slot := m.queue[0]
	m.queue = m.queue[1:]
	s := &m.slots[slot]
	userData := ne.Uint64(e.Image[32:])
	if uint32(userData) != uint32(slot) || int32(userData>>32-s.userData>>32) <= 0 && s.userData != 0 {
		m.failf("slot %d has user_data %#x after %#x", slot, userData, s.userData)
	}
	s.userData = userData
	ne.PutUint64(s.image[32:], userData)
	if s.table != nil {
		ne.PutUint64(s.image[48+24:], m.q.vectors.Addr(slot))
		if got := m.q.vectors.Slot(slot)[:len(s.table)]; !bytes.Equal(got, s.table) {
			m.failf("slot %d has parts %x, want %x", slot, got, s.table)
		}
	}
	if !bytes.Equal(s.image, e.Image) {
		m.failf("slot %d:\n got %x\nwant %x", slot, e.Image, s.image)
	}
	s.want = Completion{Slot: slot, Result: m.random.Uint64()}
	switch m.random.Uint32() & 15 {
	case 0:
		s.want.Res = int32(0x4080) // LBA Out of Range, do not retry
	case 1:
		s.want.Res = -int32(syscall.EIO)
	}
	return s.want.Res, s.want.Result
}

// finished takes a completion; a success only by its slot if the result is not
// told.
func (m *queueModel) finished(c Completion) {
	s := &m.slots[c.Slot]
	if !s.busy || s.want != c {
		m.failf("%+v came, want %+v; busy: %v", c, s.want, s.busy)
	}
	s.busy = false
	err := m.q.Err(c)
	var refused *KernelError
	var status *nvme.StatusError
	switch {
	case c.Res == 0 && err == nil:
		m.ok++
		return
	case c.Res < 0 && errors.As(err, &refused), c.Res > 0 && errors.As(err, &status):
		m.failed++
		return
	}
	m.failf("res %d is the error %v", c.Res, err)
}

// choose makes a batch with its SLBAs, mostly of what has to be accepted.
func (m *queueModel) choose() (nlb uint32) {
	m.batch, m.slbas = m.batch[:0], m.slbas[:0]
	for range m.random.IntN(len(m.slots) + 1) {
		if slot := m.random.IntN(len(m.slots)); !m.slots[slot].busy && !slices.Contains(m.batch, slot) {
			m.batch, m.slbas = append(m.batch, slot), append(m.slbas, m.random.Uint64N(1<<39-4))
		}
	}
	nlb = m.blocksPerSlot
	x := m.random.Uint64()
	if x&3 == 0 {
		nlb = uint32(x>>8) & 7
	}
	if x>>16&15 == 0 && len(m.batch) > 0 {
		at := int(x>>20) & 0xff % len(m.batch)
		switch x >> 32 & 3 {
		case 0:
			m.batch[at] = []int{-1, len(m.slots), 1 << 40}[x>>40%3]
		case 1:
			m.batch[at] = m.random.IntN(len(m.slots)) // may be busy, or there twice
		case 2:
			m.slbas[at] = 1<<40 - x>>40&7
		default:
			m.slbas[at] = 1<<39 - x>>40&7
		}
	}
	return nlb
}

// mayFail is the error of a call that enters: that of the kernel, if there was
// one, and no other.
func (m *queueModel) mayFail(err error, failed uint64) {
	if (err != nil) != (m.a.Failed != failed) || err != nil && !errors.Is(err, syscall.ENOMEM) {
		m.failf("the kernel failed %d calls: %v", m.a.Failed-failed, err)
	}
}

func (m *queueModel) step() {
	m.count++
	q, x := m.q, m.random.Uint64()
	failed := m.a.Failed
	wait := int(x>>32)%(len(m.slots)+3) - 1
	switch x & 15 {
	case 0:
		m.op = "work"
		m.a.Work()
	case 1, 2:
		m.command(x)
	case 3, 4:
		m.op = "Submit"
		m.mayFail(q.Submit(wait), failed)
	case 5:
		m.op = "Take"
		for _, c := range m.done[:q.Take(m.done[:m.random.IntN(len(m.done))])] {
			m.finished(c)
		}
	case 6:
		m.op = "Reap"
		dst := m.done[:m.random.IntN(len(m.done))]
		n, err := q.Reap(wait, dst)
		for _, c := range dst[:n] {
			m.finished(c)
		}
		m.mayFail(err, failed)
	case 7, 8, 9:
		nlb := m.choose()
		op, call := nvme.OpRead, q.ReadBatch
		if x>>8&3 == 0 {
			op, call = nvme.OpWrite, q.WriteBatch
		}
		m.op = fmt.Sprintf("batch of %d %v", len(m.batch), op)
		good := m.giveAll(op, nlb)
		if err := call(m.batch, m.slbas, nlb); (err == nil) != (good == len(m.batch)) {
			m.failf("%d of %v at %v are to be accepted: %v", good, m.batch, m.slbas, err)
		}
	default:
		m.readTurns(wait, int(x>>24&0xff)%(len(m.slots)+2))
	}
	m.check()
}

// giveAll is give for the batch and returns how many have to be accepted.
func (m *queueModel) giveAll(op nvme.Opcode, nlb uint32) int {
	for i, slot := range m.batch {
		if !m.give(op, slot, m.slbas[i], nlb) {
			return i
		}
	}
	return len(m.batch)
}

// readTurns has all of the batch in one turn.
func (m *queueModel) readTurns(wait, limit int) {
	nlb := m.choose()
	m.op = fmt.Sprintf("ReadTurns of %d", len(m.batch))
	if len(m.batch) == 0 && m.q.InFlight() == 0 {
		return
	}
	good, failed := m.giveAll(nvme.OpRead, nlb), m.a.Failed
	l := &m.loop
	*l = uringcmd.Loop{Batch: max(1, len(m.batch)), Wait: max(0, wait), TakeFull: limit, Free: append(l.Free[:0], m.batch...), Other: l.Other[:0]}
	inFlight := m.q.InFlight()
	used, err := m.q.ReadTurns(m.slbas, nlb, l)
	if used != good || err != nil && (len(l.Other) > 0 || m.q.InFlight()-inFlight != good || !slices.Equal(l.Free, m.batch[good:])) {
		m.failf("%v, with %d published instead of %d and %v and %v", err, used, good, l.Free, l.Other)
	}
	if good < len(m.batch) {
		if err == nil || m.a.Failed != failed {
			m.failf("%d of %v at %v are to be accepted: %v", good, m.batch, m.slbas, err)
		}
		return
	}
	m.mayFail(err, failed)
	if n := len(l.Free) + len(l.Other); n > limit || int(l.Succeeded) != len(l.Free) {
		m.failf("%v and %v taken, %d succeeded, the limit is %d", l.Free, l.Other, l.Succeeded, limit)
	}
	for _, slot := range l.Free {
		if uint(slot) >= uint(len(m.slots)) {
			m.failf("slot %d is free", slot)
		}
		c := m.slots[slot].want
		c.Res = 0
		m.finished(c)
	}
	for _, c := range l.Other {
		m.finished(c)
	}
}

// command gives one slot one command of any kind.
func (m *queueModel) command(x uint64) {
	q, slot := m.q, m.random.IntN(len(m.slots))
	slba, nlb := m.random.Uint64N(1<<39-4), 1+uint32(x>>16)%m.blocksPerSlot
	d, busy := q.of(slot), m.slots[slot].busy
	var err error
	switch x >> 8 & 7 {
	case 0, 1:
		m.op = "Read"
		m.give(nvme.OpRead, slot, slba, nlb)
		err = q.Read(slot, slba, nlb)
	case 2, 3:
		m.op = "Write"
		m.give(nvme.OpWrite, slot, slba, nlb)
		err = q.Write(slot, slba, nlb)
	case 4:
		m.op = "Do flush"
		if !busy {
			m.put(slot, nvme.NewFlush(d.nsid))
		}
		err = q.Do(slot, nvme.NewFlush(d.nsid))
	case 5:
		m.op = "Do read"
		cmd, berr := nvme.NewRead(d.nsid, d.layout, slba, nlb, q.optionsFor(d))
		if berr != nil {
			m.failf("%v", berr)
		}
		cmd.Addr, cmd.Metadata = x, x // which are ignored
		if !busy {
			m.put(slot, cmd)
		}
		err = q.Do(slot, cmd)
	default:
		m.op = "ReadVec"
		cmd, berr := nvme.NewRead(d.nsid, d.layout, slba, nlb, q.optionsFor(d))
		if berr != nil {
			m.failf("%v", berr)
		}
		b := q.Buffer(slot)[:cmd.DataLen]
		half := len(b) / 2 &^ 3
		if !busy {
			m.put(slot, cmd, b[half:], b[:half])
		}
		err = q.ReadVec(slot, slba, [][]byte{b[half:], b[:half]})
	}
	if busy != errors.Is(err, uringcmd.ErrSlotBusy) || !busy && err != nil {
		m.failf("slot %d, busy: %v: %v", slot, busy, err)
	}
}

// check holds the counts together: accepted = ok + failed + in flight.
func (m *queueModel) check() {
	if n := uint64(m.q.InFlight()); m.accepted != m.ok+m.failed+n {
		m.failf("%d accepted, %d ok, %d failed, %d in flight", m.accepted, m.ok, m.failed, n)
	}
	alike := 0
	for _, kind := range m.q.built {
		if kind == m.q.alike.kind {
			alike++
		}
	}
	if alike != m.q.alike.slots {
		m.failf("%d slots hold %#x, %d are counted", alike, m.q.alike.kind, m.q.alike.slots)
	}
}

// end closes the queue with whatever is in flight.
func (m *queueModel) end() {
	m.op, m.a.Calm = "Close", true
	if err := m.q.Close(); err != nil {
		m.failf("%v", err)
	}
	s := m.q.Stats()
	if m.q.InFlight() != 0 || s.Submitted != s.Reaped || m.a.Held() != 0 || m.ok == 0 || m.failed == 0 || len(m.slots) > 1 && s.Stale == 0 {
		m.failf("%+v, %d in flight, %d ok, %d failed, the kernel holds %d", s, m.q.InFlight(), m.ok, m.failed, m.a.Held())
	}
	readTurns := func() error {
		_, err := m.q.ReadTurns([]uint64{0}, m.blocksPerSlot, &uringcmd.Loop{Batch: 1, Free: []int{0}})
		return err
	}
	for _, err := range []error{
		m.q.Read(0, 0, 1), readTurns(),
		m.q.ReadBatch([]int{0}, []uint64{0}, m.blocksPerSlot), m.q.Do(0, nvme.NewFlush(7)), m.q.Submit(1),
	} {
		if !errors.Is(err, uringcmd.ErrClosed) {
			m.failf("after it: %v", err)
		}
	}
}
