package uringcmd

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/ringtest"
	"github.com/nvmepass/nvmepass/internal/sys"
	"github.com/nvmepass/nvmepass/internal/uapi"
)

// owned makes and enables a ring on a goroutine of its own and runs f there.
func owned(t *testing.T, cfg Config, f func(r *Ring)) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		r, err := New(cfg)
		if !noError(t, err) {
			return
		}
		if !noError(t, r.Enable()) {
			return
		}
		f(r)
		noError(t, r.Close())
	}()
	<-done
}

func noError(t *testing.T, err error) bool {
	t.Helper()
	if err != nil {
		t.Errorf("unexpected error: %v", err)
	}
	return err == nil
}

// nullRing is a ring over /dev/null, which takes uring commands and completes
// them inline: the real kernel without a drive.
func nullRing(t *testing.T, cfg Config, f func(r *Ring)) {
	t.Helper()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	require.NoError(t, err)
	defer null.Close()
	owned(t, cfg, func(r *Ring) {
		if r.owner == 0 {
			return
		}
		for i := range r.Slots() {
			fillNull(r, i, int(null.Fd()))
		}
		f(r)
	})
}

func fillNull(r *Ring, slot, fd int) {
	if r.big != nil {
		*r.BigEntry(slot) = BigSQE{Opcode: uapi.OpURingCmd, FD: int32(fd)}
	} else {
		*r.Entry(slot) = SQE{Opcode: uapi.OpNop}
	}
}

var shapes = []Config{
	{Slots: 1},
	{Slots: 1, Big: true},
	{Slots: 3, Big: true},
	{Slots: 128, Big: true},
	{Slots: 128},
	{Slots: 5, Big: true, Linear: true},
	{Slots: 5, Linear: true},
	{Slots: 5, Big: true, Linear: true, Rewind: true},
	{Slots: 7, Big: true, Without: SingleIssuer},
	{Slots: 7, Big: true, Without: DeferTaskrun},
	{Slots: 7, Big: true, Without: DeferTaskrun | CoopTaskrun | SubmitAll | SingleIssuer, NoRegisteredRing: true},
	{Slots: 7, Big: true, HoldP: true},
}

// TestB36RealRingWraps drives every shape of ring on the running kernel through
// more than three turns of both queues.
func TestB36RealRingWraps(t *testing.T) {
	if _, err := ProbeKernel(); errors.Is(err, ErrDisabled) {
		ringtest.Missing(t, "io_uring", err)
	}
	for _, cfg := range shapes {
		t.Run(fmt.Sprintf("slots=%d/big=%v/flags=%v", cfg.Slots, cfg.Big, cfg.flags()), func(t *testing.T) {
			nullRing(t, cfg, func(r *Ring) {
				dst := make([]Completion, r.Slots())
				seen := map[int]int{}
				rng := rand.New(rand.NewPCG(1, 2))
				for r.Stats().Reaped < uint64(20*r.Slots()) {
					for i := range r.Slots() {
						if !r.Busy(i) && rng.IntN(2) == 0 {
							noError(t, r.Publish(i))
						}
					}
					noError(t, r.Submit(rng.IntN(r.Slots()+1)))
					for _, c := range dst[:r.Reap(dst)] {
						seen[c.Slot]++
						if c.Res != 0 {
							t.Errorf("slot %d: res %d", c.Slot, c.Res)
						}
					}
				}
				if len(seen) != r.Slots() {
					t.Errorf("%d of %d slots completed", len(seen), r.Slots())
				}
				if s := r.Stats(); s.Stale != 0 || s.Dropped != 0 || s.Overflow != 0 || s.Submitted != s.Reaped+uint64(r.InFlight()) {
					t.Errorf("stats do not add up: %+v, %d in flight", s, r.InFlight())
				}
			})
		})
	}
}

