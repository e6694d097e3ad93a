package iosetup

import "slices"

// The values of Effective.FixedBuffers; a fall-back is written "plain (reason)".
const (
	// FixedWhole is one registration for the whole arena.
	FixedWhole = "whole"
	// FixedPerSlot is one registration per slot, of exactly the size of one I/O.
	FixedPerSlot = "per-slot"
	// FixedOff means that fixed buffers were not asked for.
	FixedOff = "off"
)

// Effective is the mode in which a ring really ran.
type Effective struct {
	// Polled says that completions were polled for.
	Polled bool `json:"polled"`
	// FixedBuffers is FixedWhole, FixedPerSlot, FixedOff, or "plain (reason)" where fixed buffers were asked for and refused.
	FixedBuffers string `json:"fixed_buffers"`
	// RegisteredFiles says that the file was used by its registered index.
	RegisteredFiles bool `json:"registered_files"`
	// RegisteredRing says that the ring was entered by its registered index.
	RegisteredRing bool `json:"registered_ring"`
	// HugePages says that the buffers lie in huge pages.
	HugePages bool `json:"huge_pages"`
	// Vectored says that each command carried a vector.
	Vectored bool `json:"vectored"`
	// RingFlags are the set-up flags that the kernel accepted, without their IORING_SETUP_ prefix.
	RingFlags []string `json:"ring_flags"`
}

// Fixed tells whether commands used registered buffers.
func (e *Effective) Fixed() bool {
	return e.FixedBuffers == FixedWhole || e.FixedBuffers == FixedPerSlot
}

// Equal tells whether two rings ran alike.
func (e *Effective) Equal(o *Effective) bool {
	return e.Polled == o.Polled && e.FixedBuffers == o.FixedBuffers && e.RegisteredFiles == o.RegisteredFiles &&
		e.RegisteredRing == o.RegisteredRing && e.HugePages == o.HugePages && e.Vectored == o.Vectored && slices.Equal(e.RingFlags, o.RingFlags)
}

// Missing names, in the plural, what m asks for and did not take effect.
func (e *Effective) Missing(m Mode) []string {
	flag := func(name string) bool { return slices.Contains(e.RingFlags, name) }
	var out []string
	for _, w := range []struct {
		name      string
		want, got bool
	}{
		{"fixed buffers", m.FixedBuffers, e.Fixed()},
		{"registered files", m.RegisteredFiles, e.RegisteredFiles},
		{"huge pages", m.HugePages, e.HugePages},
		{"vectored commands", m.Vectored, e.Vectored},
		{"submissions by a kernel thread (SQPOLL)", m.SQPoll, flag("SQPOLL")},
		{"submission queues without index array (NO_SQARRAY)", m.Array == ArrayNone || m.Array == ArrayRewind, flag("NO_SQARRAY")},
		{"rewound submission queues (SQ_REWIND)", m.Array == ArrayRewind, flag("SQ_REWIND")},
		{"hybrid polls (HYBRID_IOPOLL)", m.HybridPoll && e.Polled, flag("HYBRID_IOPOLL")},
	} {
		if w.want && !w.got {
			out = append(out, w.name)
		}
	}
	return out
}
