package sys

import (
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// OpenDevice opens path with O_CLOEXEC, for writing only when asked. direct
// adds O_DIRECT: block nodes need it, NVMe character nodes refuse it (EINVAL).
func OpenDevice(path string, write, direct bool) (fd int, err error) {
	flags := unix.O_CLOEXEC | unix.O_RDONLY
	if write {
		flags = unix.O_CLOEXEC | unix.O_RDWR
	}
	if direct {
		flags |= unix.O_DIRECT
	}
	for {
		fd, err = unix.Open(path, flags, 0)
		if err != unix.EINTR { //nolint:errorlint // a bare errno, straight from the call
			return fd, err
		}
	}
}

// Close closes a descriptor.
func Close(fd int) error { return unix.Close(fd) }

// Stat is the part of stat(2) that tells nodes apart.
type Stat struct {
	Mode         os.FileMode
	UID, GID     uint32 // who owns the node
	Major, Minor uint32 // of the device that the node stands for
}

// StatNode follows symbolic links.
func StatNode(path string) (Stat, error) {
	fi, err := os.Stat(path)
	if err != nil {
		return Stat{}, err
	}
	s := Stat{Mode: fi.Mode()}
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		s.UID, s.GID = st.Uid, st.Gid
		s.Major, s.Minor = unix.Major(st.Rdev), unix.Minor(st.Rdev)
	}
	return s, nil
}

// Ioctl passes arg to the device and returns the call's own result, which is
// the NVMe status for passthrough requests.
func Ioctl(fd int, req uint32, arg unsafe.Pointer) (int, error) {
	r, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), uintptr(req), uintptr(arg))
	if errno != 0 {
		return 0, errno
	}
	return int(r), nil
}

// RereadPartitions makes the kernel read a disk's partition table again.
func RereadPartitions(path string) error {
	fd, err := OpenDevice(path, false, false)
	if err != nil {
		return err
	}
	_, err = Ioctl(fd, unix.BLKRRPART, nil)
	if cerr := Close(fd); err == nil {
		err = cerr
	}
	return err
}