// TestB36Strides checks where the kernel looks for entry i and completion i.
func TestB36Strides(t *testing.T) {
	for _, tt := range []struct {
		big      bool
		sqe, cqe uintptr
	}{{false, 64, 16}, {true, 128, 32}} {
		k := &ringtest.Kernel{}
		owned(t, Config{Slots: 4, Big: tt.big, Kernel: k}, func(r *Ring) {
			if tt.sqe != r.sqeSize || tt.cqe != r.cqeSize {
				t.Errorf("big=%v: strides %d and %d", tt.big, r.sqeSize, r.cqeSize)
			}
			if len(r.sqeMem) != 4*int(tt.sqe) {
				t.Errorf("big=%v: %d bytes of submission entries", tt.big, len(r.sqeMem))
			}
			for _, i := range []int{0, 1, 3} {
				if tt.big {
					r.BigEntry(i).Opcode = uint8(0x10 + i)
				} else {
					r.Entry(i).Opcode = uint8(0x10 + i)
				}
				if got := r.sqeMem[uintptr(i)*tt.sqe]; got != uint8(0x10+i) {
					t.Errorf("big=%v: entry %d is not at %d", tt.big, i, uintptr(i)*tt.sqe)
				}
			}
		})
	}
}

// TestWrapOf32Bits starts all positions just below 2^32.
func TestWrapOf32Bits(t *testing.T) {
	for _, cfg := range []Config{{Slots: 3, Big: true}, {Slots: 8}, {Slots: 3, Big: true, Linear: true}} {
		cfg.Kernel = &ringtest.Kernel{StartAt: 0xfffffff0, NeedGetEvents: true}
		owned(t, cfg, func(r *Ring) {
			dst := make([]Completion, 2)
			for range 64 {
				for i := range r.Slots() {
					if !r.Busy(i) {
						noError(t, r.Publish(i))
					}
				}
				noError(t, r.Submit(2))
				if n := r.Reap(dst); n != 2 {
					t.Errorf("reaped %d of 2", n)
				}
			}
			if s := r.Stats(); s.Stale != 0 {
				t.Errorf("stale completions: %+v", s)
			}
		})
	}
}

// TestB02InterruptedEnter: signals and shortages neither lose nor double a
// command, and completions are taken before the wait goes on.
func TestB02InterruptedEnter(t *testing.T) {
	script := []syscall.Errno{syscall.EINTR, syscall.EINTR, syscall.EBUSY, syscall.EAGAIN, 0}
	for _, big := range []bool{false, true} {
		k := &ringtest.Kernel{}
		turn := 0
		k.OnEnter = func(n, _, flags uint32) (int, syscall.Errno) {
			errno := script[turn%len(script)]
			turn++
			if errno != 0 {
				return 0, errno
			}
			return k.Default(n, flags), 0
		}
		owned(t, Config{Slots: 16, Big: big, Kernel: k}, func(r *Ring) {
			dst := make([]Completion, 16)
			total := 0
			for range 10 {
				for i := range 16 {
					noError(t, r.Publish(i))
				}
				noError(t, r.Submit(16))
				n := r.Reap(dst)
				total += n
				if n != 16 {
					t.Errorf("reaped %d of 16", n)
				}
			}
			s := r.Stats()
			if total != 160 || s.Submitted != 160 || len(k.Consumed) != 160 || s.Interrupts == 0 || s.Busy == 0 {
				t.Errorf("total %d, consumed %d, %+v", total, len(k.Consumed), s)
			}
			for _, e := range k.Enters {
				if e.ToSubmit > 16 {
					t.Errorf("asked to submit %d", e.ToSubmit)
				}
			}
		})
	}
}

// TestBusyWithReadyCompletions: EBUSY while completions are there means "reap
// first"; Submit returns, and the rest goes with the next call.
func TestBusyWithReadyCompletions(t *testing.T) {
	k := &ringtest.Kernel{}
	calls := 0
	k.OnEnter = func(n, _, flags uint32) (int, syscall.Errno) {
		calls++
		switch calls {
		case 1:
			return k.Default(2, flags), 0
		case 2:
			return 0, syscall.EBUSY
		}
		return k.Default(n, flags), 0
	}
	owned(t, Config{Slots: 8, Big: true, Kernel: k}, func(r *Ring) {
		for i := range 8 {
			noError(t, r.Publish(i))
		}
		dst := make([]Completion, 8)
		noError(t, r.Submit(8))
		if n := r.Reap(dst); n != 2 {
			t.Errorf("first reap %d", n)
		}
		if r.InFlight() != 6 {
			t.Errorf("in flight %d", r.InFlight())
		}
		noError(t, r.Submit(6))
		if n := r.Reap(dst); n != 6 {
			t.Errorf("second reap %d", n)
		}
	})
}

// TestB05PolledWaitsEnterTheKernel: on a ring whose completions appear only
// inside enter with GETEVENTS, every call carries it but one that only submits.
func TestB05PolledWaitsEnterTheKernel(t *testing.T) {
	for _, refuse := range []Flags{0, DeferTaskrun} { // each of the two flags asks for it alone
		polledWaits(t, refuse)
	}
}

