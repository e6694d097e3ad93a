package passthru

import (
	"fmt"
	"math"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/fixedbuf"
	"github.com/nvmepass/nvmepass/internal/ringtest"
	"github.com/nvmepass/nvmepass/iopoll"
	"github.com/nvmepass/nvmepass/nvme"
	"github.com/nvmepass/nvmepass/uringcmd"
)

// TestB06RefusedCommandLeavesNoTrace: a command that cannot be built changes
// neither queue nor counts; those before it in a batch are published.
func TestB06RefusedCommandLeavesNoTrace(t *testing.T) {
	const blocks = 1 << 40
	tests := []struct {
		name  string
		slot  int
		slba  uint64
		nlb   uint32
		write bool
		text  string
	}{
		{"SLBA at the end", 2, blocks, 1, false, "slba"},
		{"last block beyond", 2, blocks - 3, 4, false, "slba"},
		{"SLBA wraps", 2, math.MaxUint64, 4, false, "slba"},
		{"no blocks", 2, 0, 0, false, "nlb"},
		{"too many blocks", 2, 0, 5, false, "holds 4"},
		{"count that looks like another in its low bits", 2, 0, 2<<24 | 4, false, "holds 4"},
		{"all blocks", 2, 0, math.MaxUint32, false, "holds 4"},
		{"busy slot", 0, 0, 4, false, "in flight"},
		{"slot above", 8, 0, 4, false, "slots 0 to 7"},
		{"slot below", -1, 0, 4, false, "slots 0 to 7"},
		{"huge slot", math.MaxInt, 0, 4, false, "slots 0 to 7"},
		{"write on a reader", 2, 0, 4, true, "Writable"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			q, k := fakeQueue(t, nullDevice(lba512), QueueConfig{Depth: 8, BufferSize: 2048}, nil)
			// Both of the ways that a slot's entry is filled come before the
			// refusal: whole, and by its SLBA alone.
			done := make([]Completion, 8)
			for i := range 8 {
				require.NoError(t, q.Read(i, 0, 4))
			}
			_, err := q.Reap(8, done)
			require.NoError(t, err)
			before := q.Stats()
			k.Consumed = nil

			if tt.write {
				require.NoError(t, q.ReadBatch([]int{0, 1}, []uint64{10, 11}, 4))
				err = q.WriteBatch([]int{tt.slot}, []uint64{tt.slba}, tt.nlb)
			} else if tt.nlb == 4 {
				err = q.ReadBatch([]int{0, 1, tt.slot, 3}, []uint64{10, 11, tt.slba, 13}, tt.nlb)
			} else {
				require.NoError(t, q.ReadBatch([]int{0, 1}, []uint64{10, 11}, 4))
				err = q.ReadBatch([]int{tt.slot, 3}, []uint64{tt.slba, 13}, tt.nlb)
			}
			require.ErrorContains(t, err, tt.text)
			require.Equal(t, 2, q.InFlight())
			require.Equal(t, before, q.Stats())
			n, err := q.Reap(8, done)
			require.NoError(t, err, "the wait ends")
			require.Equal(t, 2, n)
			require.Len(t, k.Consumed, 2, "nothing stale is sent")
			for i, e := range k.Consumed {
				require.EqualValues(t, 10+i, ne.Uint64(e.Image[88:]))
			}
			require.NoError(t, q.Submit(0))
			require.Len(t, k.Consumed, 2)
			require.Zero(t, q.InFlight())
		})
	}
}

// TestB06EnterFailsAfterPublishing: the command stays in flight and is sent by
// the next call.
func TestB06EnterFailsAfterPublishing(t *testing.T) {
	q, k := fakeQueue(t, nullDevice(lba512), QueueConfig{Depth: 2}, nil)
	require.NoError(t, q.Read(1, 5, 1))
	k.OnEnter = func(uint32, uint32, uint32) (int, syscall.Errno) { return 0, syscall.ENXIO }
	require.ErrorIs(t, q.Submit(1), syscall.ENXIO)
	require.Equal(t, 1, q.InFlight())
	require.ErrorIs(t, q.Read(1, 6, 1), uringcmd.ErrSlotBusy, "its entry must not change any more")
	n, err := q.Reap(1, make([]Completion, 1))
	require.ErrorIs(t, err, syscall.ENXIO)
	require.Zero(t, n)
	k.OnEnter = nil
	n, err = q.Reap(1, make([]Completion, 1))
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.EqualValues(t, 5, ne.Uint64(k.Consumed[0].Image[88:]))
}

