package kvlog

import (
	"context"
	"fmt"
)

// maxBatch bounds one write in bytes; it holds at least one record of any size.
const maxBatch = 2 << 20

// batch is the records of one write.
type batch struct {
	start   int64 // where it goes
	buf     []byte
	entries []entry
	done    chan struct{} // closed once err is final
	err     error
}

// entry is what a record does to the index; at is relative to the batch.
type entry struct {
	kind kind
	key  string
	at   location
}

// append adds a record to the next write and waits until that is durable.
func (l *Log) append(k kind, key string, value []byte) error {
	h := header{kind: k, keyLen: len(key), valueLen: len(value), generation: l.super.generation}
	l.mu.Lock()
	b, err := l.reserve(h.stride())
	if err != nil {
		l.mu.Unlock()
		return err
	}
	h.sequence = l.sequence
	l.sequence++
	b.entries = append(b.entries, entry{k, key, location{int64(len(b.buf)), h.size()}})
	b.buf = appendRecord(b.buf, l.seed, h, key, value)
	l.changed.Broadcast()
	l.mu.Unlock()
	<-b.done
	return b.err
}

// reserve returns the batch that has room for n more bytes. It waits while the
// current one is full. l.mu is held.
func (l *Log) reserve(n int) (*batch, error) {
	for {
		if l.closed {
			return nil, ErrClosed
		}
		if l.failed != nil {
			return nil, l.failed
		}
		start, used := l.tail, 0
		if l.filling != nil {
			start, used = l.filling.start, len(l.filling.buf)
		}
		if used > 0 && used+n > maxBatch {
			l.changed.Wait()
			continue
		}
		if left := l.size - start - int64(used); int64(n) > left {
			return nil, fmt.Errorf("%w: the record takes %d bytes and %d of %d are left; open a log on a larger namespace and copy to it what is still needed", ErrFull, n, left, l.size)
		}
		if l.filling == nil {
			l.filling = &batch{start: start, buf: l.spare[:0], done: make(chan struct{})}
			l.spare = nil
		}
		return l.filling, nil
	}
}

// committer writes one batch after the other until the log is closed.
func (l *Log) committer() {
	defer close(l.ended)
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		for l.filling == nil {
			if l.closed {
				return
			}
			l.changed.Wait()
		}
		b := l.filling
		l.filling, l.writing = nil, b
		l.tail = b.start + roundUp(int64(len(b.buf)), l.block)
		l.changed.Broadcast() // there is room again
		if l.failed == nil {
			l.mu.Unlock()
			err := l.write(b)
			l.mu.Lock()
			l.failed = err
		}
		if b.err = l.failed; b.err == nil {
			for _, e := range b.entries {
				l.apply(e.kind, e.key, location{b.start + e.at.offset, e.at.size})
			}
			l.batches++
		}
		l.writing, l.spare = nil, b.buf
		close(b.done)
	}
}

// write makes a batch durable.
func (l *Log) write(b *batch) error {
	b.buf = append(b.buf, make([]byte, roundUp(int64(len(b.buf)), l.block)-int64(len(b.buf)))...)
	if _, err := l.dev.WriteAt(b.buf, b.start); err != nil {
		return fmt.Errorf("write %d records at %d: %w; open the log anew to see which are there", len(b.entries), b.start, err)
	}
	if err := l.dev.Flush(context.Background()); err != nil {
		return fmt.Errorf("flush %d records at %d: %w; open the log anew to see which are there", len(b.entries), b.start, err)
	}
	return nil
}
