package uringcmd

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"syscall"
	"time"

	"github.com/nvmepass/nvmepass/internal/sys"
	"github.com/nvmepass/nvmepass/internal/uapi"
	"github.com/nvmepass/nvmepass/internal/unclosed"
)

var rings = unclosed.NewKind("Ring")

// MaxSlots is the largest number of slots of one ring (IORING_MAX_ENTRIES).
const MaxSlots = uapi.MaxEntries

// DefaultStallLimit is longer than the NVMe driver's own time-out (30 s, module
// parameter io_timeout) plus the abort that follows, so that the driver's
// verdict comes first.
const DefaultStallLimit = 75 * time.Second

// Config says what ring to make. The zero value of each field but Slots is a
// good default.
type Config struct {
	// Slots is the number of commands that can be in flight, 1 to MaxSlots.
	Slots int
	// Big asks for 128-byte submission and 32-byte completion entries, which
	// NVMe's uring commands need. Otherwise they have 64 and 16 bytes.
	Big bool
	// IOPoll makes the kernel poll for completions. Every file of the ring
	// must be able to poll, and only reads, writes and commands are accepted.
	IOPoll bool
	// Linear asks for NO_SQARRAY: a published slot's entry is copied to the
	// next place of the submission queue instead of being named in an index
	// array. Rewind asks for SQ_REWIND as well: each batch starts at place 0.
	Linear, Rewind bool
	// HybridPoll asks a polled ring to sleep for part of the time that
	// commands took so far before it polls.
	HybridPoll bool
	// SQPoll hands submission to a kernel thread; nil keeps it in Submit.
	SQPoll *SQPoll
	// Without names optional flags that are not to be tried.
	Without Flags
	// NoRegisteredRing keeps the ring's descriptor out of the thread's table
	// of registered rings.
	NoRegisteredRing bool
	// HoldP keeps the scheduler's P while an interrupt-driven wait sleeps.
	// It saves a hand-over per wait and costs other goroutines one P; a
	// signal of the runtime cuts each such sleep after about 10 ms, and the
	// wait goes on. Polled waits never sleep and always hold the P.
	HoldP bool
	// StallLimit bounds every wait: with commands in flight and no
	// completion for that long, Submit returns ErrStalled.
	// 0 is DefaultStallLimit.
	StallLimit time.Duration
	// Kernel replaces the running kernel in fault tests.
	Kernel sys.RingKernel
}

// SQPoll says how the kernel's submission thread behaves. The thread takes what
// was published without a system call, and keeps a CPU busy while it does.
type SQPoll struct {
	// Idle is how long the thread looks for work before it sleeps, in whole
	// milliseconds up to 49 days; 0 is the kernel's default of one second.
	Idle time.Duration
	// Pinned keeps the thread on CPU.
	Pinned bool
	CPU    int
}

func (s *SQPoll) check() error {
	switch {
	case s.Idle < 0 || s.Idle%time.Millisecond != 0 || s.Idle.Milliseconds() > math.MaxUint32:
		return fmt.Errorf("set up ring: SQPOLL idle time %v: need whole milliseconds, 0 to %d", s.Idle, uint32(math.MaxUint32))
	case s.Pinned && (s.CPU < 0 || s.CPU > math.MaxInt32):
		return fmt.Errorf("set up ring: SQPOLL CPU %d: need the number of a CPU, from 0", s.CPU)
	}
	return nil
}

func (c *Config) check() error {
	if c.Slots < 1 || c.Slots > MaxSlots {
		return fmt.Errorf("set up ring: %d slots: need 1 to %d", c.Slots, MaxSlots)
	}
	if c.StallLimit < 0 {
		return fmt.Errorf("set up ring: stall limit %v is negative: use 0 for the default of %v", c.StallLimit, DefaultStallLimit)
	}
	if c.Rewind && !c.Linear {
		return errors.New("set up ring: SQ_REWIND needs NO_SQARRAY: set Linear as well as Rewind")
	}
	if c.HybridPoll && !c.IOPoll {
		return errors.New("set up ring: HYBRID_IOPOLL needs IOPOLL: set IOPoll as well as HybridPoll")
	}
	if c.SQPoll == nil {
		return nil
	}
	if c.Rewind {
		return errors.New("set up ring: the kernel takes no SQ_REWIND with SQPOLL: leave out one of the two")
	}
	return c.SQPoll.check()
}

