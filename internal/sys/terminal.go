package sys

import "golang.org/x/sys/unix"

// TerminalWidth is the width in columns of the terminal behind a descriptor;
// ok is false if it is none.
func TerminalWidth(fd int) (columns int, ok bool) {
	ws, err := unix.IoctlGetWinsize(fd, unix.TIOCGWINSZ)
	if err != nil {
		return 0, false
	}
	return int(ws.Col), true
}
