package fixedbuf

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"github.com/nvmepass/nvmepass/internal/sys"
	"github.com/nvmepass/nvmepass/internal/unclosed"
)

// HugePages says whether an arena is to use huge pages.
type HugePages int

// Choices for Config.HugePages.
const (
	// HugeAuto takes transparent huge pages for arenas of at least one huge
	// page. Smaller ones would only waste memory.
	HugeAuto HugePages = iota
	// HugeNever takes base pages.
	HugeNever
	// HugeTLB takes pages from the reserved pool (vm.nr_hugepages) and fails
	// if that does not suffice.
	HugeTLB
)

const (
	hugePageSize = 2 << 20
	// MaxArenaBytes bounds an arena, so that a slip in a size is an error
	// and not an exhausted machine: 1 TiB, or 1 GiB where an int has 32 bits.
	MaxArenaBytes = 1 << (30 + 10*(^uint(0)>>63))
)

// Config is the shape of an arena.
type Config struct {
	// Slots is the number of buffers, at least 1.
	Slots int
	// SlotSize is the usable length of each in bytes, at least 1. The next
	// slot begins at a page boundary.
	SlotSize int
	// Guard puts a page of canary bytes before the first and after every
	// slot; CheckGuards finds what wrote there.
	Guard bool
	// HugePages chooses the page size.
	HugePages HugePages
}

// Arena is the memory. See the package comment for who may touch it when.
type Arena struct {
	mem      []byte // as mapped
	base     int    // offset of slot 0 in mem
	stride   int
	slots    int
	slotSize int
	guard    int
	huge     bool
	closed   bool
	mark     *unclosed.Mark
}

var arenas = unclosed.NewKind("Arena")

// canary is no plausible data: neither zero nor one of the usual fill patterns.
const canary = 0xC5

// New maps an arena, zeroed.
func New(cfg Config) (*Arena, error) {
	page := sys.PageSize()
	if cfg.Slots < 1 || cfg.SlotSize < 1 {
		return nil, fmt.Errorf("make arena of %d slots of %d bytes: both must be at least 1", cfg.Slots, cfg.SlotSize)
	}
	if cfg.HugePages < HugeAuto || cfg.HugePages > HugeTLB {
		return nil, fmt.Errorf("make arena: Config.HugePages %d is none of HugeAuto (%d), HugeNever (%d) and HugeTLB (%d)", cfg.HugePages, HugeAuto, HugeNever, HugeTLB)
	}
	a := &Arena{slots: cfg.Slots, slotSize: cfg.SlotSize}
	if cfg.Guard {
		a.guard = page
	}
	if cfg.SlotSize > MaxArenaBytes || cfg.Slots > MaxArenaBytes/(roundUp(cfg.SlotSize, page)+a.guard) {
		return nil, fmt.Errorf("make arena of %d slots of %d bytes: more than the limit of %d bytes; use fewer or smaller slots", cfg.Slots, cfg.SlotSize, MaxArenaBytes)
	}
	a.stride = roundUp(cfg.SlotSize, page) + a.guard
	length := a.guard + a.slots*a.stride
	var err error
	switch {
	case cfg.HugePages == HugeTLB:
		if a.mem, err = sys.MapAnonymous(roundUp(length, hugePageSize), true); err != nil {
			return nil, fmt.Errorf("map %d bytes of huge pages: %w: raise vm.nr_hugepages (%s are free) or leave the choice to the kernel", roundUp(length, hugePageSize), err, freeHugePages())
		}
		a.huge = true
	case cfg.HugePages == HugeAuto && length >= hugePageSize:
		if a.mem, err = sys.MapAnonymous(length+hugePageSize, false); err == nil {
			a.base = roundUp(int(addressOf(a.mem)%hugePageSize), hugePageSize) - int(addressOf(a.mem)%hugePageSize)
			a.huge = sys.AdviseHugePage(a.mem) == nil
		}
	default:
		a.mem, err = sys.MapAnonymous(length, false)
	}
	if err != nil {
		return nil, fmt.Errorf("map %d bytes: %w: free memory, or use fewer or smaller slots", length, err)
	}
	if err := sys.DontFork(a.mem); err != nil {
		return nil, errors.Join(fmt.Errorf("keep arena out of child processes: %w", err), sys.Unmap(a.mem))
	}
	if a.guard > 0 {
		a.fillGuards()
	}
	if unclosed.On() {
		a.mark = unclosed.Opened(arenas, a, fmt.Sprintf("%d slots of %d bytes", a.slots, a.slotSize))
	}
	return a, nil
}

