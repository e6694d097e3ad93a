package uringcmd

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"github.com/nvmepass/nvmepass/internal/sys"
)

// Errors that callers act on. The errors returned wrap these and say more.
var (
	// ErrDisabled: io_uring is switched off or filtered on this system.
	ErrDisabled = errors.New("io_uring is not available")
	// ErrNotSupported: this kernel lacks what was asked for.
	ErrNotSupported = errors.New("not supported by this kernel")
	// ErrWrongThread: the ring belongs to another OS thread.
	ErrWrongThread = errors.New("ring used from a thread that does not own it")
	// ErrNotEnabled: Enable was not called.
	ErrNotEnabled = errors.New("ring is not enabled")
	// ErrClosed is os.ErrClosed.
	ErrClosed = os.ErrClosed
	// ErrSlotBusy: the slot's command is still in flight.
	ErrSlotBusy = errors.New("slot is in flight")
	// ErrStalled: commands are in flight and none completed within the limit.
	ErrStalled = errors.New("no completion within the stall limit")
)

// UnsupportedError names what the running kernel lacks; it is ErrNotSupported.
type UnsupportedError struct {
	// Feature is what was asked for.
	Feature string
	// MinimumKernel is the first Linux version that has it, such as "5.19".
	MinimumKernel string
}

// Error names feature, version and the running kernel.
func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("%v: %s needs Linux %s or later; this is %s", ErrNotSupported, e.Feature, e.MinimumKernel, sys.KernelRelease())
}

// Is reports ErrNotSupported.
func (e *UnsupportedError) Is(target error) bool { return target == ErrNotSupported }

// LeakError says that Close gave up on commands that did not come back: the
// ring stays mapped and open, and buffers of these commands must stay, too.
type LeakError struct {
	InFlight int   // commands that never completed
	Err      error // why draining ended
}

// Error implements error.
func (e *LeakError) Error() string {
	return fmt.Sprintf("close ring: %d commands still in flight (%v); the ring and its buffers stay mapped on purpose, because the kernel may still write to them", e.InFlight, e.Err)
}

// Unwrap returns the reason.
func (e *LeakError) Unwrap() error { return e.Err }

// disabledError explains EPERM and ENOSYS of io_uring_setup with the causes in
// the order of their likelihood.
func disabledError(err error) error {
	const sysctl = "/proc/sys/kernel/io_uring_disabled"
	var causes []string
	if b, rerr := os.ReadFile(sysctl); rerr == nil {
		v := strings.TrimSpace(string(b))
		if v != "0" {
			causes = append(causes, "sysctl kernel.io_uring_disabled is "+v+" (set it to 0, or with 1 run as root or in kernel.io_uring_group)")
		} else {
			causes = append(causes, "sysctl kernel.io_uring_disabled is 0, so not that")
		}
	}
	if errors.Is(err, syscall.ENOSYS) {
		causes = append(causes, "a container's seccomp filter hides io_uring, or the kernel is older than 5.1 or built without it")
	} else {
		causes = append(causes, "a container's seccomp filter or a security module forbids io_uring_setup")
	}
	return fmt.Errorf("set up ring: %w: %w; %s", ErrDisabled, err, strings.Join(causes, "; "))
}
