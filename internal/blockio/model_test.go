package blockio

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/nvmepass/nvmepass/fixedbuf"
	"github.com/nvmepass/nvmepass/internal/ringtest"
	"github.com/nvmepass/nvmepass/internal/slotio"
	"github.com/nvmepass/nvmepass/passthru"
	"github.com/nvmepass/nvmepass/uringcmd"
)

// TestBlockModel mixes the operations of a block queue over a kernel that
// misbehaves: every entry that it takes is what a build from nothing gives, and
// every completion is handed out once, with the verdict of its own length.
func TestBlockModel(t *testing.T) {
	const steps = 50_000
	clock := uint64(time.Now().UnixNano())
	t.Logf("seed of the clock: %d", clock)
	for name, cfg := range map[string]passthru.QueueConfig{
		"short way": {Depth: 6, HoldP: true},
		"one slot":  {Depth: 1, HoldP: true},
		"long way":  {Depth: 6},
		"plain":     {Depth: 5, PlainBuffers: true, PlainFile: true},
		"vectored":  {Depth: 5, HoldP: true, Vectored: true, PlainBuffers: true},
		"linear":    {Depth: 5, Linear: true, HoldP: true},
		"rewind":    {Depth: 5, Linear: true, Rewind: true},
	} {
		for _, seed := range []uint64{1, clock} {
			t.Run(fmt.Sprintf("%s/seed=%d", name, seed), func(t *testing.T) { runModel(t, cfg, seed, steps) })
		}
	}
}

type modelSlot struct {
	busy  bool
	entry []byte
	len   int32
	res   int32
}