func TestBatchNeedsAnAddressPerSlot(t *testing.T) {
	d := nullDevice(lba512)
	d.writable = true
	q, _ := fakeQueue(t, d, QueueConfig{Depth: 2}, nil)
	require.ErrorContains(t, q.ReadBatch([]int{0, 1}, []uint64{0}, 1), "2 slots and 1 addresses")
	require.ErrorContains(t, q.WriteBatch([]int{0}, nil, 1), "1 slots and 0 addresses")
	require.Zero(t, q.InFlight())
}

// TestB07BufferSizeIsAMultipleOfTheUnit, which is no power of two.
func TestB07BufferSizeIsAMultipleOfTheUnit(t *testing.T) {
	ext := nvme.Layout{LBASize: 4096, MetadataSize: 64, Extended: true}
	ext8 := nvme.Layout{LBASize: 512, MetadataSize: 8, Extended: true}
	tests := []struct {
		layout nvme.Layout
		size   int
		blocks uint32 // 0: refused
		text   string
	}{
		{ext, 4160, 1, ""}, {ext, 8320, 2, ""}, {ext, 12480, 3, ""},
		{ext, 8192, 0, "4160 (4096 data + 64 metadata)"}, {ext, 4096, 0, "4160 (4096 data + 64 metadata)"},
		{ext8, 520, 1, ""}, {ext8, 1040, 2, ""}, {ext8, 1560, 3, ""},
		{ext8, 512, 0, "520 (512 data + 8 metadata)"},
		{ext, 0, 1, ""},
		{lba512, 1000, 0, "multiple of 512"},
		{lba512, -512, 0, "negative"},
		{lba512, 1 << 20, 2048, ""},
		{lba512, 1<<20 + 512, 0, "above the 1048576 bytes (2048 blocks) that one command can move (MDTS 1048576, kernel max_hw_sectors none)"},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%s/%d", tt.layout, tt.size), func(t *testing.T) {
			d := nullDevice(tt.layout)
			d.kernel = &ringtest.Kernel{}
			q, err := d.NewQueue(QueueConfig{Depth: 1, BufferSize: tt.size})
			if tt.blocks == 0 {
				require.ErrorContains(t, err, tt.text)
				require.ErrorContains(t, err, "make queue on /dev/null")
				return
			}
			require.NoError(t, err)
			require.Equal(t, tt.blocks, q.Settings().BlocksPerBuffer)
			require.NoError(t, q.Close())
		})
	}
}

func TestNewQueueRefuses(t *testing.T) {
	tests := []struct {
		name   string
		change func(d *Device, c *QueueConfig)
		is     error
		text   string
	}{
		{"depth 0", func(_ *Device, c *QueueConfig) { c.Depth = 0 }, nil, "depth 0: need 1 to 32768"},
		{"depth", func(_ *Device, c *QueueConfig) { c.Depth = MaxDepth + 1 }, nil, "depth 32769"},
		{"no limit but the NLB field", func(d *Device, c *QueueConfig) {
			d.limits.MaxTransfer, d.limits.MDTS, c.BufferSize = 0, 0, 512*65537
		}, nil, "above the 33554432 bytes (65536 blocks) that one command can move (MDTS none"},
		{"small namespace", func(d *Device, c *QueueConfig) { d.limits.Blocks, c.BufferSize = 3, 2048 }, nil, "the namespace has 3 blocks of 512 bytes"},
		{"no poll queues", func(_ *Device, c *QueueConfig) { c.Poll = true }, iopoll.ErrNoPollQueues, "nvme.poll_queues"},
		{"no node", func(d *Device, _ *QueueConfig) { d.pair.Generic = "/dev/null/ng0n1" }, syscall.ENOTDIR, "open /dev/null/ng0n1"},
		{"B57 io_uring off", func(d *Device, _ *QueueConfig) { d.kernel = &ringtest.Kernel{SetupErr: syscall.EPERM} }, uringcmd.ErrDisabled, "seccomp"},
		{"B32 command not allowed", func(d *Device, _ *QueueConfig) { d.kernel = &ringtest.Kernel{Answer: answer(-13)} }, syscall.EACCES, "CAP_SYS_ADMIN"},
		{"polling unsupported", func(d *Device, _ *QueueConfig) { d.kernel = &ringtest.Kernel{Answer: answer(-95)} }, syscall.EOPNOTSUPP, "Linux 6.1"},
		{"B10 too many segments", func(d *Device, c *QueueConfig) {
			d.limits.MaxSegments, c.BufferSize = 2, 16384
			d.kernel = &ringtest.Kernel{Answer: answer(-22)}
		}, syscall.EINVAL, "16384 bytes need up to 4 segments and the driver takes 2: use buffers of at most 8192 bytes"},
		{"closed", func(d *Device, _ *QueueConfig) { d.fd = -1 }, os.ErrClosed, "file already closed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := nullDevice(lba512)
			d.kernel = &ringtest.Kernel{}
			cfg := QueueConfig{Depth: 2}
			tt.change(d, &cfg)
			_, err := d.NewQueue(cfg)
			require.ErrorContains(t, err, tt.text)
			if tt.is != nil {
				require.ErrorIs(t, err, tt.is)
			}
			require.NotContains(t, err.Error(), "mode of the node", "that is not the reason")
		})
	}
}

