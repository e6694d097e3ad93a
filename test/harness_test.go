package test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/blockio"
	"github.com/nvmepass/nvmepass/internal/ringtest"
	"github.com/nvmepass/nvmepass/internal/workload"
	"github.com/nvmepass/nvmepass/passthru"
	"github.com/nvmepass/nvmepass/uringcmd"
)

// Environment of a run.
const (
	envDevice      = "NVMEPASS_TEST_DEVICE"
	envDestructive = "NVMEPASS_TEST_DESTRUCTIVE"
	// envBinary is the nvmepass to test as a command; in the lab it is /init.
	envBinary = "NVMEPASS_TEST_BINARY"
)

// want is what a test needs of a drive.
type want struct {
	lba      uint32 // data bytes per block, 0 for any
	ms       int    // metadata bytes per block, -1 for any
	extended bool
	poll     int    // 1: must have poll queues, -1: must have none, 0: any
	serial   string // prefix that the lab gave it, "" for a drive with nothing special
	write    bool
}

// patience is how long something may take that is done at once on an idle machine.
const patience = 30 * time.Second

// special are serial number prefixes of lab drives that would spoil other tests.
var special = []string{"slow", "bad", "null"}

func (w want) String() string {
	s := fmt.Sprintf("a drive with lba=%d ms=%d", w.lba, w.ms)
	if w.serial != "" {
		s += " serial=" + w.serial
	}
	return s + map[int]string{1: " with poll queues", -1: " without poll queues", 0: ""}[w.poll]
}

// device opens the first drive that suits, or skips with the reason.
func device(t testing.TB, w want) *passthru.Device {
	t.Helper()
	list := os.Getenv(envDevice)
	if list == "" {
		t.Skipf("no NVMe device: set %s, or use make test for the lab", envDevice)
	}
	if w.write && os.Getenv(envDestructive) != "1" {
		t.Skipf("would overwrite the drive: set %s=1 to allow that", envDestructive)
	}
	for _, path := range nodes(t, list) {
		d, err := passthru.Open(path, &passthru.Config{Writable: w.write})
		require.NoError(t, err)
		if w.suits(d) {
			t.Cleanup(func() { require.NoError(t, d.Close()) })
			return d
		}
		require.NoError(t, d.Close())
	}
	t.Skipf("needs %v among %s", w, list)
	return nil
}

// tool is the nvmepass to run as a command. Without a drive there is nothing to
// run it on; with one, CI has to have it.
func tool(t testing.TB) string {
	t.Helper()
	if os.Getenv(envDevice) == "" {
		t.Skipf("no NVMe device: set %s, or use make test for the lab", envDevice)
	}
	bin := os.Getenv(envBinary)
	if bin == "" {
		ringtest.Missing(t, "an nvmepass to run", fmt.Errorf("set %s to its path", envBinary))
	}
	return bin
}

// envLong asks for long runs: what `make long` does before a release.
const envLong = "NVMEPASS_TEST_LONG"

// long is the size of a test whose worth grows with it.
func long(usual, atLength int) int {
	if os.Getenv(envLong) != "" {
		return atLength
	}
	return usual
}

// nodes splits the list and resolves shell patterns in it.
func nodes(t testing.TB, list string) (paths []string) {
	t.Helper()
	for pattern := range strings.SplitSeq(list, ",") {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, found, "%s=%s: no such node", envDevice, pattern)
		paths = append(paths, found...)
	}
	return paths
}

func (w want) suits(d *passthru.Device) bool {
	l := d.Layout()
	switch {
	case w.lba != 0 && l.LBASize != w.lba,
		w.ms >= 0 && (int(l.MetadataSize) != w.ms || w.ms > 0 && l.Extended != w.extended),
		w.poll == 1 && d.Poll().Check() != nil,
		w.poll == -1 && d.Poll().Check() == nil:
		return false
	}
	serial := d.Controller().SN
	if w.serial != "" {
		return strings.HasPrefix(serial, w.serial)
	}
	for _, s := range special {
		if strings.HasPrefix(serial, s) {
			return false
		}
	}
	return true
}

// queue is what tests use of both kinds.
type queue interface {
	workload.Queue
	Read(slot int, slba uint64, nlb uint32) error
	Write(slot int, slba uint64, nlb uint32) error
	Buffer(slot int) []byte
	Reap(atLeast int, dst []uringcmd.Completion) (int, error)
	Settings() passthru.Settings
	CheckGuards() error
	Close() error
}

// paths are the four columns.
var paths = []string{"block", "passthru", "passthru-poll", "block-poll"}

func openPath(d *passthru.Device, path string, cfg passthru.QueueConfig) (queue, error) {
	cfg.Poll = strings.HasSuffix(path, "-poll")
	if strings.HasPrefix(path, "block") {
		return blockio.NewQueue([]*passthru.Device{d}, cfg)
	}
	return d.NewQueue(cfg)
}

// owned runs f on a thread of its own, since queues belong to threads. It
// reports a failure of require inside f.
func owned(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		f(t)
	}()
	<-done
	if t.Failed() {
		t.FailNow()
	}
}
