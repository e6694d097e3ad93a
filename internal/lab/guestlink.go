package lab

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/nvmepass/nvmepass/internal/sys"
)

// guestLink is the guest's end of the link. Its methods may be called from any goroutine.
type guestLink struct {
	tty *os.File

	mu  sync.Mutex // keeps frames whole
	buf []byte

	shared []byte   // nil without shared memory
	free   chan int // slots that the guest owns
}

func newGuestLink(tty *os.File) *guestLink {
	return &guestLink{tty: tty, free: make(chan int, slotCount)}
}

// Identity of QEMU's shared memory device.
const (
	ivshmemVendor = "0x1af4"
	ivshmemDevice = "0x1110"
)

// mapShared finds the shared memory device and maps its memory.
func (l *guestLink) mapShared() error {
	devices, err := filepath.Glob("/sys/bus/pci/devices/*")
	if err != nil {
		return err
	}
	for _, dev := range devices {
		if readText(filepath.Join(dev, "vendor")) != ivshmemVendor || readText(filepath.Join(dev, "device")) != ivshmemDevice {
			continue
		}
		// No driver claims the device, so that nobody has switched its memory on.
		if err := os.WriteFile(filepath.Join(dev, "enable"), []byte("1"), 0); err != nil {
			return fmt.Errorf("enable the shared memory device: %w", err)
		}
		f, err := os.OpenFile(filepath.Join(dev, "resource2"), os.O_RDWR, 0)
		if err != nil {
			return fmt.Errorf("shared memory device: %w", err)
		}
		defer f.Close()
		l.shared, err = syscall.Mmap(int(f.Fd()), 0, sharedSize, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
		if err != nil {
			return fmt.Errorf("map the shared memory device: %w", err)
		}
		for i := range slotCount {
			l.free <- i
		}
		return nil
	}
	return errors.New("no shared memory device")
}

// release takes back a slot that the host has read.
func (l *guestLink) release(slot int) {
	if slot < 0 || slot >= slotCount {
		return
	}
	select {
	case l.free <- slot:
	default:
	}
}

// send sends one frame; payload is at most maxFrame bytes. An error means that the host is gone, and QEMU with it.
func (l *guestLink) send(t frameType, payload []byte) {
	if l.shared != nil && len(payload) > inlineMax {
		slot := <-l.free
		copy(l.shared[slot*slotSize:], payload)
		l.mu.Lock()
		defer l.mu.Unlock()
		l.buf = appendSharedFrame(l.buf[:0], t, slot, len(payload))
	} else {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.buf = appendFrame(l.buf[:0], t, payload)
	}
	_, _ = l.tty.Write(l.buf)
}

// drain waits until everything has left the port.
func (l *guestLink) drain() {
	l.mu.Lock()
	defer l.mu.Unlock()
	// A port that cannot drain is as good as one that did.
	_ = sys.DrainTTY(int(l.tty.Fd()))
}

// stream returns a writer that sends what it gets as frames of one type.
func (l *guestLink) stream(t frameType) io.Writer { return frameWriter{l, t} }

type frameWriter struct {
	link *guestLink
	t    frameType
}

// Write implements io.Writer.
func (w frameWriter) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		k := min(len(p), slotSize)
		w.link.send(w.t, p[:k])
		p = p[k:]
	}
	return n, nil
}

// readText returns the contents of a sysfs attribute without the line end, or "" when it cannot be read.
func readText(file string) string {
	b, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
