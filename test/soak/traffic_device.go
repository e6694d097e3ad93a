package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nvmepass/nvmepass/nvme"
	"github.com/nvmepass/nvmepass/passthru"
)

// deviceConfig draws the settings of a Device.
func (s *session) deviceConfig() *passthru.Config {
	chance := func(oneIn int) bool { return s.rng.IntN(oneIn) == 0 }
	cfg := &passthru.Config{
		Writable: true, Depth: 1 + s.rng.IntN(40), Poll: s.path.polls(), StallLimit: s.e.stallLimit(), AllowIoctl: chance(2),
		BufferSize: int(s.t.host.DataLen(1 + s.rng.Uint32N(s.t.most))),
	}
	if chance(3) && (!cfg.Poll || s.e.pollsAnything) {
		cfg.Workers = min(cfg.Depth, 1+s.rng.IntN(3))
	}
	return cfg
}

// deviceTraffic is one life of a Device that some goroutines share, each for a
// number of operations. Every third one is closed under their hands.
func (s *session) deviceTraffic(ctx context.Context, quota int) {
	cfg := s.deviceConfig()
	g := s.e.watch.begin("opening %s by %s", s.t.name, s.path)
	opening := time.Now()
	dev, err := passthru.Open(s.t.path, cfg)
	s.e.watch.end(g)
	if err != nil {
		if !s.t.drive.resets.since(opening) {
			s.e.odd(s.t, s.path, "open", err)
		}
		return
	}
	s.e.tally.paths[s.path].opened.Add(1)
	users := 1 + s.rng.IntN(24)
	if s.rng.IntN(3) == 0 {
		users = 1 // alone, so that transfers go by ioctl
	}
	var closing atomic.Bool
	var group sync.WaitGroup
	var mu sync.Mutex
	for range users {
		user := s.e.newSession(s.t, s.path, rand.New(rand.NewPCG(s.rng.Uint64(), s.rng.Uint64())))
		group.Go(func() {
			u := &deviceUser{session: user, dev: dev, closing: &closing, buf: make([]byte, 4*maxCommand+4096)}
			u.run(ctx, 1+quota/users)
			mu.Lock()
			s.abandoned = append(s.abandoned, user.abandoned...)
			mu.Unlock()
		})
	}
	early := s.rng.IntN(3) == 0
	wait := time.Duration(s.rng.IntN(300)) * time.Millisecond
	if early {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
		closing.Store(true)
		s.e.tally.faults.add("device closed under load", 1)
	} else {
		group.Wait()
	}
	g = s.e.watch.begin("closing %s by %s", s.t.name, s.path)
	err = dev.Close()
	s.e.watch.end(g)
	group.Wait()
	if err != nil {
		s.e.odd(s.t, s.path, "close", err)
		return // what was in flight may still land
	}
	s.settle()
}

// deviceUser is one goroutine at a Device.
type deviceUser struct {
	*session
	dev     *passthru.Device
	closing *atomic.Bool
	buf     []byte
}

func (u *deviceUser) run(ctx context.Context, quota int) {
	kinds := u.kinds(opRead, opRead, opRead, opRead, opWrite, opWrite, opWrite, opCompare, opZero, opHint, opFlush)
	for range quota {
		if ctx.Err() != nil || u.closing.Load() {
			return
		}
		u.one(kinds)
	}
}

// one carries out an operation, a quarter of them with a context that ends soon.
func (u *deviceUser) one(kinds []opKind) {
	ctx, cancel := context.Background(), func() {}
	if u.rng.IntN(4) == 0 {
		ctx, cancel = context.WithTimeout(ctx, time.Duration(u.rng.IntN(4000))*time.Microsecond)
	}
	defer cancel()
	most := u.t.most
	bytewise := u.rng.IntN(3) > 0
	if bytewise {
		most = min(4*most, 4*maxCommand/u.t.host.Unit()) // beyond one command
	}
	o := u.pick(kinds, most)
	if u.t.separate && o.kind != opRead {
		bytewise = false // WriteAt would write metadata as zeros
		o.n = min(o.n, u.t.most)
	}
	g := u.e.guard(u.t, u.path, o)
	defer u.e.watch.end(g)
	switch o.kind {
	case opRead, opWrite:
		if bytewise {
			u.bytes(ctx, o)
		} else {
			u.blocks(ctx, o)
		}
	case opCompare:
		o.n = min(o.n, u.t.most)
		u.blocks(ctx, o)
	default:
		u.command(ctx, o)
	}
}