func freeHugePages() string {
	b, err := os.ReadFile("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages")
	if err != nil {
		return "0"
	}
	return string(bytes.TrimSpace(b))
}

func roundUp(n, unit int) int { return (n + unit - 1) / unit * unit }

// Slots is the number of slots, SlotSize the usable bytes of each.
func (a *Arena) Slots() int { return a.slots }

// SlotSize is the usable length of a slot in bytes.
func (a *Arena) SlotSize() int { return a.slotSize }

// Huge tells whether huge pages were asked for and the kernel agreed; with
// transparent ones it may still use base pages here and there.
func (a *Arena) Huge() bool { return a.huge }

// Bytes is the length of the whole arena.
func (a *Arena) Bytes() int { return a.guard + a.slots*a.stride }

func (a *Arena) offset(slot int) int { return a.base + a.guard + slot*a.stride }

// has tells whether there is such a slot, and memory of it.
func (a *Arena) has(slot int) bool { return uint(slot) < uint(a.slots) && a.mem != nil }

// Slot is the memory of a slot; its capacity ends where the slot ends. It is
// nil if there is no such slot, and after Close.
func (a *Arena) Slot(slot int) []byte {
	if !a.has(slot) {
		return nil
	}
	o := a.offset(slot)
	return a.mem[o : o+a.slotSize : o+a.slotSize]
}

// Addr is the address of a slot, for commands; 0, which no command can use,
// where Slot is nil.
func (a *Arena) Addr(slot int) uint64 {
	if !a.has(slot) {
		return 0
	}
	return addressOf(a.mem) + uint64(a.offset(slot))
}

// guards calls f with each stretch of memory that no command may touch: guard
// pages and what is left of a slot's last page.
func (a *Arena) guards(f func(slot int, b []byte) error) error {
	start := a.base
	for slot := range a.slots {
		if err := f(slot-1, a.mem[start:a.offset(slot)]); err != nil {
			return err
		}
		start = a.offset(slot) + a.slotSize
	}
	return f(a.slots-1, a.mem[start:a.base+a.Bytes()])
}

func (a *Arena) fillGuards() {
	_ = a.guards(func(_ int, b []byte) error {
		for i := range b {
			b[i] = canary
		}
		return nil
	})
}

// CheckGuards reports the first byte outside the slots that was written to. It
// needs Config.Guard and no command in flight.
func (a *Arena) CheckGuards() error {
	if a.guard == 0 {
		return errors.New("check guards: the arena was made without; set Config.Guard")
	}
	if a.mem == nil {
		return fmt.Errorf("check guards: arena: %w", os.ErrClosed)
	}
	return a.guards(func(slot int, b []byte) error {
		for i, c := range b {
			if c != canary {
				return fmt.Errorf("check guards: byte %d after slot %d was overwritten with %#02x: a transfer was longer than its buffer", i, slot, c)
			}
		}
		return nil
	})
}

// Leak keeps the arena mapped until the process ends, because the kernel may
// still write to it. Close then does nothing.
func (a *Arena) Leak() {
	a.closed = true
	a.mark.Closed()
}

// Close unmaps the arena. No command may be in flight.
func (a *Arena) Close() error {
	if a.closed {
		return nil
	}
	a.closed = true
	a.mark.Closed()
	if err := sys.Unmap(a.mem); err != nil {
		return fmt.Errorf("unmap arena of %d bytes: %w", len(a.mem), err)
	}
	a.mem = nil
	return nil
}
