package fixedbuf

import (
	"errors"
	"fmt"
	"syscall"
)

// Mode is how an arena is known to a ring.
type Mode int

// Modes, best first.
const (
	// Whole: few long buffers that hold all slots.
	Whole Mode = iota
	// PerSlot: a buffer per slot, of exactly SlotSize bytes. Only commands of
	// that size can use it; shorter ones go as plain ones.
	PerSlot
	// Plain: nothing is registered.
	Plain
)

// String is the mode's name in reports.
func (m Mode) String() string {
	if m < Whole || m > Plain {
		return fmt.Sprintf("mode %d", int(m))
	}
	return [...]string{"whole", "per-slot", "plain"}[m]
}

// Registrar is the part of a ring that Bind needs; *uringcmd.Ring is one.
type Registrar interface {
	RegisterBuffers(bufs [][]byte) error
	UnregisterBuffers() error
}

// Limits of the kernel (io_uring/rsrc.c).
const (
	maxBufferBytes = 1 << 30
	maxBuffers     = 1 << 14
)

// Buffers is an arena bound to a ring.
type Buffers struct {
	*Arena
	mode     Mode
	reason   string
	perPiece int // slots in one registered buffer
}

// Mode is how commands can name the slots.
func (b *Buffers) Mode() Mode { return b.mode }

// Reason says why the mode is not Whole, "" if it is or nothing was to be
// registered.
func (b *Buffers) Reason() string { return b.reason }

// Fixed gives the registered buffer that holds a command's n bytes at the start
// of a slot; ok is false if the command has to go as a plain one.
func (b *Buffers) Fixed(slot, n int) (index uint16, ok bool) {
	if !b.has(slot) {
		return 0, false
	}
	switch b.mode {
	case Whole:
		return uint16(slot / b.perPiece), true
	case PerSlot:
		return uint16(slot), n == b.slotSize
	}
	return 0, false
}

// BindPlain makes an arena that is not registered.
func BindPlain(cfg Config) (*Buffers, error) {
	a, err := New(cfg)
	if err != nil {
		return nil, err
	}
	return &Buffers{Arena: a, mode: Plain}, nil
}

// Bind makes an arena, registers it in the best mode that works, and proves the
// mode with try, which performs a real read into it: EINVAL or EFAULT from it
// means that the kernel could not use the registration, any other outcome (an
// error status of the drive, too) that it could.
//
// Bind fails only if not even plain memory can be had.
func Bind(ring Registrar, cfg Config, try func(*Buffers) error) (*Buffers, error) {
	var reasons error
	for _, attempt := range []struct {
		mode Mode
		huge HugePages
	}{{Whole, cfg.HugePages}, {PerSlot, HugeNever}} {
		if attempt.mode == PerSlot && cfg.HugePages == HugeTLB {
			continue // asked for huge pages by name: do not swap them silently
		}
		c := cfg
		c.HugePages = attempt.huge
		b, err := bindAs(ring, c, attempt.mode, try)
		if err == nil {
			if reasons != nil {
				b.reason = reasons.Error()
			}
			return b, nil
		}
		if errors.Is(err, errNoMemory) {
			return nil, err
		}
		reasons = errors.Join(reasons, fmt.Errorf("%v: %w", attempt.mode, err))
	}
	b, err := BindPlain(cfg)
	if err != nil {
		return nil, err
	}
	b.reason = reasons.Error()
	return b, nil
}

var errNoMemory = errors.New("no arena")

func bindAs(ring Registrar, cfg Config, mode Mode, try func(*Buffers) error) (*Buffers, error) {
	a, err := New(cfg)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoMemory, err)
	}
	b := &Buffers{Arena: a, mode: mode}
	bufs, err := b.pieces()
	if err == nil {
		err = ring.RegisterBuffers(bufs)
	}
	if err != nil {
		return nil, errors.Join(err, a.Close())
	}
	err = try(b)
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.EFAULT) {
		err = fmt.Errorf("the kernel refuses a read into a %s registration: %w", mode, err)
		if uerr := ring.UnregisterBuffers(); uerr != nil {
			a.Leak() // still registered: the pages must stay
			return nil, errors.Join(err, uerr)
		}
		return nil, errors.Join(err, a.Close())
	}
	return b, nil
}

// pieces cuts the arena into buffers to register. No slot lies in two.
func (b *Buffers) pieces() ([][]byte, error) {
	if b.mode == PerSlot {
		if b.slots > maxBuffers {
			return nil, fmt.Errorf("register %d slots one by one: the kernel takes %d buffers; use fewer slots", b.slots, maxBuffers)
		}
		bufs := make([][]byte, b.slots)
		for i := range bufs {
			bufs[i] = b.Slot(i)
		}
		return bufs, nil
	}
	if b.slotSize > maxBufferBytes {
		return nil, fmt.Errorf("register slots of %d bytes: the kernel takes buffers of at most %d; use smaller slots", b.slotSize, maxBufferBytes)
	}
	b.perPiece = min(b.slots, max(1, maxBufferBytes/b.stride))
	var bufs [][]byte
	for first := 0; first < b.slots; first += b.perPiece {
		last := min(first+b.perPiece, b.slots) - 1
		bufs = append(bufs, b.mem[b.offset(first):b.offset(last)+b.slotSize])
	}
	return bufs, nil
}