func polledWaits(t *testing.T, refuse Flags) {
	t.Helper()
	k := &ringtest.Kernel{NeedGetEvents: true, RefuseFlags: uint32(refuse)}
	owned(t, Config{Slots: 32, Big: true, IOPoll: true, Kernel: k}, func(r *Ring) {
		dst := make([]Completion, 32)
		for range 10 {
			noError(t, r.Publish(3))
			noError(t, r.Submit(0))
			noError(t, r.Submit(0))
			if n := r.Reap(dst); n != 1 {
				t.Errorf("reaped %d", n)
			}
		}
		for i, e := range k.Enters {
			if only := e.ToSubmit > 0 && e.MinComplete == 0; e.Flags&uapi.EnterGetEvents == 0 != only {
				t.Errorf("enter %d: %+v", i, e)
			}
		}
	})
}

// TestPolledWaitReturnsWithWhatIsThere: the kernel does not poll while unread
// completions are in the queue, so that insisting on more would never end.
func TestPolledWaitReturnsWithWhatIsThere(t *testing.T) {
	k := &ringtest.Kernel{}
	owned(t, Config{Slots: 4, Big: true, IOPoll: true, Kernel: k}, func(r *Ring) {
		k.Answer = func(e ringtest.Entry) (int32, uint64, bool) { return 0, 0, uint32(e.SQE().UserData) == 0 }
		for i := range 4 {
			noError(t, r.Publish(i))
		}
		noError(t, r.Submit(4))
		dst := make([]Completion, 4)
		if n := r.Reap(dst); n != 1 {
			t.Errorf("reaped %d", n)
		}
		for len(k.Held) > 0 {
			k.Release(0, 0)
		}
	})
}

// TestB06PublishedStaysInFlight: nothing is in flight that was refused, and a
// failed enter after publishing leaves the command in flight until its
// completion comes.
func TestB06PublishedStaysInFlight(t *testing.T) {
	k := &ringtest.Kernel{}
	fail := true
	k.OnEnter = func(n, _, flags uint32) (int, syscall.Errno) {
		if fail {
			return 0, syscall.EFAULT
		}
		return k.Default(n, flags), 0
	}
	owned(t, Config{Slots: 4, Big: true, Kernel: k}, func(r *Ring) {
		for _, bad := range []int{-1, 4, math.MaxInt} {
			if r.Publish(bad) == nil {
				t.Errorf("slot %d accepted", bad)
			}
		}
		if r.InFlight() != 0 || r.unsubmitted() != 0 {
			t.Errorf("a refused slot is in flight")
		}
		noError(t, r.Publish(2))
		if err := r.Publish(2); !errors.Is(err, ErrSlotBusy) {
			t.Errorf("published twice: %v", err)
		}
		if err := r.Submit(1); !errors.Is(err, syscall.EFAULT) {
			t.Errorf("got %v", err)
		}
		if r.InFlight() != 1 || !r.Busy(2) {
			t.Errorf("the published command is not in flight any more")
		}
		fail = false
		noError(t, r.Submit(1))
		dst := make([]Completion, 4)
		if n := r.Reap(dst); n != 1 || dst[0].Slot != 2 || r.InFlight() != 0 {
			t.Errorf("reaped %d, in flight %d", n, r.InFlight())
		}
	})
}

// TestStaleCompletions: a completion of an earlier life of a slot, of a slot
// that does not exist or of one that is not in flight is counted, never
// handed out.
func TestStaleCompletions(t *testing.T) {
	k := &ringtest.Kernel{}
	owned(t, Config{Slots: 2, Big: true, Kernel: k}, func(r *Ring) {
		dst := make([]Completion, 8)
		noError(t, r.Publish(0))
		noError(t, r.Submit(1))
		if n := r.Reap(dst); n != 1 {
			t.Errorf("reaped %d", n)
		}
		k.Post(1<<32, 0, 0)   // doubled
		k.Post(0, 0, 0)       // never published
		k.Post(7<<32|9, 0, 0) // no such slot
		if n := r.Reap(dst); n != 0 {
			t.Errorf("handed out %d stale completions", n)
		}
		if s := r.Stats(); s.Stale != 3 {
			t.Errorf("stale: %d", s.Stale)
		}
		noError(t, r.Publish(0))
		noError(t, r.Submit(1))
		if n := r.Reap(dst); n != 1 {
			t.Errorf("the slot is unusable after a stale completion")
		}
	})
}

