package uringcmd

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/nvmepass/nvmepass/internal/ringtest"
)

// TestModel runs every operation of a ring, in random order and with every kind
// of argument, over a kernel that misbehaves, beside a plain model of the slots.
// All positions and generations start shortly before 2^32.
func TestModel(t *testing.T) {
	const steps = 120_000
	clock := uint64(time.Now().UnixNano())
	t.Logf("seed of the clock: %d", clock)
	shapes := []Config{
		{Slots: 1, Big: true, HoldP: true},
		{Slots: 3, HoldP: true},
		{Slots: 8, Big: true, IOPoll: true},
		{Slots: 32, Big: true, HoldP: true},
		{Slots: 7, Big: true},
		{Slots: 5, Big: true, IOPoll: true, NoRegisteredRing: true},
		{Slots: 5, Big: true, Linear: true},
		{Slots: 6, Linear: true, IOPoll: true},
		{Slots: 5, Big: true, Linear: true, Rewind: true},
		{Slots: 8, Linear: true, Rewind: true, IOPoll: true},
		{Slots: 7, Big: true, Without: DeferTaskrun | CoopTaskrun | SingleIssuer},
		{Slots: 5, Without: DeferTaskrun, Linear: true},
		{Slots: 6, Big: true, SQPoll: &SQPoll{}},
		{Slots: 6, SQPoll: &SQPoll{}, Linear: true},
	}
	for i, cfg := range shapes {
		for _, seed := range []uint64{1, 2, clock} {
			n := steps
			if cfg.SQPoll != nil {
				n /= 20 // its waits spin before they enter
			}
			t.Run(fmt.Sprintf("%d/%v/seed=%d", i, cfg.flags(), seed), func(t *testing.T) {
				m := newModel(t, cfg, seed)
				for range n {
					m.step()
				}
				m.end()
			})
		}
	}
}

// okRes is what a command of the model gives if it succeeds.
const okRes = 4096

// before is the generation that the model's slots start from.
const before = 0xfffffff0

type slotState string

const (
	free      slotState = "free"
	published slotState = "published"
	taken     slotState = "taken by the kernel"
	completed slotState = "completed"
)

type modelSlot struct {
	state slotState
	gen   uint32
	image []byte // what the kernel has to see, but for user_data
	want  Completion
}

var ne = binary.NativeEndian

type posting struct {
	userData uint64
	stale    bool
}

type model struct {
	t      *testing.T
	r      *Ring
	a      *ringtest.Adversary
	k      *ringtest.Kernel
	random *rand.Rand
	count  int    // steps
	op     string // what the step does

	slots    []modelSlot
	queue    []int     // published, in order
	unread   []posting // the completion queue
	reaped   uint64
	stale    uint64
	inFlight int

	batch []int
	words []uint64
	done  []Completion
	loop  Loop
	turns turnsModel
}

// turnsModel is what is known of a call of Turns while it runs.
type turnsModel struct {
	on     bool
	at     int // byte of the word, negative for none
	free   []int
	words  []uint64 // not yet seen by the kernel
	read   uint32   // completion entries that the ring must have read
	ok     int
	others []Completion
}

func newModel(t *testing.T, cfg Config, seed uint64) *model {
	m := &model{t: t, random: rand.New(rand.NewPCG(seed, 1)), slots: make([]modelSlot, cfg.Slots), words: make([]uint64, cfg.Slots+8)}
	k := &ringtest.Kernel{StartAt: 0xfffffff0, Forgetful: true}
	m.k, m.a = k, ringtest.NewAdversary(k, seed)
	m.a.OnTake, m.a.OnPost = m.onTake, m.onPost
	cfg.Kernel = k
	r, err := New(cfg)
	if err == nil {
		err = r.Enable()
	}
	if err != nil {
		t.Fatal(err)
	}
	m.r = r
	if want := cfg.SQPoll == nil && !cfg.Linear && !cfg.NoRegisteredRing && (cfg.HoldP || cfg.IOPoll); r.quick != want {
		t.Fatalf("the ring's short way: %v, want %v", r.quick, want)
	}
	for i := range m.slots {
		r.gen[i] = before
		m.slots[i] = modelSlot{state: free, gen: before, image: make([]byte, int(r.sqeSize))}
		m.fill(i)
	}
	return m
}

