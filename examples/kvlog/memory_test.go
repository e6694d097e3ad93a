package kvlog

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"sync"
)

// memory is a drive that remembers what was done to it, so that a test can make
// the image that a crash at any moment leaves behind.
type memory struct {
	block int

	mu      sync.Mutex
	image   []byte
	history []op
	// beforeWrite is called without the mutex before each write lands.
	beforeWrite func()
	writeErr    error
	flushErr    error
	writes      int
	flushes     int
}

// op is a write, a flush (data is nil), or a mark that a test left: what was
// acknowledged by then.
type op struct {
	off  int64
	data []byte
	mark int // number of acknowledged operations, -1 for none
}

func newMemory(block, blocks int) *memory {
	return &memory{block: block, image: make([]byte, block*blocks)}
}

func (m *memory) ReadAt(p []byte, off int64) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := copy(p, m.image[min(off, int64(len(m.image))):])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (m *memory) WriteAt(p []byte, off int64) (int, error) {
	if m.beforeWrite != nil {
		m.beforeWrite()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if off%int64(m.block) != 0 || len(p)%m.block != 0 || off+int64(len(p)) > int64(len(m.image)) {
		return 0, errors.New("not whole blocks, or beyond the end")
	}
	m.writes++
	if m.writeErr != nil {
		return 0, m.writeErr
	}
	copy(m.image[off:], p)
	m.history = append(m.history, op{off: off, data: append([]byte(nil), p...), mark: -1})
	return len(p), nil
}

func (m *memory) Flush(context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.flushes++
	if m.flushErr != nil {
		return m.flushErr
	}
	m.history = append(m.history, op{mark: -1})
	return nil
}

func (m *memory) Size() int64    { return int64(len(m.image)) }
func (m *memory) BlockSize() int { return m.block }

func (m *memory) acknowledge(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.history = append(m.history, op{mark: n})
}

// restart forgets the history: what is there counts as durable.
func (m *memory) restart(image []byte) *memory {
	return &memory{block: m.block, image: append([]byte(nil), image...)}
}

// cut is the image after n whole operations and the first bytes of the next.
// acked is the last mark before.
func (m *memory) cut(before []byte, n, bytes int) (image []byte, acked int) {
	image = append([]byte(nil), before...)
	for _, o := range m.history[:n] {
		copy(image[o.off:], o.data)
		acked = max(acked, o.mark)
	}
	if n < len(m.history) {
		copy(image[m.history[n].off:], m.history[n].data[:bytes])
	}
	return image, acked
}

// scatter is the image after n operations, of which those that no flush covers
// may have landed block by block in any order, or not at all.
func (m *memory) scatter(rng *rand.Rand, before []byte, n int) (image []byte, acked int) {
	image = append([]byte(nil), before...)
	durable := 0
	for i, o := range m.history[:n] {
		if o.data == nil && o.mark < 0 {
			durable = i
		}
		acked = max(acked, o.mark)
	}
	for i, o := range m.history[:n] {
		for at := 0; at < len(o.data); at += m.block {
			if i < durable || rng.IntN(2) == 0 {
				copy(image[o.off+int64(at):], o.data[at:at+m.block])
			}
		}
	}
	return image, acked
}
