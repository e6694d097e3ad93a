// Package syncio is the synchronous way to read a namespace: preadv2(2) with
// O_DIRECT on its block node, one read at a time, with or without the hint to
// poll for completion (RWF_HIPRI). It is driven by package workload like the
// queues of rings, so that a comparison differs in the path alone.
//
// A Queue belongs to the goroutine that opened it.
//
// # Kernel support
//
// From Linux 5.19 on the kernel ignores RWF_HIPRI for synchronous direct reads
// of block devices ("block: ignore RWF_HIPRI hint for sync dio"); see Polls.
package syncio

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/nvmepass/nvmepass/fixedbuf"
	"github.com/nvmepass/nvmepass/internal/blockio"
	"github.com/nvmepass/nvmepass/internal/slotio"
	"github.com/nvmepass/nvmepass/internal/sys"
	"github.com/nvmepass/nvmepass/internal/sysfs"
	"github.com/nvmepass/nvmepass/internal/uapi"
	"github.com/nvmepass/nvmepass/uringcmd"
)

// Config is one queue.
type Config struct {
	// Path is the block node, LBA its logical block size in bytes.
	Path string
	LBA  uint32
	// BufferSize is the longest read in bytes, a multiple of LBA.
	BufferSize int
	// Poll gives the hint RWF_HIPRI with each read.
	Poll bool
	// HugePages chooses the page size of the buffer.
	HugePages fixedbuf.HugePages
}

// Queue is one synchronous read at a time: its one slot is number 0.
type Queue struct {
	path string
	fd   int
	lba  int64
	poll bool
	mem  *fixedbuf.Arena
	vec  uapi.Iovec

	read  func(fd int, vec *uapi.Iovec, offset int64, hipri bool) (int, syscall.Errno)
	state state
	at    int64 // offset in bytes of the read in the slot
	done  int32 // its result
	stats uringcmd.Stats
}

type state int

const (
	free state = iota
	published
	finished
)

// Open opens the node and makes the buffer, whose memory is outside the Go heap.
func Open(cfg Config) (*Queue, error) {
	if cfg.LBA == 0 || cfg.BufferSize < 1 || cfg.BufferSize%int(cfg.LBA) != 0 {
		return nil, fmt.Errorf("open %s for synchronous reads: %d bytes are not a multiple of the logical block size %d, as O_DIRECT needs", cfg.Path, cfg.BufferSize, cfg.LBA)
	}
	if most := blockio.MaxBlocks(uint64(cfg.LBA)) * uint64(cfg.LBA); uint64(cfg.BufferSize) > most {
		return nil, fmt.Errorf("open %s for synchronous reads: %d bytes are more than the %d that one call transfers: use shorter reads", cfg.Path, cfg.BufferSize, most)
	}
	fd, err := sys.OpenDevice(cfg.Path, false, true)
	if err != nil {
		return nil, sysfs.OpenError(cfg.Path, err)
	}
	mem, err := fixedbuf.New(fixedbuf.Config{Slots: 1, SlotSize: cfg.BufferSize, HugePages: cfg.HugePages})
	if err != nil {
		return nil, errors.Join(err, sys.Close(fd))
	}
	return &Queue{path: cfg.Path, fd: fd, lba: int64(cfg.LBA), poll: cfg.Poll, mem: mem, vec: uapi.Iovec{Base: mem.Addr(0)}, read: sys.Preadv2}, nil
}

// Depth is 1.
func (q *Queue) Depth() int { return 1 }

// HugePages tells whether the buffer lies in huge pages.
func (q *Queue) HugePages() bool { return q.mem.Huge() }

// ReadBatch takes one read of nlb logical blocks from slba, which the next
// Submit performs.
func (q *Queue) ReadBatch(slots []int, slbas []uint64, nlb uint32) error {
	if err := slotio.CheckBatch(slots, slbas); err != nil {
		return err
	}
	for i, slot := range slots {
		length := uint64(nlb) * uint64(q.lba)
		switch {
		case q.fd < 0:
			return fmt.Errorf("read %s: %w", q.path, os.ErrClosed)
		case slot != 0:
			return fmt.Errorf("read %s: slot %d: synchronous reads have slot 0 alone", q.path, slot)
		case q.state != free:
			return fmt.Errorf("read %s: %w: take its completion first", q.path, uringcmd.ErrSlotBusy)
		case length == 0 || length > uint64(q.mem.SlotSize()):
			return fmt.Errorf("read %s: %d blocks of %d bytes: the buffer holds 1 to %d", q.path, nlb, q.lba, q.mem.SlotSize()/int(q.lba))
		case slbas[i] > uint64((1<<63-1)/q.lba):
			return fmt.Errorf("read %s: block %#x is beyond the largest file offset", q.path, slbas[i])
		}
		q.at, q.vec.Len, q.state = int64(slbas[i])*q.lba, length, published
	}
	return nil
}

// Submit performs the read, if there is one: it returns when that is done. wait
// makes no difference.
func (q *Queue) Submit(int) error {
	if q.state != published {
		return nil
	}
	for {
		n, errno := q.read(q.fd, &q.vec, q.at, q.poll)
		q.stats.Enters++
		if errno == syscall.EINTR {
			q.stats.Interrupts++
			continue
		}
		q.done = int32(n)
		if errno != 0 {
			q.done = -int32(errno)
		}
		q.stats.Submitted++
		q.state = finished
		return nil
	}
}

// Take takes the completion of the read, if it was performed.
func (q *Queue) Take(dst []uringcmd.Completion) int {
	if q.state != finished || len(dst) == 0 {
		return 0
	}
	dst[0] = uringcmd.Completion{Res: q.done}
	q.state = free
	q.stats.Reaped++
	return 1
}

// InFlight is 1 from ReadBatch to Take.
func (q *Queue) InFlight() int {
	if q.state == free {
		return 0
	}
	return 1
}

// OKResult is the result of a read that fills the buffer.
func (q *Queue) OKResult() int32 { return int32(q.mem.SlotSize()) }

// Err is nil if the whole length was read, else *blockio.TransferError. Call it
// before the next ReadBatch.
func (q *Queue) Err(c uringcmd.Completion) error {
	if c.Res >= 0 && uint64(c.Res) == q.vec.Len {
		return nil
	}
	return &blockio.TransferError{Op: "read", Offset: uint64(q.at), Length: uint32(q.vec.Len), Res: c.Res}
}

// Stats counts the system calls as Enters.
func (q *Queue) Stats() uringcmd.Stats { return q.stats }

// Buffer is what the last read left.
func (q *Queue) Buffer() []byte { return q.mem.Slot(0) }

// Close frees the buffer and closes the node. Calling it again does nothing.
func (q *Queue) Close() error {
	if q.fd < 0 {
		return nil
	}
	fd := q.fd
	q.fd, q.state = -1, free
	return errors.Join(q.mem.Close(), sys.Close(fd))
}

// Polls tells whether a kernel of the given release polls for reads with
// RWF_HIPRI. A release that cannot be read counts as a new one.
func Polls(release string) bool {
	var major, minor int
	if _, err := fmt.Sscanf(release, "%d.%d", &major, &minor); err != nil {
		return false
	}
	return major < 5 || major == 5 && minor < 19
}