func (m *model) failf(format string, args ...any) {
	m.t.Helper()
	m.t.Fatalf("step %d (%s): %s", m.count, m.op, fmt.Sprintf(format, args...))
}

// fill gives a free slot a new entry.
func (m *model) fill(slot int) {
	image := m.slots[slot].image
	for i := 0; i < len(image); i += 8 {
		ne.PutUint64(image[i:], m.random.Uint64())
	}
	if m.r.big != nil {
		*m.r.BigEntry(slot) = bigOf(image)
	} else {
		*m.r.Entry(slot) = smallOf(image)
	}
}

func (m *model) onTake(e ringtest.Entry) (int32, uint64) {
	if len(m.queue) == 0 && m.turns.on {
		m.publishedByTurns(int(uint32(ne.Uint64(e.Image[32:]))))
	}
	if len(m.queue) == 0 {
		m.failf("the kernel got an entry that nobody published: %x", e.Image)
	}
	slot := m.queue[0]
	m.queue = m.queue[1:]
	s := &m.slots[slot]
	if s.state != published {
		m.failf("slot %d was taken and is %s", slot, s.state)
	}
	userData := uint64(s.gen)<<32 | uint64(slot)
	ne.PutUint64(s.image[32:], userData)
	if !bytes.Equal(s.image, e.Image) {
		m.failf("slot %d:\n got %x\nwant %x", slot, e.Image, s.image)
	}
	s.state = taken
	s.want = Completion{Slot: slot, Res: okRes}
	if x := m.random.Uint32(); x&7 == 0 {
		s.want.Res = int32(x)
	}
	result := m.random.Uint64()
	if m.r.big != nil {
		s.want.Result = result
	}
	return s.want.Res, result
}

func (m *model) onPost(userData uint64, _ int32, _ uint64, stale bool) {
	m.unread = append(m.unread, posting{userData, stale})
	if stale {
		return
	}
	s := &m.slots[uint32(userData)]
	if s.state != taken {
		m.failf("slot %d completed and is %s", uint32(userData), s.state)
	}
	s.state = completed
}

// read takes n entries from the model's completion queue and returns what the
// ring has to hand out for them.
func (m *model) read(n uint32) []Completion {
	if int(n) > len(m.unread) {
		m.failf("%d completion entries were read, %d are there", n, len(m.unread))
	}
	want := m.done[:0]
	for _, p := range m.unread[:n] {
		if p.stale {
			m.stale++
			continue
		}
		s := &m.slots[uint32(p.userData)]
		if s.state != completed || s.gen != uint32(p.userData>>32) {
			m.failf("slot %d was handed out and is %s", s.want.Slot, s.state)
		}
		s.state, s.gen = free, s.gen+1
		m.reaped++
		m.inFlight--
		want = append(want, s.want)
	}
	m.unread = slices.Delete(m.unread, 0, int(n))
	m.done = want
	return want
}

// choose makes a batch, mostly of free slots, and tells how many of it the ring
// has to accept.
func (m *model) choose() (good int) {
	m.batch = m.batch[:0]
	for i := range m.slots {
		if slot := m.random.IntN(len(m.slots)); m.slots[slot].state == free && !slices.Contains(m.batch, slot) && i < 6 {
			m.batch = append(m.batch, slot)
		}
	}
	good = len(m.batch)
	if x := m.random.Uint32(); x&15 == 0 && good > 0 {
		odd := []int{-1, len(m.slots), 1 << 40, m.batch[0]}[x>>4&3]
		good = m.random.IntN(good + 1)
		m.batch = slices.Insert(m.batch, good, odd)
		if x>>4&3 == 3 && good == 0 {
			good = 1 // the first of two of the same
		}
	} else if slot := m.random.IntN(len(m.slots)); x&15 == 1 && m.slots[slot].state != free {
		good = m.random.IntN(good + 1)
		m.batch = slices.Insert(m.batch, good, slot)
	}
	for i := range m.batch {
		m.words[i] = m.random.Uint64()
	}
	return good
}

