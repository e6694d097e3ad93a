package sys

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/nvmepass/nvmepass/internal/uapi"
)

// IOURingSetup is io_uring_setup(2).
func IOURingSetup(entries uint32, p *uapi.Params) (fd int, err error) {
	r, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, uintptr(entries), uintptr(unsafe.Pointer(p)), 0)
	if errno != 0 {
		return -1, errno
	}
	return int(r), nil
}

// IOURingEnter is io_uring_enter(2) without a word to the Go scheduler: the
// calling thread keeps its P. Use it where the call is short or spins anyway.
// A signal (also the runtime's own SIGURG) ends a wait with EINTR, or with the
// number submitted.
func IOURingEnter(fd, toSubmit, minComplete, flags uint32) (submitted uintptr, errno syscall.Errno) {
	// Not unix.RawSyscall6, which is one more call on the way.
	submitted, _, errno = syscall.RawSyscall6(unix.SYS_IO_URING_ENTER, uintptr(fd), uintptr(toSubmit), uintptr(minComplete), uintptr(flags), 0, 0)
	return
}

// IOURingEnterBlocking is io_uring_enter(2) that lets the scheduler run other
// goroutines on this P while the call sleeps.
func IOURingEnterBlocking(fd, toSubmit, minComplete, flags uint32) (int, syscall.Errno) {
	r, _, errno := unix.Syscall6(unix.SYS_IO_URING_ENTER, uintptr(fd), uintptr(toSubmit), uintptr(minComplete), uintptr(flags), 0, 0)
	return int(r), errno
}

// IOURingRegister is io_uring_register(2). arg stays reachable during the call.
func IOURingRegister(fd int, opcode uint32, arg unsafe.Pointer, n uint32) (int, error) {
	r, _, errno := unix.Syscall6(unix.SYS_IO_URING_REGISTER, uintptr(fd), uintptr(opcode), uintptr(arg), uintptr(n), 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(r), nil
}