// TestDriveErrorsDoNotStopAQueue: what the drive says of the blocks that prove
// the buffers is no reason to refuse the queue.
func TestDriveErrorsDoNotStopAQueue(t *testing.T) {
	d := nullDevice(lba512)
	d.kernel = &ringtest.Kernel{Answer: answer(0x281)}
	q := newQueue(t, d, QueueConfig{Depth: 2})
	require.Equal(t, fixedbuf.Whole, q.Settings().FixedBuffers)
}

// TestClosedQueue: no call on a closed queue crashes, whatever is gone.
func TestClosedQueue(t *testing.T) {
	needIOURing(t)
	d := nullDevice(nvme.Layout{LBASize: 512, MetadataSize: 8})
	d.writable = true
	q, err := d.NewQueue(QueueConfig{Depth: 2, Guard: true})
	require.NoError(t, err)
	require.Len(t, q.Metadata(1), 8)
	require.NoError(t, q.CheckGuards())
	require.NoError(t, q.Close())
	require.NoError(t, q.Close())

	done := make([]Completion, 2)
	require.ErrorIs(t, q.Read(0, 0, 1), os.ErrClosed)
	require.ErrorIs(t, q.Write(0, 0, 1), os.ErrClosed)
	require.ErrorIs(t, q.ReadBatch([]int{0}, []uint64{0}, 1), os.ErrClosed)
	require.ErrorIs(t, q.Submit(1), os.ErrClosed)
	n, err := q.Reap(1, done)
	require.ErrorIs(t, err, os.ErrClosed)
	require.Zero(t, n)
	require.Zero(t, q.Take(done))
	require.Zero(t, q.Ready())
	require.Zero(t, q.InFlight())
	require.Nil(t, q.Buffer(0))
	require.Nil(t, q.Metadata(0))
	require.ErrorIs(t, q.CheckGuards(), os.ErrClosed)
	require.ErrorIs(t, q.Err(Completion{Res: -5}), os.ErrClosed)
	require.Equal(t, 512, q.Settings().BufferSize)
	require.Equal(t, 2, q.Depth())
	require.EqualValues(t, 4, q.Stats().Reaped)
}

func TestSlotsThatAreNotThere(t *testing.T) {
	q, _ := fakeQueue(t, nullDevice(lba512), QueueConfig{Depth: 2}, nil)
	for _, slot := range []int{-1, 2, math.MaxInt, math.MinInt} {
		require.Nil(t, q.Buffer(slot))
		require.Nil(t, q.Metadata(slot))
		require.ErrorContains(t, q.Err(Completion{Slot: slot, Res: 1}), "slots 0 to 1")
	}
}

