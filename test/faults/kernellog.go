package faults

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// kernelLog returns the kernel's log since it booted, by lines.
func kernelLog(t testing.TB) (lines []string) {
	t.Helper()
	fd, err := syscall.Open("/dev/kmsg", syscall.O_RDONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	require.NoError(t, err)
	defer func() { require.NoError(t, syscall.Close(fd)) }()
	record := make([]byte, 8192)
	for {
		n, err := syscall.Read(fd, record)
		switch {
		case err == nil:
			lines = append(lines, strings.TrimSpace(string(record[:n])))
		case errors.Is(err, syscall.EAGAIN):
			return lines
		case errors.Is(err, syscall.EINTR), errors.Is(err, syscall.EPIPE): // or overwritten meanwhile
		default:
			require.NoError(t, err)
		}
	}
}

// requireReset requires that the driver has reset a controller because commands
// took too long.
func requireReset(t testing.TB, d Drive) {
	t.Helper()
	for _, line := range kernelLog(t) {
		if strings.Contains(line, d.Controller+": ") && strings.Contains(line, "reset controller") {
			return
		}
	}
	require.Fail(t, "no time-out", "the driver did not reset %s: the fault was not injected", d.Controller)
}

// awaitLive waits until a controller has taken commands for two seconds on end: a
// reset that the driver decided on may come after the commands that it is for.
func awaitLive(t testing.TB, d Drive) {
	t.Helper()
	since := time.Now()
	require.Eventually(t, func() bool {
		b, err := os.ReadFile("/sys/class/nvme/" + d.Controller + "/state")
		if err != nil || strings.TrimSpace(string(b)) != "live" {
			since = time.Now()
		}
		return time.Since(since) > 2*time.Second
	}, time.Minute, 20*time.Millisecond, "%s does not come back", d.Controller)
}
