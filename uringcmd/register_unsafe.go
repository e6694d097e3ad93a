package uringcmd

import (
	"errors"
	"fmt"
	"runtime"
	"syscall"
	"unsafe"

	"github.com/nvmepass/nvmepass/internal/sys"
	"github.com/nvmepass/nvmepass/internal/uapi"
)

// MaxBuffers is the largest number of registered buffers of a ring, and
// MaxBufferBytes the longest one.
const (
	MaxBuffers     = uapi.MaxRegisteredBuffers
	MaxBufferBytes = uapi.MaxBufferBytes
)

// RegisterFiles makes descriptors known to the ring: entries with
// IOSQE_FIXED_FILE name them by their place in fds. The descriptors stay the
// caller's.
func (r *Ring) RegisterFiles(fds []int) error {
	if err := r.mayRegister("register files"); err != nil {
		return err
	}
	if len(fds) == 0 {
		return errors.New("register files: none given")
	}
	if r.registeredFiles > 0 {
		return fmt.Errorf("register files: the ring has %d registered files already: it takes one set in its life", r.registeredFiles)
	}
	table := make([]int32, len(fds))
	for i, fd := range fds {
		table[i] = int32(fd)
	}
	if _, err := r.kernel.Register(r.fd, uapi.RegisterFiles, unsafe.Pointer(&table[0]), uint32(len(table))); err != nil {
		return fmt.Errorf("register %d files: %w", len(fds), err)
	}
	r.registeredFiles = len(fds)
	return nil
}

// RegisterBuffers pins memory for fixed-buffer commands, which name a buffer by
// its place in bufs. Each is 1 byte to MaxBufferBytes long, at most MaxBuffers
// in all. The memory must stay mapped until UnregisterBuffers or Close.
//
// ENOMEM means that RLIMIT_MEMLOCK does not suffice; the error says how much
// is set and needed.
func (r *Ring) RegisterBuffers(bufs [][]byte) error {
	if err := r.mayRegister("register buffers"); err != nil {
		return err
	}
	if len(bufs) == 0 || len(bufs) > MaxBuffers {
		return fmt.Errorf("register %d buffers: need 1 to %d", len(bufs), MaxBuffers)
	}
	var total uint64
	table := make([]uapi.Iovec, len(bufs))
	for i, b := range bufs {
		if len(b) == 0 || len(b) > MaxBufferBytes {
			return fmt.Errorf("register buffer %d of %d bytes: need 1 to %d", i, len(b), MaxBufferBytes)
		}
		table[i] = uapi.Iovec{Base: uint64(uintptr(unsafe.Pointer(&b[0]))), Len: uint64(len(b))}
		total += uint64(len(b))
	}
	register := func() error {
		_, err := r.kernel.Register(r.fd, uapi.RegisterBuffers, unsafe.Pointer(&table[0]), uint32(len(table)))
		return err
	}
	attempt := register
	if r.linux {
		attempt = func() error { return patiently(register) }
	}
	err := attempt()
	runtime.KeepAlive(bufs)
	switch {
	case errors.Is(err, syscall.ENOMEM):
		return fmt.Errorf("register %d buffers: %w: %s", len(bufs), err, memlockAdvice(total))
	case err != nil:
		return fmt.Errorf("register %d buffers of %d bytes in all: %w", len(bufs), total, err)
	}
	r.registeredBuffers = len(bufs)
	return nil
}

func memlockAdvice(need uint64) string {
	limit, err := sys.MemlockLimit()
	if err != nil || limit == ^uint64(0) || sys.HaveIPCLock() {
		return fmt.Sprintf("%d bytes could not be pinned: free memory or use fewer or smaller buffers", need)
	}
	return fmt.Sprintf("%d bytes have to be pinned and RLIMIT_MEMLOCK is %d bytes for all of this user's rings: raise it (ulimit -l %d, or LimitMEMLOCK= of the service), give CAP_IPC_LOCK, or use fewer or smaller buffers",
		need, limit, (limit+need+1023)/1024)
}

