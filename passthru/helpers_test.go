package passthru

import (
	"errors"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/ringtest"
	"github.com/nvmepass/nvmepass/internal/sys"
	"github.com/nvmepass/nvmepass/internal/sysfs"
	"github.com/nvmepass/nvmepass/nvme"
	"github.com/nvmepass/nvmepass/uringcmd"
)

// nullDevice is a namespace of the given layout whose node is /dev/null: it
// takes uring commands and completes them at once with res 0.
func nullDevice(layout nvme.Layout) *Device {
	l := Limits{Blocks: 1 << 40, MaxTransfer: 1 << 20, MDTS: 1 << 20}
	l.MaxBlocks = layout.UnderPRACT().BlocksPerCommand(l.MaxTransfer)
	cfg, _ := Config{}.check()
	return &Device{given: os.DevNull, pair: sysfs.Pair{Generic: os.DevNull}, nsid: 7, layout: layout, limits: l, cfg: cfg}
}

// NullDevice is nullDevice for the tests of this package's users, with a
// stand-in for the kernel if kernel is not nil.
func NullDevice(layout nvme.Layout, kernel sys.RingKernel) *Device {
	d := nullDevice(layout)
	d.kernel = kernel
	return d
}

var lba512 = nvme.Layout{LBASize: 512}

func needIOURing(t *testing.T) {
	t.Helper()
	if _, err := uringcmd.ProbeKernel(); errors.Is(err, uringcmd.ErrDisabled) {
		ringtest.Missing(t, "io_uring", err)
	}
}

// newQueue makes a queue that is closed with the test.
func newQueue(t *testing.T, d *Device, cfg QueueConfig) *Queue {
	t.Helper()
	q, err := d.NewQueue(cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, q.Close()) })
	return q
}

// fakeQueue is newQueue on a stand-in kernel. The reads that proved the buffers
// are forgotten; answer takes effect after them.
func fakeQueue(t *testing.T, d *Device, cfg QueueConfig, answer func(ringtest.Entry) (int32, uint64, bool)) (*Queue, *ringtest.Kernel) {
	t.Helper()
	k := &ringtest.Kernel{}
	d.kernel = k
	q := newQueue(t, d, cfg)
	k.Consumed, k.Enters, k.Answer = nil, nil, answer
	return q, k
}

func answer(res int32) func(ringtest.Entry) (int32, uint64, bool) {
	return func(ringtest.Entry) (int32, uint64, bool) { return res, 0, true }
}