func (c *Config) flags() Flags {
	f := RDisabled | CQSize | SubmitAll | CoopTaskrun | SingleIssuer | DeferTaskrun
	if c.Big {
		f |= SQE128 | CQE32
	}
	if c.IOPoll {
		f |= IOPoll
	}
	if c.HybridPoll {
		f |= HybridIOPoll
	}
	if c.SQPoll != nil {
		f |= SQPollThread
		f &^= CoopTaskrun | DeferTaskrun // which the kernel refuses beside it
		if c.SQPoll.Pinned {
			f |= SQAffinity
		}
	}
	if c.Linear {
		f |= NoSQArray
	}
	if c.Rewind {
		f |= SQRewind
	}
	const essential = RDisabled | CQSize | SQE128 | CQE32 | IOPoll | SQPollThread | SQAffinity
	f &^= c.Without &^ essential
	if f&SingleIssuer == 0 {
		f &^= DeferTaskrun
	}
	if f&NoSQArray == 0 {
		f &^= SQRewind
	}
	return f
}

// New makes a ring, disabled: files and buffers can be registered from any
// thread, commands only after Enable. Optional flags that the kernel does not
// know are dropped, newest first; Ring.Flags tells what is left.
func New(cfg Config) (*Ring, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	if cfg.Kernel == nil {
		cfg.Kernel = sys.Linux{}
	}
	if cfg.StallLimit == 0 {
		cfg.StallLimit = DefaultStallLimit
	}
	entries := uint32(1) << bits.Len32(uint32(cfg.Slots)-1)
	want := cfg.flags()

	var p uapi.Params
	fd := -1
	setup := func() (err error) {
		for _, flags := range ladder(want) {
			p = uapi.Params{Flags: uint32(flags), CQEntries: 2 * entries}
			if s := cfg.SQPoll; s != nil {
				p.SQThreadIdle = uint32(s.Idle.Milliseconds())
				if s.Pinned {
					p.SQThreadCPU = uint32(s.CPU)
				}
			}
			if fd, err = cfg.Kernel.Setup(entries, &p); !errors.Is(err, syscall.EINVAL) {
				break
			}
		}
		return err
	}
	_, linux := cfg.Kernel.(sys.Linux)
	attempt := setup
	if linux {
		attempt = func() error { return patiently(setup) }
	}
	if err := attempt(); err != nil {
		return nil, setupError(err, &cfg, entries)
	}
	r := &Ring{kernel: cfg.Kernel, linux: linux, cfg: cfg, fd: fd, enterFD: uint32(fd), ringIndex: -1, requested: want, flags: Flags(p.Flags), features: p.Features}
	if err := r.mapMemory(&p); err != nil {
		return nil, errors.Join(err, cfg.Kernel.Close(fd))
	}
	if unclosed.On() {
		r.mark = unclosed.Opened(rings, r, fmt.Sprintf("%d slots", cfg.Slots))
	}
	return r, nil
}

// Usable returns nil if this process can make rings for uring commands, else the
// error of making one: ErrDisabled or ErrNotSupported by errors.Is, or what the
// process lacks.
func Usable() error {
	r, err := New(Config{Slots: 1, Big: true})
	if err != nil {
		return err
	}
	return r.Close()
}

func setupError(err error, cfg *Config, entries uint32) error {
	switch {
	case errors.Is(err, syscall.EPERM), errors.Is(err, syscall.ENOSYS):
		return disabledError(err)
	case errors.Is(err, syscall.EINVAL) && cfg.SQPoll != nil && cfg.SQPoll.Pinned:
		return fmt.Errorf("set up ring with a submission thread on CPU %d: %w: choose a CPU that is online and in this process's set", cfg.SQPoll.CPU, err)
	case errors.Is(err, syscall.EINVAL) && cfg.Big:
		return fmt.Errorf("set up ring: %w: %w", err, &UnsupportedError{"a ring with 128-byte submission and 32-byte completion entries", "5.19"})
	case errors.Is(err, syscall.EINVAL):
		return fmt.Errorf("set up ring: %w: %w", err, &UnsupportedError{"a ring that starts disabled", "5.10"})
	case errors.Is(err, syscall.ENOMEM):
		return fmt.Errorf("set up ring with %d entries: %w: free memory, close other rings, or raise RLIMIT_MEMLOCK (ulimit -l), against which kernels before 5.12, and newer ones such as 6.18, count rings", entries, err)
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return fmt.Errorf("set up ring: %w: close files, or raise the limit of open files (ulimit -n)", err)
	}
	return fmt.Errorf("set up ring with %d entries: %w", entries, err)
}