// publish notes the first good slots of the batch, with a word each if at is not
// negative. It goes before the call, in which the kernel may take them.
func (m *model) publish(good, at int) {
	for i, slot := range m.batch[:good] {
		s := &m.slots[slot]
		if at >= 0 {
			ne.PutUint64(s.image[at:], m.words[i])
		}
		s.state, s.gen = published, s.gen+1
		m.inFlight++
		m.queue = append(m.queue, slot)
	}
}

// refused checks the error of the slot that ended a batch.
func (m *model) refused(good int, err error) {
	known := uint(m.batch[good]) < uint(len(m.slots))
	if err == nil || known != errors.Is(err, ErrSlotBusy) {
		m.failf("slot %d of %v: error %v", m.batch[good], m.batch, err)
	}
}

// called checks what a call that enters promises.
func (m *model) called(err error, wait int, refused, failed uint64, read uint32) {
	switch {
	case err != nil:
		if !errors.Is(err, syscall.ENOMEM) || m.a.Failed == failed {
			m.failf("%v", err)
		}
		return
	case m.a.Failed != failed:
		m.failf("an error of the kernel was lost")
	case m.a.Refused != refused:
		return // it may return with less
	}
	want := max(0, min(wait, m.inFlight))
	if m.r.flags&IOPoll != 0 {
		want = min(want, 1)
	}
	if got := int(read) + m.r.Ready(); got < want {
		m.failf("%d completions of %d that were waited for", got, want)
	}
	if n := m.r.unsubmitted(); n != 0 && m.r.flags&SQPollThread == 0 {
		m.failf("%d entries were not submitted", n)
	}
}

func (m *model) step() {
	m.count++
	r, x := m.r, m.random.Uint64()
	wait := int(x>>32)%(len(m.slots)+4) - 2
	refused, failed := m.a.Refused, m.a.Failed
	switch x & 15 {
	case 0:
		m.op = "fill"
		if slot := m.random.IntN(len(m.slots)); m.slots[slot].state == free {
			m.fill(slot)
		}
	case 1, 2:
		m.op = "work"
		m.a.Work()
	case 3:
		m.op = "Publish"
		if good := m.choose(); len(m.batch) > 0 {
			m.batch = m.batch[:1]
			m.publish(min(good, 1), -1)
			if err := r.Publish(m.batch[0]); good == 0 {
				m.refused(0, err)
			} else if err != nil {
				m.failf("slot %d: %v", m.batch[0], err)
			}
		}
	case 4:
		m.op = "PublishBatch"
		good := m.choose()
		m.publish(good, -1)
		n, err := r.PublishBatch(m.batch)
		if n != good || (err == nil) != (good == len(m.batch)) {
			m.failf("%d of %v, want %d: %v", n, m.batch, good, err)
		}
		if err != nil {
			m.refused(good, err)
		}
	case 5, 6:
		m.op = "Submit"
		m.called(r.Submit(wait), wait, refused, failed, 0)
	case 7, 8:
		m.op = "Reap"
		dst := make([]Completion, m.random.IntN(len(m.slots)+2))
		head := r.head
		n := r.Reap(dst)
		if want := m.read(r.head - head); !slices.Equal(want, dst[:n]) || n < len(dst) && len(m.unread) > 0 {
			m.failf("%d of %d are %+v, want %+v; %d unread", n, len(dst), dst[:n], want, len(m.unread))
		}
	default:
		m.turn(x, wait)
	}
	m.check()
}

