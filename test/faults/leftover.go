package faults

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// holdings are what a process has of the kernel and of the Go runtime.
type holdings struct {
	fds        int
	rings      int // mappings of rings
	locked     string
	pinned     string
	goroutines int
}

// held counts what this process has.
func held() (h holdings, err error) {
	fds, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		return h, err
	}
	for _, fd := range fds {
		if target, err := os.Readlink(fd); err == nil && !strings.HasPrefix(target, "anon_inode:[event") {
			h.fds++ // the runtime's poller comes with the first file and stays
		}
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return h, err
	}
	h.rings = strings.Count(string(maps), "io_uring")
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return h, err
	}
	for line := range strings.Lines(string(status)) {
		if v, ok := strings.CutPrefix(line, "VmLck:"); ok {
			h.locked = strings.TrimSpace(v)
		}
		if v, ok := strings.CutPrefix(line, "VmPin:"); ok {
			h.pinned = strings.TrimSpace(v)
		}
	}
	h.goroutines = runtime.NumGoroutine()
	return h, nil
}

// leftover returns what a case left behind in this process, compared with what
// was held before. What ends by itself gets a moment.
func leftover(before holdings) error {
	var now holdings
	var err error
	for range 100 {
		if now, err = held(); err != nil {
			return err
		}
		if now.fds <= before.fds && now.rings <= before.rings && now.goroutines <= before.goroutines && now.locked == before.locked && now.pinned == before.pinned {
			return children()
		}
		time.Sleep(20 * time.Millisecond)
	}
	stacks := make([]byte, 64<<10)
	stacks = stacks[:runtime.Stack(stacks, true)]
	return fmt.Errorf("the case left something behind: held %+v before and %+v after\n%s", before, now, stacks)
}

// children tells whether a process that the case started is still there.
func children() error {
	var ws syscall.WaitStatus
	for range 100 {
		pid, err := syscall.Wait4(-1, &ws, syscall.WNOHANG, nil)
		if err == syscall.ECHILD {
			return nil
		}
		if err != nil {
			return err
		}
		if pid == 0 {
			time.Sleep(20 * time.Millisecond)
		}
	}
	return fmt.Errorf("a process that the case started is still there")
}
