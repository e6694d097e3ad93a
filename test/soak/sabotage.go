package main

import (
	"bytes"
	"os"
	"runtime"
	"sync"
	"syscall"

	"github.com/nvmepass/nvmepass/passthru"
)

// sabotages spoil a run on purpose, to show that it notices.
var sabotages = map[string]string{
	"corrupt":   "flip a bit of a block on the drive",
	"lost":      "count a write as acknowledged that was never sent",
	"stale":     "give a read what the block held before",
	"leak":      "open a file each round and keep it",
	"leak-ring": "make a queue each round and keep it",
	"hang":      "begin an operation that never ends",
}

// sabotageQuiet spoils what the next sweep reads.
func (e *engine) sabotageQuiet() {
	t := e.targets[0]
	const lba = 7
	switch e.o.sabotage {
	case "corrupt":
		f, err := os.OpenFile(t.block, os.O_RDWR|syscall.O_DIRECT, 0)
		if err != nil {
			e.odd(t, byFile, "sabotage", err)
			return
		}
		defer f.Close()
		size := int64(t.host.LBASize)
		b := alignedBuffer(int(size))
		if _, err := f.ReadAt(b, lba*size); err != nil {
			e.odd(t, byFile, "sabotage", err)
			return
		}
		b[100] ^= 4
		if _, err := f.WriteAt(b, lba*size); err != nil {
			e.odd(t, byFile, "sabotage", err)
		}
	case "lost":
		t.model.acknowledge(t.model.beginWrite(lba, 1, stamped, byQueue))
	case "hang":
		e.watch.begin("sabotage that never ends on %s", t.name)
		select {}
	}
}

// sabotageRound leaks something.
func (e *engine) sabotageRound() {
	switch e.o.sabotage {
	case "leak":
		if _, err := syscall.Open(os.DevNull, syscall.O_RDONLY, 0); err != nil {
			e.odd(nil, byFile, "sabotage", err)
		}
	case "leak-ring":
		made := make(chan struct{})
		go func() {
			runtime.LockOSThread()
			d, err := passthru.Open(e.targets[0].path, nil)
			if err == nil {
				_, err = d.NewQueue(passthru.QueueConfig{Depth: 1})
			}
			if err != nil {
				e.odd(e.targets[0], byQueue, "sabotage", err)
			}
			close(made)
			select {}
		}()
		<-made
	}
}

// older is the first content that was read of a block, for stale reads.
type older struct {
	mu     sync.Mutex
	target *target
	lba    uint64
	data   []byte
}

// sabotageRead puts the first content of a block into what was read.
func (e *engine) sabotageRead(t *target, o *op, d *done) {
	unit := len(d.data) / int(o.n)
	if e.o.sabotage != "stale" || d.skip != 0 || d.meta != nil || len(d.data) != int(o.n)*unit {
		return
	}
	x := &e.older
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.data == nil {
		if o.slba >= hotBlocks {
			return // it might not be written again for a long time
		}
		x.target, x.lba, x.data = t, o.slba, bytes.Clone(d.data[:unit])
		return
	}
	if x.target != t || x.lba < o.slba || x.lba >= o.slba+uint64(o.n) {
		return
	}
	at := d.data[int(x.lba-o.slba)*unit:][:unit]
	if len(x.data) == unit {
		copy(at, x.data) // again and again, because a read that meets the write may find it
	}
}
