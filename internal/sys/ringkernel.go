package sys

import (
	"syscall"
	"unsafe"

	"github.com/nvmepass/nvmepass/internal/uapi"
)

// RingKernel is the kernel's side of a ring. Linux is the real one; tests put
// a stand-in in its place for faults that a real kernel does not produce on
// demand.
type RingKernel interface {
	Setup(entries uint32, p *uapi.Params) (fd int, err error)
	Map(fd int, offset int64, length int) ([]byte, error)
	Unmap(b []byte) error
	Enter(fd, toSubmit, minComplete, flags uint32, blocking bool) (int, syscall.Errno)
	Register(fd int, opcode uint32, arg unsafe.Pointer, n uint32) (int, error)
	Close(fd int) error
}

// Linux is the running kernel.
type Linux struct{}

var _ RingKernel = Linux{}

// Setup is io_uring_setup(2).
func (Linux) Setup(entries uint32, p *uapi.Params) (int, error) { return IOURingSetup(entries, p) }

// Map maps ring memory.
func (Linux) Map(fd int, offset int64, length int) ([]byte, error) {
	return MapRing(fd, offset, length)
}

// Unmap undoes Map.
func (Linux) Unmap(b []byte) error { return Unmap(b) }

// Enter is io_uring_enter(2); blocking lets the scheduler use the P meanwhile.
func (Linux) Enter(fd, toSubmit, minComplete, flags uint32, blocking bool) (int, syscall.Errno) {
	if blocking {
		return IOURingEnterBlocking(fd, toSubmit, minComplete, flags)
	}
	n, errno := IOURingEnter(fd, toSubmit, minComplete, flags)
	return int(n), errno
}

// Register is io_uring_register(2).
func (Linux) Register(fd int, opcode uint32, arg unsafe.Pointer, n uint32) (int, error) {
	return IOURingRegister(fd, opcode, arg, n)
}

// Close closes the ring's descriptor.
func (Linux) Close(fd int) error { return Close(fd) }