// TestB37EntriesAreWhole: what reaches the kernel is the slot's entry to the
// last byte, whatever was in the queue's memory before.
func TestB37EntriesAreWhole(t *testing.T) {
	for _, cfg := range []Config{{Slots: 3, Big: true}, {Slots: 3, Big: true, Linear: true}} {
		k := &ringtest.Kernel{}
		cfg.Kernel = k
		owned(t, cfg, func(r *Ring) {
			dst := make([]Completion, 4)
			for i := range 24 {
				want := BigSQE{Opcode: uapi.OpURingCmd, FD: int32(i), Off: 0xc0484e80}
				if i%2 == 1 {
					want.Flags, want.OpFlags, want.BufIndex = uapi.SQEFixedFile, uapi.URingCmdFixed, uint16(i)
				}
				for j := range i {
					want.Cmd[j] = byte(j + 1)
				}
				slot := i % 3
				*r.BigEntry(slot) = want
				noError(t, r.Publish(slot))
				noError(t, r.Submit(1))
				r.Reap(dst)
				got := k.Consumed[i].Image
				want.UserData = k.Consumed[i].SQE().UserData
				if string(got) != string(imageOf(&want)) {
					t.Errorf("entry %d:\n got %x\nwant %x", i, got, imageOf(&want))
				}
			}
			seen := map[uint64]bool{}
			for _, e := range k.Consumed {
				if ud := e.SQE().UserData; seen[ud] {
					t.Errorf("user_data %#x used twice", ud)
				} else {
					seen[ud] = true
				}
			}
		})
	}
}

// TestB03WrongThread: a call from a thread that does not own the ring is a
// named error on every kind of ring, and the owner goes on undisturbed.
func TestB03WrongThread(t *testing.T) {
	if _, err := ProbeKernel(); errors.Is(err, ErrDisabled) {
		ringtest.Missing(t, "io_uring", err)
	}
	for _, cfg := range []Config{
		{Slots: 4, Big: true},
		{Slots: 4, Big: true, NoRegisteredRing: true},
		{Slots: 4, Big: true, Without: SingleIssuer},
		{Slots: 4, Big: true, Without: SingleIssuer, NoRegisteredRing: true},
	} {
		nullRing(t, cfg, func(r *Ring) {
			noError(t, r.Publish(0))
			fromElsewhere := make(chan error, 3)
			go func() {
				// A ring of its own must not be entered in place of r.
				other, err := New(Config{Slots: 2, Big: true})
				if noError(t, err) && noError(t, other.Enable()) {
					defer other.Close()
				}
				fromElsewhere <- r.Submit(1)
				fromElsewhere <- r.Close()
				fromElsewhere <- r.RegisterFiles([]int{0})
			}()
			for range 3 {
				if err := <-fromElsewhere; !errors.Is(err, ErrWrongThread) {
					t.Errorf("%+v: got %v", cfg, err)
				}
			}
			noError(t, r.Submit(1))
			// With the completion ready, Submit has nothing to ask the kernel.
			go func() { fromElsewhere <- r.Submit(1) }()
			if err := <-fromElsewhere; !errors.Is(err, ErrWrongThread) {
				t.Errorf("%+v: with a completion ready: got %v", cfg, err)
			}
			dst := make([]Completion, 1)
			if r.Reap(dst) != 1 || dst[0].Res != 0 {
				t.Errorf("the owner's command is lost")
			}
		})
	}
}

// TestB03ThreadChurn: threads that end must not take a ring's completions along.
func TestB03ThreadChurn(t *testing.T) {
	if _, err := ProbeKernel(); errors.Is(err, ErrDisabled) {
		ringtest.Missing(t, "io_uring", err)
	}
	stop := make(chan struct{})
	churned := make(chan int)
	go func() {
		n := 0
		for {
			select {
			case <-stop:
				churned <- n
				return
			default:
			}
			ended := make(chan struct{})
			go func() {
				runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
				close(ended)
			}()
			<-ended
			n++
		}
	}()
	nullRing(t, Config{Slots: 32, Big: true}, func(r *Ring) {
		dst := make([]Completion, 32)
		for range 2000 {
			for i := range 32 {
				noError(t, r.Publish(i))
			}
			noError(t, r.Submit(32))
			if n := r.Reap(dst); n != 32 {
				t.Errorf("reaped %d", n)
			}
			runtime.Gosched()
		}
	})
	close(stop)
	require.Positive(t, <-churned)
}

