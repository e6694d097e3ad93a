package main

import (
	"context"
	"math/rand/v2"
	"os"
	"sync"
	"syscall"

	"github.com/nvmepass/nvmepass/fixedbuf"
	"github.com/nvmepass/nvmepass/internal/sys"
)

// fileTraffic is one life of an *os.File on the block node, past the page cache,
// that some goroutines share.
func (s *session) fileTraffic(ctx context.Context, quota int) {
	g := s.e.watch.begin("opening %s", s.t.block)
	f, err := os.OpenFile(s.t.block, os.O_RDWR|syscall.O_DIRECT, 0)
	s.e.watch.end(g)
	if err != nil {
		s.e.odd(s.t, s.path, "open", err)
		return
	}
	s.e.tally.paths[s.path].opened.Add(1)
	users := 1 + s.rng.IntN(4)
	var group sync.WaitGroup
	for range users {
		user := s.e.newSession(s.t, s.path, rand.New(rand.NewPCG(s.rng.Uint64(), s.rng.Uint64())))
		group.Go(func() {
			buf := alignedBuffer(maxCommand)
			for range 1 + quota/users {
				if ctx.Err() != nil {
					return
				}
				user.fileOp(f, buf)
			}
		})
	}
	group.Wait()
	g = s.e.watch.begin("closing %s", s.t.block)
	err = f.Close()
	s.e.watch.end(g)
	if err != nil {
		s.e.odd(s.t, s.path, "close", err)
	}
}

// alignedBuffer begins at a page, as O_DIRECT wants it.
func alignedBuffer(n int) []byte {
	page := sys.PageSize()
	b := make([]byte, n+page)
	return b[page-int(fixedbuf.AddressOf(b)%uint64(page)):][:n]
}

func (s *session) fileOp(f *os.File, buf []byte) {
	o := s.pick([]opKind{opRead, opRead, opWrite, opWrite, opFlush}, s.t.most)
	g := s.e.guard(s.t, s.path, o)
	defer s.e.watch.end(g)
	unit := int(s.data.layout.Unit())
	data := buf[:int(o.n)*unit]
	if err := s.prepare(s.data, o, data, nil); err != nil {
		s.finish(s.data, o, done{err: err})
		return
	}
	var err error
	switch off := int64(o.slba) * int64(unit); o.kind {
	case opRead:
		_, err = f.ReadAt(data, off)
	case opWrite:
		_, err = f.WriteAt(data, off)
	default:
		err = f.Sync()
	}
	s.finish(s.data, o, done{err: err, data: data})
}
