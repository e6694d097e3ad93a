// Package ioqueue opens a queue for a path to one or several namespaces in the
// mode that was asked for, and says in which it runs.
//
// A Queue belongs to the goroutine that opened it.
package ioqueue

import (
	"fmt"
	"time"

	"github.com/nvmepass/nvmepass/fixedbuf"
	"github.com/nvmepass/nvmepass/internal/blockio"
	"github.com/nvmepass/nvmepass/internal/iosetup"
	"github.com/nvmepass/nvmepass/passthru"
	"github.com/nvmepass/nvmepass/uringcmd"
)

// Queue is a passthru.Queue or a blockio.Queue. With several namespaces, slot i
// belongs to number i mod n.
type Queue interface {
	Depth() int
	Buffer(slot int) []byte
	Read(slot int, slba uint64, nlb uint32) error
	Write(slot int, slba uint64, nlb uint32) error
	ReadBatch(slots []int, slbas []uint64, nlb uint32) error
	WriteBatch(slots []int, slbas []uint64, nlb uint32) error
	Submit(wait int) error
	Take(dst []uringcmd.Completion) int
	Ready() int
	InFlight() int
	OKResult() int32
	Err(c uringcmd.Completion) error
	Stats() uringcmd.Stats
	Settings() passthru.Settings
	Close() error
}

var (
	_ Queue = (*passthru.Queue)(nil)
	_ Queue = (*blockio.Queue)(nil)
)

// Config is one queue.
type Config struct {
	Path iosetup.Path
	Mode iosetup.Mode
	// Depth is the number of slots; BufferSize that of each one's buffer in
	// bytes, 0 for one logical block.
	Depth, BufferSize int
	// HoldP keeps the scheduler's P while a wait sleeps; see uringcmd.Config.
	HoldP bool
	// StallLimit is uringcmd.Config's.
	StallLimit time.Duration
	// AllowSplit lets reads of a block path be longer than one command also
	// where completions are polled for; see blockio.NewSplitQueue. Passthrough
	// is never split.
	AllowSplit bool
}

// Open makes a queue on devs.
func Open(devs []*passthru.Device, cfg Config) (Queue, error) {
	qc := queueConfig(&cfg)
	if cfg.Path.Passthru() {
		q, err := passthru.NewSharedQueue(devs, qc)
		if err != nil {
			return nil, err
		}
		return q, nil
	}
	open := blockio.NewQueue
	if cfg.AllowSplit {
		open = blockio.NewSplitQueue
	}
	q, err := open(devs, qc)
	if err != nil {
		return nil, err
	}
	return q, nil
}

func queueConfig(cfg *Config) passthru.QueueConfig {
	m := &cfg.Mode
	qc := passthru.QueueConfig{
		Depth: cfg.Depth, BufferSize: cfg.BufferSize, Poll: cfg.Path.Polled(), HoldP: cfg.HoldP, StallLimit: cfg.StallLimit,
		PlainBuffers: !m.FixedBuffers, PlainFile: !m.RegisteredFiles, PlainRing: !m.RegisteredRing,
		Linear: m.Array != iosetup.ArrayIndex, Rewind: m.Array == iosetup.ArrayRewind,
		HybridPoll: m.HybridPoll && cfg.Path.Polled(), Vectored: m.Vectored, SQPoll: SQPoll(m),
		Without: Without(m),
	}
	if m.HugePages {
		qc.HugePages = fixedbuf.HugeTLB
	}
	return qc
}

// SQPoll is a mode's submission thread, nil if it has none.
func SQPoll(m *iosetup.Mode) *uringcmd.SQPoll {
	if !m.SQPoll {
		return nil
	}
	s := &uringcmd.SQPoll{Idle: m.SQPollIdle}
	if m.SQPollCPU != nil {
		s.Pinned, s.CPU = true, *m.SQPollCPU
	}
	return s
}

// Without are the optional ring flags that a mode does not want.
func Without(m *iosetup.Mode) uringcmd.Flags {
	var f uringcmd.Flags
	if !m.CoopTaskrun {
		f |= uringcmd.CoopTaskrun
	}
	if !m.DeferTaskrun {
		f |= uringcmd.DeferTaskrun
	}
	return f
}

// Effective is the mode in which a queue runs; m is what was asked for.
func Effective(s passthru.Settings, m *iosetup.Mode) iosetup.Effective {
	return iosetup.Effective{
		Polled: s.Polled, FixedBuffers: fixedText(s, m), RegisteredFiles: s.RegisteredFile, RegisteredRing: s.RegisteredRing,
		HugePages: s.HugePages, Vectored: s.Vectored, RingFlags: s.Flags.Names(),
	}
}

func fixedText(s passthru.Settings, m *iosetup.Mode) string {
	switch {
	case !m.FixedBuffers:
		return iosetup.FixedOff
	case s.FixedBuffers == fixedbuf.Whole:
		return iosetup.FixedWhole
	case s.FixedBuffers == fixedbuf.PerSlot:
		return iosetup.FixedPerSlot
	}
	return fmt.Sprintf("plain (%s)", s.FixedReason)
}
