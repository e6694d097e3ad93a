package sys

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// ErrnoName is the constant's name, such as "EINVAL", "" if there is none.
func ErrnoName(e syscall.Errno) string { return unix.ErrnoName(e) }