// publishedByTurns notes a slot that Turns published. It must be in Loop.Free, if
// need be because the ring has read its completion.
func (m *model) publishedByTurns(slot int) {
	t := &m.turns
	if uint(slot) >= uint(len(m.slots)) {
		m.failf("slot %d was published", slot)
	}
	if m.slots[slot].state == completed {
		n := slices.IndexFunc(m.unread, func(p posting) bool { return !p.stale && int(uint32(p.userData)) == slot })
		m.readByTurns(uint32(n + 1))
	}
	i := slices.Index(t.free, slot)
	if i < 0 || len(t.words) == 0 {
		m.failf("slot %d was published, %v are free, with %d words left", slot, t.free, len(t.words))
	}
	t.free = slices.Delete(t.free, i, i+1)
	s := &m.slots[slot]
	if t.at >= 0 {
		ne.PutUint64(s.image[t.at:], t.words[0])
	}
	t.words = t.words[1:]
	s.state, s.gen = published, s.gen+1
	m.inFlight++
	m.queue = append(m.queue, slot)
}

func (m *model) readByTurns(n uint32) {
	t := &m.turns
	t.read += n
	for _, c := range m.read(n) {
		if c.Res == okRes {
			t.free = append(t.free, c.Slot)
			t.ok++
		} else {
			t.others = append(t.others, c)
		}
	}
}

// waiting are the slots in the submission queue that the kernel has not taken.
func (m *model) waiting() (slots []int) {
	r := m.r
	for i := range r.unsubmitted() {
		at := r.tail - r.unsubmitted() + i
		if r.rewind {
			at = i
		}
		if at &= r.sqMask; r.sqArray != nil {
			slots = append(slots, int(wordAt(r.sqArray, at)))
		} else {
			slots = append(slots, int(ne.Uint32(r.sqeMem[at*uint32(r.sqeSize)+32:])))
		}
	}
	return slots
}

// turn tries Turns in one of its kinds.
func (m *model) turn(x uint64, wait int) {
	r, l, t := m.r, &m.loop, &m.turns
	good := m.choose()
	bad := good < len(m.batch)
	if len(m.batch) == 0 && m.inFlight == 0 {
		return
	}
	at := int(x>>16)%(int(r.sqeSize)-6) - 1 // -1 is none
	words := m.words[:len(m.batch)]
	if x>>8&1 == 0 {
		words = m.words[:len(m.words)-int(x>>9&7)]
	}
	for i := range words {
		words[i] = m.random.Uint64()
	}
	*l = Loop{
		Batch: 1 + int(x>>24)%(len(m.slots)+1), Wait: max(0, wait), TakeFull: int(x>>40&0xff) % (len(m.slots) + 3), Take: int(x>>48&0xff) % (len(m.slots) + 3),
		OK: okRes, Free: append(l.Free[:0], m.batch...), Other: l.Other[:0],
	}
	slices.Reverse(l.Free) // so that the bad one comes after the good ones, if the batch is 1
	if x>>56 == 0 {
		m.op = "Turns with bad arguments"
		switch x >> 14 % 3 {
		case 0:
			l.Wait = -1
		case 1:
			l.Batch = -l.Batch + 1
		default:
			at = int(r.sqeSize) - 7 + int(x>>12&3)
		}
		if n, err := r.Turns(words, at, l); err == nil || n != 0 {
			m.failf("%+v with a word at %d: used %d, no error", *l, at, n)
		}
		return
	}
	m.op = fmt.Sprintf("Turns of %d with %d words at %d, %+v", len(m.batch), len(words), at, *l)
	refused, failed, head, batch, inFlight := m.a.Refused, m.a.Failed, r.head, slices.Clone(m.batch), m.inFlight
	*t = turnsModel{on: true, at: at, free: slices.Clone(l.Free), words: words}
	used, err := r.Turns(words, at, l)
	for _, slot := range m.waiting()[len(m.queue):] {
		m.publishedByTurns(slot)
	}
	t.on = false
	if n := r.head - head; n < t.read {
		m.failf("%d completion entries read, at least %d must have been", n, t.read)
	} else {
		m.readByTurns(n - t.read)
	}
	if used != len(words)-len(t.words) {
		m.failf("%d words used, %d commands published", used, len(words)-len(t.words))
	}
	got, want := slices.Sorted(slices.Values(l.Free)), slices.Sorted(slices.Values(t.free))
	if !slices.Equal(got, want) || !slices.Equal(l.Other, t.others) || int(l.Succeeded) != t.ok {
		m.failf("%v free, others %+v, %d succeeded, want %v, %+v and %d", got, l.Other, l.Succeeded, want, t.others, t.ok)
	}
	switch {
	case err != nil && errors.Is(err, syscall.ENOMEM) && m.a.Failed != failed:
	case err != nil && !bad:
		m.failf("%v", err)
	case err != nil:
		m.batch = batch
		m.refused(good, err)
	case m.a.Failed != failed:
		m.failf("an error of the kernel was lost")
	case used == 0 && len(batch) > 0 && len(batch) <= len(words) && r.head == head && m.a.Refused == refused:
		m.failf("nothing was done")
	case l.Turns == 1 && l.Batch >= len(batch) && !bad:
		if l.InFlight != uint64(inFlight+used) {
			m.failf("%d in flight, want %d and %d", l.InFlight, inFlight, used)
		}
		// Behind the last command of those in flight, stale ones may be left.
		left := slices.ContainsFunc(m.unread, func(p posting) bool { return !p.stale })
		if n := t.ok + len(t.others); n > l.TakeFull || n < l.TakeFull && left {
			m.failf("%d taken, %d unread", n, len(m.unread))
		}
		m.called(nil, l.Wait, refused, failed, r.head-head)
	}
}