// bytes reads from anywhere to anywhere, or writes whole blocks, from memory that
// begins anywhere.
func (u *deviceUser) bytes(ctx context.Context, o *op) {
	j := u.data
	unit := int(j.layout.Unit())
	at := u.rng.IntN(4096)
	if u.rng.IntN(2) == 0 {
		at = 0
	}
	data := u.buf[at : at+int(o.n)*unit]
	if err := u.prepare(j, o, data, nil); err != nil {
		u.finish(j, o, done{err: err})
		return
	}
	off := int64(o.slba) * int64(unit)
	var err error
	if o.kind == opWrite {
		if u.rng.IntN(3) == 0 && len(data) > 1 {
			cut := 1 + u.rng.IntN(len(data)-1)
			_, err = u.dev.WriteVAtContext(ctx, [][]byte{data[:cut], nil, data[cut:]}, off)
		} else {
			_, err = u.dev.WriteAtContext(ctx, data, off)
		}
		u.finish(j, o, done{err: err, closing: u.closing.Load()})
		return
	}
	skip := 0
	if u.rng.IntN(3) == 0 {
		skip = u.rng.IntN(unit)
		data = data[skip : len(data)-u.rng.IntN(unit-skip)] // still within the last block
	}
	n := 0
	if u.rng.IntN(3) == 0 {
		cut := u.rng.IntN(len(data) + 1)
		n, err = u.dev.ReadVAtContext(ctx, [][]byte{data[:cut], data[cut:]}, off+int64(skip))
	} else {
		n, err = u.dev.ReadAtContext(ctx, data, off+int64(skip))
	}
	if err == nil && n != len(data) {
		err = errors.New("a read without error was short")
	}
	u.finish(j, o, done{err: err, data: data, skip: skip, closing: u.closing.Load()})
}

// blocks moves or compares whole blocks with their metadata in one command.
func (u *deviceUser) blocks(ctx context.Context, o *op) {
	o.n = min(o.n, u.t.most)
	j := u.whole
	data := u.buf[:j.layout.DataLen(o.n)]
	meta := make([]byte, j.layout.MetadataLen(o.n))
	if err := u.prepare(j, o, data, meta); err != nil {
		u.finish(j, o, done{err: err})
		return
	}
	options := nvme.IOOptions{PRACT: u.t.pract()}
	var err error
	switch o.kind {
	case opRead:
		err = u.dev.ReadBlocks(ctx, o.slba, data, meta, options)
	case opWrite:
		err = u.dev.WriteBlocks(ctx, o.slba, data, meta, options)
	default:
		err = u.dev.CompareBlocks(ctx, o.slba, data, meta, options)
	}
	u.finish(j, o, done{err: err, data: data, meta: meta, closing: u.closing.Load()})
}

// command sends what moves no blocks.
func (u *deviceUser) command(ctx context.Context, o *op) {
	if err := u.prepare(u.whole, o, nil, nil); err != nil {
		u.finish(u.whole, o, done{err: err})
		return
	}
	r := passthru.Range{SLBA: o.slba, Blocks: uint64(o.n)}
	var err error
	switch o.kind {
	case opZero:
		err = u.dev.WriteZeroes(ctx, r, u.rng.IntN(2) == 0)
	case opHint:
		err = u.dev.Deallocate(ctx, r)
	default:
		err = u.dev.Flush(ctx)
	}
	u.finish(u.whole, o, done{err: err, closing: u.closing.Load()})
}