// TestCloseBeforeEnable: the kernel never saw what was published.
func TestCloseBeforeEnable(t *testing.T) {
	k := &ringtest.Kernel{}
	r, err := New(Config{Slots: 2, Big: true, Kernel: k})
	require.NoError(t, err)
	require.NoError(t, r.Publish(1))
	require.NoError(t, r.Close())
	require.Equal(t, 1, k.Closed)
	require.Equal(t, 2, k.Unmapped)
}

func TestLifeCycleErrors(t *testing.T) {
	r, err := New(Config{Slots: 2, Big: true, Kernel: &ringtest.Kernel{}})
	require.NoError(t, err)
	require.ErrorIs(t, r.Submit(0), ErrNotEnabled)
	require.NoError(t, r.Close())
	require.NoError(t, r.Close(), "closing twice does nothing")
	require.ErrorIs(t, r.Submit(0), ErrClosed)
	require.Zero(t, r.Reap(make([]Completion, 1)))
	require.Zero(t, r.Ready())
	require.ErrorIs(t, r.Publish(0), ErrClosed)
	require.ErrorIs(t, r.Enable(), ErrClosed)
	require.ErrorIs(t, r.RegisterFiles([]int{1}), ErrClosed)

	for _, slots := range []int{-1, 0, MaxSlots + 1} {
		_, err := New(Config{Slots: slots})
		require.ErrorContains(t, err, fmt.Sprint(slots))
		require.ErrorContains(t, err, "32768")
	}
	_, err = New(Config{Slots: 1, Rewind: true})
	require.ErrorContains(t, err, "NO_SQARRAY")
	_, err = New(Config{Slots: 1, StallLimit: -1})
	require.ErrorContains(t, err, "negative")
}

func TestLadder(t *testing.T) {
	full := Config{Slots: 1, Big: true, Linear: true, Rewind: true}
	optional := []Flags{SQRewind, NoSQArray, DeferTaskrun, SingleIssuer, CoopTaskrun, SubmitAll}
	for i, refused := range optional {
		k := &ringtest.Kernel{RefuseFlags: uint32(refused)}
		cfg := full
		cfg.Kernel = k
		r, err := New(cfg)
		require.NoError(t, err, refused)
		require.Equal(t, full.flags(), r.Requested())
		require.Zero(t, r.Flags()&refused)
		for _, kept := range optional[i+1:] {
			require.NotZero(t, r.Flags()&kept, "without %v the older %v stays", refused, kept)
		}
		require.NoError(t, r.Close())
	}
	for _, essential := range []Flags{SQE128, CQE32, RDisabled} {
		cfg := full
		cfg.Kernel = &ringtest.Kernel{RefuseFlags: uint32(essential)}
		_, err := New(cfg)
		require.ErrorIs(t, err, ErrNotSupported)
		require.ErrorIs(t, err, syscall.EINVAL)
	}
	for _, errno := range []syscall.Errno{syscall.EPERM, syscall.ENOSYS} {
		_, err := New(Config{Slots: 1, Kernel: &ringtest.Kernel{SetupErr: errno}})
		require.ErrorIs(t, err, ErrDisabled)
		require.ErrorIs(t, err, errno)
	}
	_, err := New(Config{Slots: 1, Kernel: &ringtest.Kernel{SetupErr: syscall.ENOMEM}})
	require.ErrorContains(t, err, "ulimit -l")
	require.Equal(t, "SQE128|CQE32", (SQE128 | CQE32).String())
}

func TestRegisterErrors(t *testing.T) {
	k := &ringtest.Kernel{RegisterErr: map[uint32]error{uapi.RegisterBuffers: syscall.ENOMEM}}
	r, err := New(Config{Slots: 1, Big: true, Kernel: k})
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close()) }()
	require.ErrorIs(t, r.RegisterBuffers([][]byte{make([]byte, 10)}), syscall.ENOMEM)
	require.ErrorContains(t, r.RegisterBuffers(nil), "1 to 16384")
	require.ErrorContains(t, r.RegisterBuffers([][]byte{{}}), "buffer 0 of 0 bytes")
	require.Error(t, r.RegisterFiles(nil))
	require.NoError(t, r.RegisterFiles([]int{1}))
	require.ErrorContains(t, r.RegisterFiles([]int{1}), "already")
	require.NoError(t, r.UnregisterBuffers())

	k.RegisterErr = nil
	require.NoError(t, r.RegisterBuffers([][]byte{make([]byte, 10)}))
	require.NoError(t, r.UnregisterBuffers())
}

