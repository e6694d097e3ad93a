package sys

import "golang.org/x/sys/unix"

// RawTTY takes a terminal out of every line discipline's hands: no echo, no
// signals, no translation in either direction, eight bits.
func RawTTY(fd int) error {
	t, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return err
	}
	t.Iflag = 0
	t.Oflag = 0
	t.Lflag = 0
	t.Cflag = unix.B115200 | unix.CS8 | unix.CREAD | unix.CLOCAL
	t.Cc[unix.VMIN] = 1
	t.Cc[unix.VTIME] = 0
	return unix.IoctlSetTermios(fd, unix.TCSETS, t)
}

// DrainTTY waits until all output has left the terminal (tcdrain).
func DrainTTY(fd int) error { return unix.IoctlSetInt(fd, unix.TCSBRK, 1) }
