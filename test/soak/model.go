package main

import (
	"math"
	"sync"
)

// model is what each block of a namespace may hold. Every write has a generation
// of its own. A block's candidates are the writes whose data a read may find: the
// last that was acknowledged, and those that are in flight, failed, or were given
// up, since it began.
//
// Time is a counter that moves when an operation begins or ends. A read that lasts
// from s to e may find what a write left unless another one, which began after
// that write had ended, was acknowledged before s.
type model struct {
	mu     sync.Mutex
	clock  uint64
	last   uint32 // number of a write
	blocks []block
}

// block has its first candidate in place, because most have one only.
type block struct {
	one     candidate
	more    []candidate
	readers int32
}

type candidate struct {
	write *write
	// dead is when the candidate was overwritten for sure; alive until then.
	dead uint64
}

// forever is the end of what has not ended.
const forever = math.MaxUint64

// write is one operation that changes blocks. Its fields are the model's.
type write struct {
	slba       uint64
	n          uint32
	generation uint32
	kind       writeKind
	by         pathID
	start, end uint64
}

// writerBits of a generation are the path that wrote it: no two writes of a
// namespace have the same generation, and later ones a higher one.
const writerBits = 4

// writerOf is the path in a generation.
func writerOf(generation uint32) pathID { return pathID(generation & (1<<writerBits - 1)) }

type writeKind uint8

const (
	stamped writeKind = iota // writes stamps
	zeroed                   // writes zeros
	hinted                   // deallocates, which leaves the old data or zeros
)

// newModel begins with zeros everywhere.
func newModel(blocks uint64) *model {
	m := &model{blocks: make([]block, blocks)}
	nothing := &write{n: uint32(min(blocks, math.MaxUint32)), kind: zeroed, end: 0}
	for i := range m.blocks {
		m.blocks[i].one = candidate{write: nothing, dead: forever}
	}
	return m
}

func (m *model) tick() uint64 {
	m.clock++
	return m.clock
}

// beginWrite comes before the first byte is sent.
func (m *model) beginWrite(slba uint64, n uint32, kind writeKind, by pathID) *write {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.begin(slba, n, kind, by)
}

// beginAlone is beginWrite unless a write may be under way in the blocks already;
// then it returns nil.
func (m *model) beginAlone(slba uint64, n uint32, kind writeKind, by pathID) *write {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.underWay(slba, n, forever-1) {
		return nil
	}
	return m.begin(slba, n, kind, by)
}

func (m *model) begin(slba uint64, n uint32, kind writeKind, by pathID) *write {
	m.last++
	w := &write{slba: slba, n: n, generation: m.last<<writerBits | uint32(by), kind: kind, by: by, start: m.tick(), end: forever}
	blocks := m.of(w)
	for i := range blocks {
		b := &blocks[i]
		b.more = append(b.more, candidate{write: w, dead: forever})
	}
	return w
}

// racing tells whether a write was under way in some blocks at any time from start
// to now.
func (m *model) racing(slba uint64, n uint32, start uint64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.underWay(slba, n, start)
}

func (m *model) underWay(slba uint64, n uint32, start uint64) (any bool) {
	blocks := m.blocks[slba : slba+uint64(n)]
	for i := range blocks {
		blocks[i].each(func(c *candidate) { any = any || c.write.end > start })
	}
	return any
}

func (m *model) of(w *write) []block { return m.blocks[w.slba : w.slba+uint64(w.n)] }

// acknowledge ends a write that the drive confirmed: what had ended before it
// began is gone.
func (m *model) acknowledge(w *write) {
	m.mu.Lock()
	defer m.mu.Unlock()
	w.end = m.tick()
	if w.kind == hinted {
		return
	}
	blocks := m.of(w)
	for i := range blocks {
		b := &blocks[i]
		b.each(func(c *candidate) {
			if c.write != w && c.write.end <= w.start && c.dead == forever {
				c.dead = w.end
			}
		})
		b.prune()
	}
}

// settle ends a write of which nobody knows whether it was carried out, but which
// cannot land any more: it failed, or what sent it is known to be gone.
func (m *model) settle(w *write) {
	m.mu.Lock()
	defer m.mu.Unlock()
	w.end = m.tick()
}

// beginRead comes before a read is sent; endRead has to follow.
func (m *model) beginRead(slba uint64, n uint32) (start uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	blocks := m.blocks[slba : slba+uint64(n)]
	for i := range blocks {
		blocks[i].readers++
	}
	return m.tick()
}

// legal appends the writes that a read from start to now may find in a block.
// racing tells whether one of them was on its way meanwhile, so that a mixture of
// them is legal as well: neither Linux nor an emulated drive reads a block at one
// moment.
func (m *model) legal(dst []*write, lba, start uint64) (all []*write, racing bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.blocks[lba].each(func(c *candidate) {
		if c.dead > start {
			dst = append(dst, c.write)
			racing = racing || c.write.end > start
		}
	})
	return dst, racing
}

// endRead ends a read. found holds what was found block by block, nil where that
// is not known: what had ended before the read began and is not what it found
// was overwritten, or never carried out.
func (m *model) endRead(slba uint64, n uint32, start uint64, found []*write) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.tick()
	for i := range uint64(n) {
		b := &m.blocks[slba+i]
		if found != nil && found[i] != nil {
			b.each(func(c *candidate) {
				if c.write != found[i] && c.write.end <= start && c.dead == forever {
					c.dead = now
				}
			})
		}
		b.readers--
		b.prune()
	}
}

// sure returns the only content that a block may have, nil if there are several.
func (m *model) sure(lba uint64) (only *write) {
	m.mu.Lock()
	defer m.mu.Unlock()
	count := 0
	m.blocks[lba].each(func(c *candidate) {
		if c.dead == forever {
			only, count = c.write, count+1
		}
	})
	if count != 1 || only.end == forever {
		return nil
	}
	return only
}

// candidates counts the contents that blocks may have beyond the first.
func (m *model) candidates() (more int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range m.blocks {
		more += len(m.blocks[i].more)
	}
	return more
}

func (b *block) each(f func(*candidate)) {
	f(&b.one)
	for i := range b.more {
		f(&b.more[i])
	}
}

// prune forgets what is overwritten. Reads under way may still find it.
func (b *block) prune() {
	if b.readers > 0 || len(b.more) == 0 {
		return
	}
	kept := b.more[:0]
	for _, c := range b.more {
		if c.dead == forever {
			kept = append(kept, c)
		}
	}
	clear(b.more[len(kept):])
	b.more = kept
	if b.one.dead != forever && len(kept) > 0 {
		b.one = kept[0]
		b.more = append(kept[:0], kept[1:]...)
	}
	if len(b.more) == 0 {
		b.more = nil
	}
}