// TestB44StallLeaks: a command that never completes ends waits after the stall
// limit, and Close leaves everything mapped and says so.
func TestB44StallLeaks(t *testing.T) {
	k := &ringtest.Kernel{Answer: func(ringtest.Entry) (int32, uint64, bool) { return 0, 0, false }}
	k.OnEnter = func(n, _, flags uint32) (int, syscall.Errno) {
		time.Sleep(time.Millisecond)
		return k.Default(n, flags), syscall.EINTR
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		r, err := New(Config{Slots: 2, Big: true, Kernel: k, StallLimit: 20 * time.Millisecond})
		if !noError(t, err) || !noError(t, r.Enable()) {
			return
		}
		noError(t, r.Publish(1))
		err = r.Submit(1)
		if !errors.Is(err, ErrStalled) {
			t.Errorf("got %v", err)
		}
		var leak *LeakError
		if err := r.Close(); !errors.As(err, &leak) || leak.InFlight != 1 || !errors.Is(err, ErrStalled) {
			t.Errorf("got %v", err)
		}
		if k.Closed != 0 || k.Unmapped != 0 {
			t.Errorf("torn down under a command in flight")
		}
	}()
	<-done
}

// TestWatchdogInterruptsSleepingWait: with the real kernel, a wait that nothing
// completes ends by the watchdog's signal and the stall limit.
func TestWatchdogInterruptsSleepingWait(t *testing.T) {
	if _, err := ProbeKernel(); errors.Is(err, ErrDisabled) {
		ringtest.Missing(t, "io_uring", err)
	}
	rd, wr, err := os.Pipe()
	require.NoError(t, err)
	defer wr.Close()
	defer rd.Close()
	for _, hold := range []bool{false, true} {
		owned(t, Config{Slots: 1, HoldP: hold, StallLimit: 50 * time.Millisecond}, func(r *Ring) {
			buf, err := sys.MapAnonymous(4096, false)
			noError(t, err)
			*r.Entry(0) = SQE{Opcode: uapi.OpRead, FD: int32(rd.Fd()), Addr: addressOf(buf), Len: 1}
			noError(t, r.Publish(0))
			if err := r.Submit(1); !errors.Is(err, ErrStalled) {
				t.Errorf("hold=%v: got %v", hold, err)
			}
			_, err = wr.Write([]byte{1})
			noError(t, err)
			noError(t, r.Submit(1))
			var c [1]Completion
			if r.Reap(c[:]) != 1 || c[0].Res != 1 {
				t.Errorf("hold=%v: %+v", hold, c)
			}
		})
	}
}

// TestHotPathDoesNotAllocate: publish, submit and reap cost no memory.
func TestHotPathDoesNotAllocate(t *testing.T) {
	if _, err := ProbeKernel(); errors.Is(err, ErrDisabled) {
		ringtest.Missing(t, "io_uring", err)
	}
	for _, cfg := range shapes {
		nullRing(t, cfg, func(r *Ring) {
			dst := make([]Completion, r.Slots())
			allocs := testing.AllocsPerRun(100, func() {
				for i := range r.Slots() {
					_ = r.Publish(i)
				}
				_ = r.Submit(r.Slots())
				r.Reap(dst)
			})
			if allocs != 0 {
				t.Errorf("%+v: %v allocations per batch", cfg, allocs)
			}
		})
	}
}

func TestProbe(t *testing.T) {
	p, err := ProbeKernel()
	if errors.Is(err, ErrDisabled) {
		ringtest.Missing(t, "io_uring", err)
	}
	require.NoError(t, err)
	require.True(t, p.Supports(uapi.OpNop))
	require.NotZero(t, p.Flags&RDisabled)
	require.False(t, p.Supports(250))

	old := &ringtest.Kernel{RefuseFlags: uint32(SQE128 | CQE32 | SingleIssuer)}
	p, err = probe(old)
	require.NoError(t, err)
	require.Zero(t, p.Flags&(SQE128|CQE32|SingleIssuer|DeferTaskrun))
	require.NotZero(t, p.Flags&CoopTaskrun)
	_, err = probe(&ringtest.Kernel{SetupErr: syscall.EPERM})
	require.ErrorIs(t, err, ErrDisabled)
}