// check holds the ring's counts against the model's.
func (m *model) check() {
	r, s := m.r, m.r.Stats()
	inKernel := uint64(m.inFlight - len(m.queue))
	if r.flags&SQPollThread != 0 { // there, what the thread can see counts as submitted
		inKernel += uint64(m.k.Waiting())
	} else if s.Submitted != m.a.Taken {
		m.failf("%d submitted, the kernel took %d", s.Submitted, m.a.Taken)
	}
	switch {
	case s.Submitted != s.Reaped+inKernel || s.Reaped != m.reaped:
		m.failf("%+v: want %d reaped and %d in the kernel", s, m.reaped, inKernel)
	case s.Stale != m.stale || s.Overflow != 0 || s.Dropped != 0:
		m.failf("%+v: want %d stale", s, m.stale)
	case r.InFlight() != m.inFlight || r.Ready() != len(m.unread):
		m.failf("%d in flight and %d ready, want %d and %d", r.InFlight(), r.Ready(), m.inFlight, len(m.unread))
	}
	slot := m.random.IntN(len(m.slots))
	if want := m.slots[slot]; r.Busy(slot) != (want.state != free) || r.gen[slot] != want.gen {
		m.failf("slot %d is busy: %v, generation %d; want %+v", slot, r.Busy(slot), r.gen[slot], want)
	}
}

// end closes the ring with whatever is in flight.
func (m *model) end() {
	m.op, m.a.Calm = "Close", true
	if err := m.r.Close(); err != nil {
		m.failf("%v", err)
	}
	s := m.r.Stats()
	if s.Submitted != s.Reaped || s.Submitted != m.a.Taken && m.r.flags&SQPollThread == 0 || m.r.InFlight() != 0 || m.a.Held() != 0 {
		m.failf("%+v, %d in flight, the kernel holds %d", s, m.r.InFlight(), m.a.Held())
	}
	if len(m.slots) > 3 && (s.Stale == 0 || s.Interrupts == 0 || s.Busy == 0 || m.a.Failed == 0) {
		m.failf("the kernel was too kind: %+v", s)
	}
	for i := range m.slots {
		if m.slots[i].gen >= before || len(m.slots) > 3 && m.r.head >= before {
			m.failf("nothing wrapped: slot %d has generation %#x, the queue is at %#x", i, m.slots[i].gen, m.r.head)
		}
	}
	turns := func(at int) error { // after Close
		_, err := m.r.Turns([]uint64{1}, at, &Loop{Batch: 1, TakeFull: 1, Free: []int{0}})
		return err
	}
	for _, err := range []error{
		m.r.Publish(0), m.r.Submit(0), turns(-1), turns(8),
	} {
		if !errors.Is(err, ErrClosed) {
			m.failf("after it: %v", err)
		}
	}
	if n := m.r.Reap(make([]Completion, 1)); n != 0 {
		m.failf("%d completions after it", n)
	}
}
