package sys

import "golang.org/x/sys/unix"

// Access tells whether the effective user may open path for reading, and for
// writing as well if write is set, as far as mode, owner and capabilities
// decide. It opens nothing: opening a block node for writing would make udev
// look at the drive anew when it is closed.
func Access(path string, write bool) error {
	mode := uint32(unix.R_OK)
	if write {
		mode |= unix.W_OK
	}
	return unix.Faccessat(unix.AT_FDCWD, path, mode, unix.AT_EACCESS)
}

// CanOpen opens path for reading and closes it: unlike Access it meets device
// filters and security modules.
func CanOpen(path string) error {
	fd, err := OpenDevice(path, false, false)
	if err != nil {
		return err
	}
	return Close(fd)
}
