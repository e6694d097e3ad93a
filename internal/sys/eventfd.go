package sys

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// Eventfd makes an event counter: reading it waits until it is not 0.
func Eventfd() (int, error) { return unix.Eventfd(0, unix.EFD_CLOEXEC) }

// SignalEventfd adds 1 to the counter, which ends a read of it.
func SignalEventfd(fd int) error {
	var one [8]byte
	binary.NativeEndian.PutUint64(one[:], 1)
	_, err := unix.Write(fd, one[:])
	return err
}
