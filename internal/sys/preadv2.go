package sys

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/nvmepass/nvmepass/internal/uapi"
)

// Preadv2 is preadv2(2) into one buffer, without a word to the Go scheduler: the
// calling thread keeps its P. hipri asks the kernel to poll for completion
// (RWF_HIPRI). vec and its memory stay the caller's; the memory must lie outside
// the Go heap or be pinned. The offset goes in one register, as on every 64-bit
// machine.
func Preadv2(fd int, vec *uapi.Iovec, offset int64, hipri bool) (int, syscall.Errno) {
	flags := uintptr(0)
	if hipri {
		flags = unix.RWF_HIPRI
	}
	n, _, errno := unix.RawSyscall6(unix.SYS_PREADV2, uintptr(fd), uintptr(unsafe.Pointer(vec)), 1, uintptr(offset), 0, flags)
	return int(n), errno
}
