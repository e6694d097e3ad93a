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
	taken Taken
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
		m.slots[i] = modelSlot{state: free, gen: before, image: make([]byte, 1<<r.sqShift)}
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

// turn tries Turn in one of its kinds.
func (m *model) turn(x uint64, wait int) {
	good := m.choose()
	m.op = fmt.Sprintf("Turn of %d", len(m.batch))
	refused, failed := m.a.Refused, m.a.Failed
	var words []uint64
	at := -1
	if x>>8&1 == 0 {
		words, at = m.words, int(x>>16)%(1<<m.r.sqShift-7)
	}
	t := &m.taken
	if cap(t.Free) == 0 || x>>9&63 == 0 {
		t.Free, t.Other = make([]int, 0, len(m.slots)), make([]Completion, 0, len(m.slots))
	}
	t.OK, t.Free, t.Other, t.Limit = okRes, append(t.Free[:0], -7), t.Other[:0], int(x>>24&0xff)%(len(m.slots)+3)-1
	if words != nil && x>>10&31 == 0 && len(m.batch) > 0 {
		bad, place := words[:len(m.batch)-1], at
		if x>>11&1 == 0 {
			bad, place = words, 1<<m.r.sqShift-7+int(x>>12&3)
		}
		if err := m.r.Turn(m.batch, bad, place, wait, t); err == nil || len(t.Free) != 1 {
			m.failf("%d words at %d: no error", len(bad), place)
		}
		return
	}
	m.publish(good, at)
	head := m.r.head
	err := m.r.Turn(m.batch, words, at, wait, t)
	read := m.r.head - head
	if err != nil && (read != 0 || len(t.Free) != 1 || len(t.Other) != 0) {
		m.failf("%d completions were taken beside an error: %v", read, err)
	}
	if good < len(m.batch) {
		if m.a.Refused != refused || m.a.Failed != failed {
			m.failf("a batch with a bad slot was submitted")
		}
		m.refused(good, err)
		return
	}
	m.called(err, wait, refused, failed, read)
	if err != nil {
		return
	}
	if t.Free[0] != -7 {
		m.failf("Free was %v", t.Free)
	}
	frees, others := t.Free[1:], t.Other
	for _, c := range m.read(read) {
		switch {
		case c.Res == okRes && len(frees) > 0 && frees[0] == c.Slot:
			frees = frees[1:]
		case c.Res != okRes && len(others) > 0 && others[0] == c:
			others = others[1:]
		default:
			m.failf("free %v and others %v want %+v", t.Free[1:], t.Other, c)
		}
	}
	n := len(t.Free) - 1 + len(t.Other)
	if len(frees) > 0 || len(others) > 0 || n > max(0, t.Limit) || int(read) < t.Limit && len(m.unread) > 0 {
		m.failf("%d of %d taken, %d unread, free %v and others %v too many", n, t.Limit, len(m.unread), frees, others)
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
	for _, err := range []error{
		m.r.Publish(0), m.r.Submit(0), m.r.Turn([]int{0}, nil, 0, 1, &m.taken), m.r.Turn([]int{0}, []uint64{1}, 8, 1, &m.taken), m.r.Turn(nil, nil, 0, 0, &m.taken),
	} {
		if !errors.Is(err, ErrClosed) {
			m.failf("after it: %v", err)
		}
	}
	if n := m.r.Reap(make([]Completion, 1)); n != 0 {
		m.failf("%d completions after it", n)
	}
}
