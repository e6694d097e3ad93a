package passthru

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/nvmepass/nvmepass/nvme"
	"github.com/nvmepass/nvmepass/uringcmd"
)

// Errors that callers act on; those returned wrap them and say more.
var (
	// ErrWrongNode: the path is no namespace of an NVMe drive.
	ErrWrongNode = errors.New("not an NVMe namespace")
	// ErrReadOnly: a write on a Device opened without Config.Writable.
	ErrReadOnly = errors.New("device is open for reading only")
	// ErrNotSupported is uringcmd's: the running kernel lacks something, and
	// an *UnsupportedError says which version has it.
	ErrNotSupported = uringcmd.ErrNotSupported
	// ErrCancelled: the driver cancelled the command, for a reset, a removal
	// or a time-out. Whether a write reached the media is unknown. Or io_uring did
	// (ECANCELED), before it was sent.
	ErrCancelled = errors.New("cancelled by the driver")
)

// UnsupportedError names what the running kernel lacks, and which version has
// it.
type UnsupportedError = uringcmd.UnsupportedError

// OpError is a failure that concerns a device as a whole.
type OpError struct {
	Op   string // such as "open"
	Path string
	Err  error
}

// Error implements error.
func (e *OpError) Error() string { return e.Op + " " + e.Path + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *OpError) Unwrap() error { return e.Err }

// KernelError is a command that the kernel refused or cancelled: the drive has
// not answered it.
type KernelError struct {
	Op    string // the command's name
	NSID  uint32
	SLBA  uint64
	NLB   uint32 // 0 for commands without a range
	Errno syscall.Errno
	// Passed lists the checks that this library made before, so that they
	// need no second look. It may be empty.
	Passed string
	// Gone says that the namespace's node is not there any more, whatever the
	// errno; the error then is ENODEV as well.
	Gone bool
}

// Error implements error.
func (e *KernelError) Error() string {
	s := fmt.Sprintf("%s nsid=%d", e.Op, e.NSID)
	if e.NLB != 0 {
		s += fmt.Sprintf(" slba=%#x nlb=%d", e.SLBA, e.NLB)
	}
	s += ": "
	if e.Errno == syscall.EINTR {
		return s + ErrCancelled.Error() + " (EINTR in the completion): the controller was reset or removed, or the command timed out"
	}
	s += fmt.Sprintf("the kernel refused it: %v (errno %d)", e.Errno, int(e.Errno))
	if e.Gone {
		return s + ": the drive is gone"
	}
	switch e.Errno {
	case syscall.EINVAL:
		if e.Passed != "" {
			s += ": too many or too large segments for the driver, or a fixed buffer that this kernel cannot use; checked and fine: " + e.Passed
		}
	case syscall.EOPNOTSUPP:
		s += ": " + errPolled.Error() + ", and poll queues (nvme.poll_queues)"
	case syscall.ENODEV, syscall.ENXIO:
		s += ": the drive is gone"
	case syscall.ECANCELED:
		s += ": io_uring gave it up before it was sent, as it does where it cannot start a worker thread for what the drive's queue has no place for; send it again, or use a lower depth"
	}
	return s
}

// errPolled is what EOPNOTSUPP of a passthrough command means: all the rest
// was refused before.
var errPolled = &UnsupportedError{Feature: "polled passthrough", MinimumKernel: "6.1"}

// Unwrap returns the errno, with ENODEV where the namespace is gone, and where it
// means that the kernel is too old an *UnsupportedError.
func (e *KernelError) Unwrap() []error {
	if e.Gone {
		return []error{e.Errno, syscall.ENODEV}
	}
	if e.Errno == syscall.EOPNOTSUPP {
		return []error{e.Errno, errPolled}
	}
	return []error{e.Errno}
}

// Is reports EINTR as ErrCancelled: in a completion it is no signal. So it does
// with ECANCELED.
func (e *KernelError) Is(target error) bool {
	return target == ErrCancelled && (e.Errno == syscall.EINTR || e.Errno == syscall.ECANCELED)
}

// missing looks for the reason of a refusal in the namespace itself. One with
// several paths whose last is gone takes no command any more, but the kernel says
// EINVAL (nvme_ns_head_chr_uring_cmd), and EAGAIN by ioctl.
func (d *Device) missing(err error) error {
	if err == nil || d == nil || d.pair.GenericDir == "" {
		return err // before anything is allocated
	}
	var k *KernelError
	if !errors.As(err, &k) || k.Errno != syscall.EINVAL && k.Errno != syscall.EAGAIN {
		return err
	}
	if _, serr := os.Stat(d.pair.GenericDir); errors.Is(serr, os.ErrNotExist) {
		k.Gone = true
	}
	return err
}

// resultError turns a completion's res into an error: 0 is success (never a
// byte count), negative the kernel's refusal, positive the drive's status.
func resultError(res int32, result uint64, cmd *nvme.Command, set nvme.CommandSet) error {
	switch {
	case res == 0:
		return nil
	case res > 0:
		if s, _ := nvme.StatusFromResult(res); int32(s) == res {
			if err := nvme.NewStatusError(cmd, set, s, result); err != nil {
				return err
			}
		}
		return fmt.Errorf("%s nsid=%d slba=%#x nlb=%d: the kernel returned res %#x, which is neither success (0) nor an NVMe status nor an errno: treat the command as failed and report the kernel's version",
			cmd.Opcode.Name(set), cmd.NSID, cmd.SLBA(), cmd.NLB(), res)
	}
	e := &KernelError{Op: cmd.Opcode.Name(set), NSID: cmd.NSID, Errno: syscall.Errno(-int64(res))}
	if set != nvme.SetAdmin {
		e.SLBA, e.NLB = cmd.SLBA(), cmd.NLB()
		e.Passed = "namespace ID, block count against data length, length against MDTS and max_hw_sectors, page alignment"
	}
	return e
}
