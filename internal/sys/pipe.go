package sys

import "golang.org/x/sys/unix"

// NoReader tells whether nobody can read any more what is written to a descriptor
// of a pipe or socket. It is false of everything else.
func NoReader(fd int) bool {
	p := []unix.PollFd{{Fd: int32(fd)}}
	for {
		_, err := unix.Poll(p, 0)
		if err != unix.EINTR { //nolint:errorlint // a bare errno, straight from the call
			return err == nil && p[0].Revents&unix.POLLERR != 0
		}
	}
}
