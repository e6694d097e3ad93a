package kvlog

import (
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"
	"sync"
)

// Options say how to open a log. The zero value opens one that exists.
type Options struct {
	// Format makes a new log. The first MiB of the storage has to be zero,
	// else Open refuses with ErrNotBlank, or ErrExists for a log.
	Format bool
}

// Log is an open log. Its methods may be called by any goroutine.
type Log struct {
	dev   Storage
	block int64
	size  int64
	super superblock
	seed  uint32

	mu        sync.Mutex
	changed   sync.Cond // filling, closed or failed
	index     map[string]location
	sequence  uint64 // of the next record
	tail      int64  // where the next batch starts
	filling   *batch // collects records, or nil
	writing   *batch // is on its way, or nil
	spare     []byte // memory for the next batch
	closed    bool
	failed    error
	recovered uint64
	batches   uint64

	ended chan struct{} // closed when the committer has returned
}

// location is where a record lies, in bytes.
type location struct {
	offset int64
	size   int
}

// Open opens the log on dev and recovers it from whatever ended its last use.
// dev stays the caller's, who closes it after the log.
func Open(dev Storage, o Options) (*Log, error) {
	l, err := open(dev, o)
	if err != nil {
		return nil, fmt.Errorf("open key-value log: %w", err)
	}
	return l, nil
}

func open(dev Storage, o Options) (*Log, error) {
	super, err := readSuperblock(dev)
	switch {
	case err != nil:
		return nil, err
	case super != nil && o.Format:
		return nil, fmt.Errorf("%w: open it without Options.Format, or zero the start of the storage first", ErrExists)
	case super == nil && o.Format:
		if super, err = format(dev); err != nil {
			return nil, fmt.Errorf("format: %w", err)
		}
	case super == nil:
		return nil, fmt.Errorf("%w: neither of the first two blocks holds its superblock; format blank storage with Options.Format", ErrNotLog)
	}
	l := &Log{
		dev: dev, block: int64(super.blockSize), size: int64(super.size), super: *super,
		seed: crc32.Checksum(super.uuid[:], castagnoli), index: map[string]location{}, sequence: 1, ended: make(chan struct{}),
	}
	l.changed.L = &l.mu
	if err := l.recover(); err != nil {
		return nil, fmt.Errorf("recover: %w", err)
	}
	// Durable before a record carries it. The flush also makes durable what
	// recovery found and nobody had flushed.
	l.super.generation++
	if err := l.super.write(dev); err != nil {
		return nil, err
	}
	go l.committer()
	return l, nil
}

// apply does to the index what a record says.
func (l *Log) apply(k kind, key string, at location) {
	if k == kindDelete {
		delete(l.index, key)
		return
	}
	l.index[key] = at
}

// Put stores a value under a key: 1 to MaxKey bytes, and up to MaxValue bytes.
// nil means that it is durable. After an error of the drive it may or may not
// be there when the log is opened the next time.
func (l *Log) Put(key string, value []byte) error {
	err := checkSizes(key, value)
	if err == nil {
		err = l.append(kindPut, key, value)
	}
	return wrap("put", key, err)
}

// Delete removes a key, durably as Put stores it. A key that is not there is no
// error.
func (l *Log) Delete(key string) error {
	err := checkSizes(key, nil)
	if err == nil {
		if _, ok := l.find(key); !ok {
			return wrap("delete", key, l.writable())
		}
		err = l.append(kindDelete, key, nil)
	}
	return wrap("delete", key, err)
}

// Get reads the value of a key from the drive and checks it. The value is the
// caller's. What a Put that has not returned stores is not found yet.
func (l *Log) Get(key string) ([]byte, error) {
	at, ok := l.find(key)
	if !ok {
		err := l.usable()
		if err == nil {
			err = ErrNotFound
		}
		return nil, wrap("get", key, err)
	}
	value, err := l.read(key, at)
	return value, wrap("get", key, err)
}

func (l *Log) find(key string) (location, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at, ok := l.index[key]
	return at, ok && !l.closed
}

func (l *Log) usable() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return ErrClosed
	}
	return nil
}

func (l *Log) writable() error {
	err := l.usable()
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil {
		err = l.failed
	}
	return err
}

func (l *Log) read(key string, at location) ([]byte, error) {
	b := make([]byte, at.size)
	if err := readFull(l.dev, b, at.offset); err != nil {
		return nil, err
	}
	if h := parseHeader(b); !h.plausible() || h.size() != at.size || !intact(l.seed, b) || string(b[headerSize:][:h.keyLen]) != key {
		return nil, fmt.Errorf("%w: %d bytes at %d fail their checksum", ErrCorrupt, at.size, at.offset)
	}
	return b[headerSize+len(key):], nil
}

// Iterate calls f with every key that is there when it begins, in order, and
// its value; keys deleted meanwhile may be left out. It ends with the first
// error of f or of a read.
func (l *Log) Iterate(f func(key string, value []byte) error) error {
	if err := l.usable(); err != nil {
		return fmt.Errorf("iterate: %w", err)
	}
	l.mu.Lock()
	keys := slices.Sorted(maps.Keys(l.index))
	l.mu.Unlock()
	for _, key := range keys {
		value, err := l.Get(key)
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err == nil {
			err = f(key, value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Sync waits for the records of other goroutines' Put and Delete that are on
// their way, and returns the failure of the log, if any. A call that still
// waits for room in a write, because many are at it, is not waited for.
func (l *Log) Sync() error {
	l.mu.Lock()
	b, err := l.filling, l.failed
	if b == nil {
		b = l.writing
	}
	if l.closed && err == nil {
		err = ErrClosed
	}
	l.mu.Unlock()
	if b != nil {
		<-b.done
		err = b.err
	}
	if err != nil {
		return fmt.Errorf("sync key-value log: %w", err)
	}
	return nil
}

// Close waits for what was begun and refuses everything else. It returns the
// failure of the log, if any. Closing again does nothing more.
func (l *Log) Close() error {
	l.mu.Lock()
	l.closed = true
	l.changed.Broadcast()
	l.mu.Unlock()
	<-l.ended
	if l.failed != nil {
		return fmt.Errorf("close key-value log: %w", l.failed)
	}
	return nil
}

// Stats describe a log.
type Stats struct {
	Keys       int    // that are there
	Records    uint64 // written in the life of the log
	Recovered  uint64 // of them, found by Open
	Batches    uint64 // writes since Open, each with a flush
	Generation uint64 // openings so far
	Used, Size int64  // bytes
}

// Stats returns what is true now. Records that are still on their way count.
func (l *Log) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Stats{
		Keys: len(l.index), Records: l.sequence - 1, Recovered: l.recovered, Batches: l.batches,
		Generation: l.super.generation, Used: l.tail, Size: l.size,
	}
}

func wrap(op, key string, err error) error {
	if err == nil {
		return nil
	}
	if len(key) > 64 {
		key = key[:64] + "..."
	}
	return fmt.Errorf("%s %q: %w", op, key, err)
}