func runModel(t *testing.T, cfg passthru.QueueConfig, seed uint64, steps int) {
	const perSlot = 8
	cfg.BufferSize = perSlot * lba
	k := &ringtest.Kernel{StartAt: 0xfffffff0, Forgetful: true}
	a := ringtest.NewAdversary(k, seed)
	a.Calm, a.Stale = true, 0
	a.OnTake = func(ringtest.Entry) (int32, uint64) { return int32(cfg.BufferSize), 0 } // of the read that proves the buffers
	a.OnPost = func(uint64, int32, uint64, bool) {}
	q, err := open(target{file: slotio.File{Path: os.DevNull, Writable: true, Kernel: k}, lba: lba, blocks: blocks}, &cfg)
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(seed, 4))
	slots, published := make([]modelSlot, cfg.Depth), []int(nil)
	var accepted, ended, good, bad uint64
	a.Calm, a.Stale = false, 8
	a.OnTake = func(e ringtest.Entry) (int32, uint64) {
		if len(published) == 0 {
			t.Fatalf("the kernel got an entry that nobody published: %x", e.Image)
		}
		slot := published[0]
		published = published[1:]
		s := &slots[slot]
		copy(s.entry[32:40], e.Image[32:40])
		if uint32(e.SQE().UserData) != uint32(slot) || !bytes.Equal(s.entry, e.Image) {
			t.Fatalf("slot %d:\n got %x\nwant %x", slot, e.Image, s.entry)
		}
		s.res = []int32{s.len, s.len, s.len, s.len - lba, -int32(syscall.EIO)}[random.IntN(5)]
		return s.res, 0
	}
	// give notes what a slot is about to be given; false if it has to be refused.
	give := func(write bool, slot int, slba uint64, nlb uint32) bool {
		if uint(slot) >= uint(len(slots)) || slots[slot].busy || nlb == 0 || nlb > perSlot || slba > blocks-uint64(nlb) {
			return false
		}
		s := &slots[slot]
		s.busy, s.len, s.entry = true, int32(nlb*lba), make([]byte, 64)
		fixed, vectored := q.Settings().FixedBuffers == fixedbuf.Whole, cfg.Vectored
		s.entry[0] = opcodeOf(write, fixed, vectored)
		fd, flags := q.core.Target(slot)
		s.entry[1] = flags
		ne.PutUint32(s.entry[4:], uint32(fd))
		ne.PutUint64(s.entry[8:], slba*lba)
		ne.PutUint64(s.entry[16:], q.core.Bufs.Addr(slot))
		ne.PutUint32(s.entry[24:], nlb*lba)
		if vectored {
			ne.PutUint64(s.entry[16:], q.vectors.Addr(slot))
			ne.PutUint32(s.entry[24:], 1)
		}
		published = append(published, slot)
		accepted++
		return true
	}
	finished := func(c uringcmd.Completion) {
		s := &slots[c.Slot]
		if !s.busy || c.Res != s.res {
			t.Fatalf("%+v came of %+v", c, *s)
		}
		s.busy = false
		ended++
		err := q.Err(c)
		if (err == nil) != (c.Res == s.len) {
			t.Fatalf("res %d of %d bytes: %v", c.Res, s.len, err)
		}
		if err == nil {
			good++
			return
		}
		bad++
		if e := (*TransferError)(nil); !errors.As(err, &e) || e.Offset != ne.Uint64(s.entry[8:]) || e.Length != uint32(s.len) {
			t.Fatalf("%v of %+v", err, *s)
		}
	}
	done, loop := make([]uringcmd.Completion, cfg.Depth+1), uringcmd.Loop{OK: q.OKResult()}
	for step := range steps {
		failed, x := a.Failed, random.Uint64()
		wait := int(x>>32)%(cfg.Depth+3) - 1
		var batch []int
		var slbas []uint64
		for range random.IntN(cfg.Depth + 1) {
			if slot := random.IntN(cfg.Depth); x&63 == 0 || !slots[slot].busy && !slices.Contains(batch, slot) {
				batch, slbas = append(batch, slot), append(slbas, random.Uint64N(blocks-perSlot/2))
			}
		}
		if x&0x3f00 == 0 {
			batch, slbas = append(batch, cfg.Depth-int(x>>20&1)*(cfg.Depth+1)), append(slbas, 0)
		}
		nlb := uint32(perSlot)
		if x>>16&3 == 0 {
			nlb = random.Uint32N(perSlot + 2)
		}
		op, write := x>>24&7, x>>24&7 == 0
		giveAll := func() bool {
			for i, slot := range batch {
				if !give(write, slot, slbas[i], nlb) {
					return false
				}
			}
			return true
		}
		var err error
		all := true
		switch op {
		case 0, 1:
			call := q.ReadBatch
			if write {
				call = q.WriteBatch
			}
			all = giveAll()
			err = call(batch, slbas, nlb)
		case 2, 3:
			err = q.Submit(wait)
		case 4:
			var n int
			n, err = q.Reap(wait, done)
			for _, c := range done[:n] {
				finished(c)
			}
		default:
			all = giveAll()
			if len(batch) == 0 && q.InFlight() == 0 {
				continue
			}
			loop.Batch, loop.Wait, loop.TakeFull = max(1, len(batch)), max(0, wait), random.IntN(cfg.Depth+2)
			loop.Free, loop.Other = append(loop.Free[:0], batch...), loop.Other[:0]
			var used int
			used, err = q.ReadTurns(slbas, nlb, &loop)
			if err != nil {
				if len(loop.Other) > 0 || !slices.Equal(loop.Free, batch[used:]) {
					t.Fatalf("step %d: %v and %v beside an error after %d of %v: %v", step, loop.Free, loop.Other, used, batch, err)
				}
				loop.Free = nil
			}
			for _, slot := range loop.Free {
				finished(uringcmd.Completion{Slot: slot, Res: q.OKResult()})
			}
			for _, c := range loop.Other {
				finished(c)
			}
		}
		if !all && err == nil || all && err != nil && (!errors.Is(err, syscall.ENOMEM) || a.Failed == failed) {
			t.Fatalf("step %d: operation %d with %v at %v, %d blocks: %v", step, op, batch, slbas, nlb, err)
		}
		if n := uint64(q.InFlight()); accepted != ended+n {
			t.Fatalf("step %d: %d accepted, %d ended, %d in flight", step, accepted, ended, n)
		}
	}
	a.Calm = true
	if err := q.Close(); err != nil {
		t.Fatal(err)
	}
	if s := q.Stats(); s.Submitted != s.Reaped || q.InFlight() != 0 || good == 0 || bad == 0 {
		t.Fatalf("%+v, %d in flight, %d good, %d bad", s, q.InFlight(), good, bad)
	}
	if _, err := q.ReadTurns([]uint64{0}, perSlot, &uringcmd.Loop{Batch: 1, Free: []int{0}}); !errors.Is(err, uringcmd.ErrClosed) {
		t.Fatalf("after Close: %v", err)
	}
}