// UnregisterBuffers unpins them. No command that uses one may be in flight.
func (r *Ring) UnregisterBuffers() error {
	if r.registeredBuffers == 0 {
		return nil
	}
	if err := r.mayRegister("unregister buffers"); err != nil {
		return err
	}
	if r.inFlight > 0 {
		return fmt.Errorf("unregister buffers: %d commands are in flight: reap them first", r.inFlight)
	}
	if _, err := r.kernel.Register(r.fd, uapi.UnregisterBuffers, nil, 0); err != nil {
		return fmt.Errorf("unregister buffers: %w", err)
	}
	r.registeredBuffers = 0
	return nil
}

func (r *Ring) mayRegister(op string) error {
	if r.closed {
		return r.unusable(op)
	}
	if r.owner != 0 && sys.ThreadID() != r.owner {
		return r.wrongThread(op, nil)
	}
	return nil
}

// registerRing puts the ring's descriptor into the owner thread's table. It is
// an optimisation: where it fails, the plain descriptor serves.
func (r *Ring) registerRing() {
	i := takeRingIndex()
	if i < 0 {
		return
	}
	up := uapi.RsrcUpdate{Offset: uint32(i), Data: uint64(r.fd)}
	if n, err := r.kernel.Register(r.fd, uapi.RegisterRingFDs, unsafe.Pointer(&up), 1); err != nil || n != 1 {
		giveRingIndex(i)
		return
	}
	r.ringIndex, r.enterFD = i, uint32(i)
}

func (r *Ring) unregisterRing() error {
	up := uapi.RsrcUpdate{Offset: uint32(r.ringIndex)}
	_, err := r.kernel.Register(r.fd, uapi.UnregisterRingFDs, unsafe.Pointer(&up), 1)
	giveRingIndex(r.ringIndex)
	r.ringIndex, r.enterFD = -1, uint32(r.fd)
	if err != nil {
		return fmt.Errorf("unregister ring: %w", err)
	}
	return nil
}

// Probe tells what io_uring of the running kernel offers.
type Probe struct {
	Flags    Flags     // of those that this package knows, the ones that set-up accepts
	Features uint32    // IORING_FEAT_* bits
	ops      [256]bool // opcodes that the kernel implements
}

// Supports tells whether the kernel implements an IORING_OP_* opcode. For
// uring commands that says nothing of a particular device.
func (p *Probe) Supports(opcode uint8) bool { return p.ops[opcode] }

// ProbeKernel asks the running kernel, by making rings and throwing them away.
// It changes nothing.
func ProbeKernel() (*Probe, error) { return probe(sys.Linux{}) }

func probe(k sys.RingKernel) (*Probe, error) {
	with := map[Flags]Flags{ // what else a flag needs to be accepted
		DeferTaskrun: SingleIssuer,
		SQRewind:     NoSQArray,
		HybridIOPoll: IOPoll,
		IOPoll:       0,
	}
	out := &Probe{}
	for _, f := range flagNames {
		if f.flag == SQPollThread || f.flag == SQAffinity {
			// As old as io_uring, and trying it would start a kernel thread
			// that spins.
			out.Flags |= f.flag
			continue
		}
		p := uapi.Params{Flags: uint32(f.flag | with[f.flag]), CQEntries: 4}
		fd, err := k.Setup(2, &p)
		if errors.Is(err, syscall.EINVAL) {
			continue
		}
		if err != nil {
			return nil, setupError(err, &Config{Slots: 2}, 2)
		}
		out.Flags |= f.flag
		out.Features = p.Features
		if f.flag == CQSize {
			var ops uapi.Probe
			if _, err := k.Register(fd, uapi.RegisterProbe, unsafe.Pointer(&ops), uint32(len(ops.Ops))); err == nil {
				for _, op := range ops.Ops[:ops.OpsLen] {
					out.ops[op.Op] = op.Flags&uapi.OpSupported != 0
				}
			}
		}
		if err := k.Close(fd); err != nil {
			return nil, fmt.Errorf("probe io_uring: close: %w", err)
		}
	}
	return out, nil
}
