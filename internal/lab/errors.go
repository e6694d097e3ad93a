package lab

import (
	"errors"
	"fmt"
	"strings"
)

// Sentinels for errors.Is. The error that wraps one of them names the object, the limit and the remedy.
var (
	// ErrConfig reports a Config that cannot be run.
	ErrConfig = errors.New("lab: invalid configuration")
	// ErrNoQEMU reports that QEMU is not installed or too old.
	ErrNoQEMU = errors.New("lab: QEMU not usable")
	// ErrNoKernel reports that no kernel image was found.
	ErrNoKernel = errors.New("lab: no kernel")
	// ErrKernel reports a file that is not a bootable x86-64 kernel image, or one without an NVMe driver that can be loaded.
	ErrKernel = errors.New("lab: kernel not usable")
	// ErrBinary reports an executable that cannot run in the guest: dynamically linked, or built for another machine.
	ErrBinary = errors.New("lab: executable cannot run in the guest")
	// ErrPanic reports that the guest's kernel or its init died.
	ErrPanic = errors.New("lab: guest kernel panicked")
	// ErrNoAnswer reports a guest that ended, or stayed silent, before its program's exit code was known.
	ErrNoAnswer = errors.New("lab: no answer from the guest")
	// ErrTimeout reports a run that was ended because its time was over.
	ErrTimeout = errors.New("lab: timed out")
)

// GuestError is a failure that the guest's init reported: the program did not start.
type GuestError struct {
	// Message is the guest's own text.
	Message string
	// Console holds the last lines of the kernel log.
	Console string
}

// Error implements error.
func (e *GuestError) Error() string {
	return "lab: guest init: " + e.Message + consoleTail(e.Console)
}

// consoleTail formats the end of a kernel log for an error message.
func consoleTail(console string) string {
	console = strings.TrimRight(console, "\r\n ")
	if console == "" {
		return "\n(the guest's console is empty)"
	}
	lines := strings.Split(strings.ReplaceAll(console, "\r", ""), "\n")
	const keep = 25
	if len(lines) > keep {
		lines = lines[len(lines)-keep:]
	}
	return fmt.Sprintf("\nlast %d lines of the guest's console:\n  %s", len(lines), strings.Join(lines, "\n  "))
}