// TestB03CallsFromElsewhere are named errors and take nothing from the owner.
func TestB03CallsFromElsewhere(t *testing.T) {
	needIOURing(t)
	q := newQueue(t, nullDevice(lba512), QueueConfig{Depth: 2})
	require.NoError(t, q.Read(0, 0, 1))
	errs := make(chan error, 3)
	go func() {
		errs <- q.Submit(1)
		n, err := q.Reap(1, make([]Completion, 2))
		if n != 0 {
			err = fmt.Errorf("took %d completions", n)
		}
		errs <- err
		errs <- q.Close()
	}()
	for range 3 {
		require.ErrorIs(t, <-errs, uringcmd.ErrWrongThread)
	}
	n, err := q.Reap(1, make([]Completion, 2))
	require.NoError(t, err)
	require.Equal(t, 1, n)
}

// TestB44CommandsThatNeverComplete: Close gives up after the stall limit and
// leaves every buffer mapped.
func TestB44CommandsThatNeverComplete(t *testing.T) {
	k := &ringtest.Kernel{}
	d := nullDevice(nvme.Layout{LBASize: 512, MetadataSize: 8})
	d.kernel = k
	q, err := d.NewQueue(QueueConfig{Depth: 4, StallLimit: 20 * time.Millisecond})
	require.NoError(t, err)
	data, meta := q.Buffer(3), q.Metadata(3)
	k.Answer = func(e ringtest.Entry) (int32, uint64, bool) { return 0, 0, uint32(e.SQE().UserData) == 0 }
	require.NoError(t, q.ReadBatch([]int{0, 1, 3}, []uint64{0, 1, 2}, 1))
	err = q.Close()
	var leak *uringcmd.LeakError
	require.ErrorAs(t, err, &leak)
	require.Equal(t, 2, leak.InFlight)
	require.ErrorIs(t, err, uringcmd.ErrStalled)
	require.ErrorContains(t, err, "stay mapped on purpose")
	data[511], meta[7] = 1, 2 // as the drive may still do
	require.Equal(t, []byte{1, 2}, []byte{data[511], meta[7]})
	require.Zero(t, k.Unmapped)
	require.Zero(t, k.Closed)
	require.NoError(t, q.Close())
}

// TestLoopAllocatesNothing on the running kernel.
func TestLoopAllocatesNothing(t *testing.T) {
	needIOURing(t)
	for name, cfg := range map[string]QueueConfig{
		"default": {}, "plain": {PlainBuffers: true, PlainFile: true, PlainRing: true}, "linear": {Linear: true}, "HoldP": {HoldP: true},
	} {
		for layoutName, layout := range imageLayouts {
			t.Run(name+"/"+layoutName, func(t *testing.T) {
				const depth = 32
				cfg.Depth = depth
				cfg.BufferSize = int(layout.UnderPRACT().DataLen(2))
				q := newQueue(t, nullDevice(layout), cfg)
				slots, slbas, done := make([]int, depth), make([]uint64, depth), make([]Completion, depth)
				for i := range slots {
					slots[i] = i
				}
				nlb, total := uint32(1), 0
				require.Zero(t, testing.AllocsPerRun(200, func() {
					nlb ^= 3 // 1 and 2 in turn: entries are built whole, too
					if q.ReadBatch(slots, slbas, nlb) != nil || q.Submit(depth) != nil {
						return
					}
					for _, c := range done[:q.Take(done)] {
						if q.Err(c) == nil {
							total++
						}
					}
				}))
				require.Equal(t, 201*depth, total)
			})
		}
	}
}

func TestPlainRingAndFile(t *testing.T) {
	needIOURing(t)
	q := newQueue(t, nullDevice(lba512), QueueConfig{Depth: 3, PlainBuffers: true, PlainFile: true, PlainRing: true})
	s := q.Settings()
	require.Equal(t, fixedbuf.Plain, s.FixedBuffers)
	require.False(t, s.RegisteredFile || s.RegisteredRing || s.Polled)
	require.EqualValues(t, 1, s.BlocksPerBuffer)
	require.NoError(t, q.Read(2, 0, 1))
	done := make([]Completion, 3)
	n, err := q.Reap(3, done)
	require.NoError(t, err)
	require.Equal(t, []Completion{{Slot: 2}}, done[:n])
	require.Equal(t, lba512, q.Layout())
}