func BenchmarkNull(b *testing.B) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	require.NoError(b, err)
	defer null.Close()
	for _, mode := range []string{"array", "linear", "rewind"} {
		for _, d := range [][2]int{{1, 1}, {8, 2}, {16, 4}, {128, 32}} {
			b.Run(fmt.Sprintf("mode=%s/qd=%d/batch=%d", mode, d[0], d[1]), func(b *testing.B) {
				r, err := New(Config{Slots: d[0], Big: true, Linear: mode != "array", Rewind: mode == "rewind", HoldP: true})
				require.NoError(b, err)
				require.NoError(b, r.RegisterFiles([]int{int(null.Fd())}))
				require.NoError(b, r.Enable())
				defer r.Close()
				for i := range d[0] {
					*r.BigEntry(i) = BigSQE{Opcode: uapi.OpURingCmd, Flags: uapi.SQEFixedFile}
				}
				dst := make([]Completion, d[0])
				b.ResetTimer()
				for n := 0; n < b.N; n += d[1] {
					for i := range d[1] {
						_ = r.Publish(i)
					}
					_ = r.Submit(d[1])
					r.Reap(dst)
				}
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "IOPS")
			})
		}
	}
}

// TestB39InFlightNeverExceedsTheCQ: every slot's completion fits the queue at
// once, also twice over, and a slot cannot be published again before its
// completion was reaped.
func TestB39InFlightNeverExceedsTheCQ(t *testing.T) {
	for _, slots := range []int{1, 3, 64} {
		k := &ringtest.Kernel{}
		owned(t, Config{Slots: slots, Big: true, Kernel: k}, func(r *Ring) {
			if int(r.cqMask)+1 < 2*slots {
				t.Errorf("%d slots, but %d completion entries", slots, r.cqMask+1)
			}
			for i := range slots {
				noError(t, r.Publish(i))
			}
			noError(t, r.Submit(slots))
			for i := range slots {
				if err := r.Publish(i); !errors.Is(err, ErrSlotBusy) {
					t.Errorf("slot %d published anew with its completion unread: %v", i, err)
				}
			}
			if n := r.Reap(make([]Completion, slots+1)); n != slots || r.Stats().Overflow != 0 {
				t.Errorf("reaped %d of %d, %+v", n, slots, r.Stats())
			}
		})
	}
}

// TestShortageBringsCompletionsToLight: who is told that the kernel is short must
// not only try again, because it may be short of what completions give back, and
// those may wait for a call that asks for them. A call that is refused does not
// get as far (io_uring/io_uring.c, io_uring_enter).
func TestShortageBringsCompletionsToLight(t *testing.T) {
	for _, polled := range []bool{false, true} {
		for _, turns := range []bool{false, true} {
			k := &ringtest.Kernel{NeedGetEvents: true}
			held, seen := 0, false // requests of the kernel, which has two
			k.OnEnter = func(n, _, flags uint32) (int, syscall.Errno) {
				if n > 0 && held == 2 {
					return -1, syscall.EAGAIN
				}
				n = uint32(k.Default(min(n, uint32(2-held)), flags))
				if held += int(n); flags&uapi.EnterGetEvents != 0 {
					held, seen = 0, true
				}
				return int(n), 0
			}
			owned(t, Config{Slots: 5, Big: true, IOPoll: polled, HoldP: true, StallLimit: time.Second, Kernel: k}, func(r *Ring) {
				l := Loop{Batch: 1, Wait: 1, Take: 4, TakeFull: 4, Free: []int{0, 1, 2, 3, 4}}
				got := 0
				for i := range 6 {
					if turns {
						_, err := r.Turns([]uint64{1}, 48, &l)
						noError(t, err)
						got = int(l.Succeeded)
						continue
					}
					if i < 3 {
						noError(t, r.Publish(i))
					}
					noError(t, r.submit(0, false))
					got += r.Reap(make([]Completion, 4))
				}
				if !seen || got < 2 || r.Stats().Busy == 0 {
					t.Errorf("polled %v, turns %v: %d completions, %+v", polled, turns, got, r.Stats())
				}
				noError(t, r.Submit(r.InFlight()))
				r.Reap(make([]Completion, 4))
			})
		}
	}
}
