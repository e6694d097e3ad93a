package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"syscall"

	"github.com/nvmepass/nvmepass/fixedbuf"
	"github.com/nvmepass/nvmepass/internal/blockio"
	"github.com/nvmepass/nvmepass/passthru"
	"github.com/nvmepass/nvmepass/uringcmd"
)

// A sweep reads every block of a namespace at a quiet moment. What was written by
// one path has to be found by another.

// reader reads n blocks from slba into data and meta, one command at a time.
type reader interface {
	read(slba uint64, n uint32, data, meta []byte) error
	close() error
}

type ringReader struct {
	q    ring
	done [1]uringcmd.Completion
}

func (r *ringReader) read(slba uint64, n uint32, data, meta []byte) error {
	if err := r.q.Read(0, slba, n); err != nil {
		return err
	}
	got, err := r.q.Reap(1, r.done[:])
	if err != nil {
		return err
	}
	if got != 1 {
		return errors.New("reap returned without the one completion that it waited for")
	}
	if err := r.q.Err(r.done[0]); err != nil {
		return err
	}
	copy(data, r.q.Buffer(0))
	if q, ok := r.q.(*passthru.Queue); ok {
		copy(meta, q.Metadata(0))
	}
	return nil
}

func (r *ringReader) close() error { return r.q.Close() }

type deviceReader struct {
	d    *passthru.Device
	unit int64
}

func (r deviceReader) read(slba uint64, n uint32, data, _ []byte) error {
	got, err := r.d.ReadAt(data, int64(slba)*r.unit)
	if err == nil && got != len(data) {
		err = fmt.Errorf("%d of %d bytes of %d blocks without an error", got, len(data), n)
	}
	return err
}

func (r deviceReader) close() error { return r.d.Close() }

type fileReader struct {
	f    *os.File
	unit int64
	buf  []byte
}

func (r fileReader) read(slba uint64, n uint32, data, _ []byte) error {
	got, err := r.f.ReadAt(r.buf[:int64(n)*r.unit], int64(slba)*r.unit)
	copy(data, r.buf[:got])
	return err
}

func (r fileReader) close() error { return r.f.Close() }

// openReader opens a path for a sweep; n is the most blocks of a read.
func (s *session) openReader() (r reader, n uint32, err error) {
	n = s.t.most
	switch s.path {
	case byFile:
		f, err := os.OpenFile(s.t.block, os.O_RDONLY|syscall.O_DIRECT, 0)
		return fileReader{f, int64(s.t.host.LBASize), alignedBuffer(maxCommand)}, n, err
	case byDevice, byDevicePoll:
		d, err := passthru.Open(s.t.path, &passthru.Config{Poll: s.path.polls(), BufferSize: int(s.t.host.DataLen(s.t.most))})
		return deviceReader{d, int64(s.data.layout.Unit())}, n, err
	}
	d, err := passthru.Open(s.t.path, nil)
	if err != nil {
		return nil, 0, err
	}
	defer d.Close() // a queue has descriptors of its own
	cfg := passthru.QueueConfig{Depth: 1, Poll: s.path.polls(), HugePages: fixedbuf.HugeAuto}
	var q ring
	if s.path.block() {
		if s.path == byBlockPoll {
			n = s.t.unsplit
		}
		cfg.BufferSize = int(n * s.t.host.LBASize)
		q, err = blockio.NewQueue([]*passthru.Device{d}, cfg)
	} else {
		cfg.BufferSize = int(s.t.host.DataLen(n))
		q, err = d.NewQueue(cfg)
	}
	return &ringReader{q: q}, n, err
}

// sweep reads the namespace by a path and judges every block.
func (e *engine) sweep(ctx context.Context, t *target, path pathID, rng *rand.Rand) {
	if path.polls() && !e.pollsAnything {
		t.drive.onePoller.Lock()
		defer t.drive.onePoller.Unlock()
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // a queue belongs to a thread
		defer runtime.UnlockOSThread()
		s := e.newSession(t, path, rng)
		g := e.watch.begin("opening %s by %s for a sweep", t.name, path)
		r, n, err := s.openReader()
		e.watch.end(g)
		if err != nil {
			e.odd(t, path, "open for a sweep", err)
			return
		}
		e.tally.paths[path].opened.Add(1)
		s.sweep(ctx, r, n)
		g = e.watch.begin("closing %s by %s after a sweep", t.name, path)
		err = r.close()
		e.watch.end(g)
		if err != nil {
			e.odd(t, path, "close after a sweep", err)
		}
	}()
	<-done
}

func (s *session) sweep(ctx context.Context, r reader, n uint32) {
	j := s.data
	if s.path == byQueue || s.path == byQueuePoll {
		j = s.whole
	}
	data, meta := make([]byte, j.layout.DataLen(n)), make([]byte, j.layout.MetadataLen(n))
	for slba := uint64(0); slba < s.t.blocks && ctx.Err() == nil; {
		o := &op{kind: opRead, slba: slba, n: uint32(min(uint64(n), s.t.blocks-slba))}
		if bad := s.t.readErrors; bad.overlaps(o.slba, o.n) {
			o.n = 1 // so that only what cannot be read is not
		}
		slba += uint64(o.n)
		if !s.may(o.slba, o.n) {
			continue
		}
		g := s.e.guard(s.t, s.path, o)
		d := done{data: data[:j.layout.DataLen(o.n)], meta: meta[:j.layout.MetadataLen(o.n)]}
		if err := s.prepare(j, o, d.data, d.meta); err != nil {
			d.err = err
		} else {
			d.err = r.read(o.slba, o.n, d.data, d.meta)
		}
		if len(d.meta) == 0 {
			d.meta = nil
		}
		s.finish(j, o, d)
		s.e.watch.end(g)
	}
}
