package cell

import (
	"fmt"
	"math"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/badflag"
	"github.com/nvmepass/nvmepass/internal/compare"
	"github.com/nvmepass/nvmepass/internal/iosetup"
	"github.com/nvmepass/nvmepass/internal/sys"
	"github.com/nvmepass/nvmepass/internal/workload"
	"github.com/nvmepass/nvmepass/iopoll"
	"github.com/nvmepass/nvmepass/nvme"
	"github.com/nvmepass/nvmepass/passthru"
	"github.com/nvmepass/nvmepass/uringcmd"
)

// drive is a namespace for check.
type drive struct {
	layout nvme.Layout
	limits passthru.Limits
	poll   bool
	block  string
}

func (d drive) Layout() nvme.Layout     { return d.layout }
func (d drive) Limits() passthru.Limits { return d.limits }
func (d drive) Poll() iopoll.Support    { return iopoll.Support{Enabled: d.poll} }
func (d drive) BlockPath() string       { return d.block }

func newDrive(l nvme.Layout) drive {
	return drive{
		layout: l, poll: true, block: "/dev/nvme0n1",
		limits: passthru.Limits{Blocks: 1 << 30, MaxTransfer: 128 << 10, MDTS: 512 << 10, MaxHWSectors: 128 << 10, MaxBlocks: l.UnderPRACT().BlocksPerCommand(128 << 10)},
	}
}

// segmented takes so many segments in one command.
func segmented(n int) drive {
	d := newDrive(lba512)
	d.limits.MaxSegments = n
	return d
}

var (
	lba512  = nvme.Layout{LBASize: 512}
	lba4096 = nvme.Layout{LBASize: 4096}
	ext64   = nvme.Layout{LBASize: 4096, MetadataSize: 64, Extended: true}
	pract   = nvme.Layout{LBASize: 4096, MetadataSize: 8, Extended: true, PI: nvme.PIType1}
)

// TestCheckBeforeAnyIO: what stands in a cell's way is found up front, and
// named with its remedy.
func TestCheckBeforeAnyIO(t *testing.T) {
	passOnly := []iosetup.Path{iosetup.Passthru}
	blockOnly := []iosetup.Path{iosetup.Block}
	tests := []struct {
		name  string
		drive drive
		bs    int
		paths []iosetup.Path
		text  []string // nil: fine
	}{
		{"all four", newDrive(lba512), 4096, iosetup.AllPaths(), nil},
		{"B10 at the limit", newDrive(lba512), 128 << 10, iosetup.AllPaths(), nil},
		{"B10 above the limit", newDrive(lba512), 128<<10 + 512, iosetup.AllPaths(), []string{"--bs 131584", "passthru", "at most 131072 bytes", "MDTS 524288", "max_hw_sectors 131072", "use --bs 131072 or less"}},
		{"block goes above", newDrive(lba512), 1 << 20, blockOnly, nil},
		{"B07 unit", newDrive(ext64), 8192, passOnly, []string{"4160 (4096 data + 64 metadata)"}},
		{"B07 unit fits", newDrive(ext64), 8320, passOnly, nil},
		{"PRACT keeps the tuple", newDrive(pract), 128 << 10, passOnly, nil},
		{"B31 O_DIRECT", newDrive(lba4096), 512, blockOnly, []string{"O_DIRECT needs a multiple of the logical block size 4096"}},
		{"one block is too much", func() drive { d := newDrive(ext64); d.limits.MaxBlocks = 0; return d }(), 4160, passOnly, []string{"not even one block fits", "--paths block,block-poll"}},
		{"block-poll is not split", newDrive(lba512), 128<<10 + 512, []iosetup.Path{iosetup.BlockPoll}, []string{"--bs 131584", "block-poll", "may split", "use --bs 131072 or less"}},
		{"block-poll is not split into segments", segmented(31), 128 << 10, []iosetup.Path{iosetup.BlockPoll}, []string{"max_segments 31", fmt.Sprintf("use --bs %d or less", 31*sys.PageSize())}},
		{"block-poll fits the segments", segmented(32), 128 << 10, []iosetup.Path{iosetup.BlockPoll}, nil},
		{"block may be split", segmented(31), 128 << 10, blockOnly, nil},
		{"small namespace", func() drive { d := newDrive(lba512); d.limits.Blocks = 3; return d }(), 2048, passOnly, []string{"only 3 blocks of 512 bytes", "smaller --bs"}},
		{"small namespace, block", func() drive { d := newDrive(lba512); d.limits.Blocks = 3; return d }(), 2048, blockOnly, []string{"at most 3 blocks", "use --bs 1536 or less"}},
		{"more blocks than a command names", newDrive(lba512), 64 << 20, blockOnly, []string{"at most 65536 blocks of 512 bytes", "use --bs 33554432 or less"}},
		{"no block node", func() drive { d := newDrive(ext64); d.block = ""; return d }(), 4160, []iosetup.Path{iosetup.Passthru, iosetup.Block}, []string{"no block node (layout 4096+64 extended)", "--paths passthru,passthru-poll"}},
		{"empty block node", newDrive(ext64), 9 * 512 * 65, blockOnly, []string{"block: the kernel's block layer offers no data", "layout 4096+64 extended", "--paths passthru,passthru-poll"}},
		{"PRACT spares the block layer the metadata", newDrive(pract), 4096, blockOnly, nil},
		{"B04 no poll queues", func() drive { d := newDrive(lba512); d.poll = false; return d }(), 512, iosetup.AllPaths(), []string{"passthru-poll", "no poll queues", "compare without polling: --paths block,passthru"}},
		{"not polled", func() drive { d := newDrive(lba512); d.poll = false; return d }(), 512, []iosetup.Path{iosetup.Block, iosetup.Passthru}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := compare.Config{BlockSize: tt.bs, Paths: tt.paths}
			err := check(tt.drive, &cfg)
			if tt.text == nil {
				require.NoError(t, err)
				return
			}
			for _, text := range tt.text {
				require.ErrorContains(t, err, text)
			}
		})
	}
}

func TestChooseBlockSize(t *testing.T) {
	for _, tt := range []struct {
		bs, want int
		layouts  []nvme.Layout
	}{
		{0, 512, []nvme.Layout{lba512}}, {0, 4160, []nvme.Layout{ext64, ext64}}, {0, 4096, []nvme.Layout{lba4096, pract}}, {8192, 8192, []nvme.Layout{lba512, lba4096}},
	} {
		cfg := compare.Config{BlockSize: tt.bs}
		require.NoError(t, chooseBlockSize(&cfg, tt.layouts))
		require.Equal(t, tt.want, cfg.BlockSize)
	}
	var usage *badflag.Error
	err := chooseBlockSize(&compare.Config{}, []nvme.Layout{lba512, lba4096})
	require.ErrorAs(t, err, &usage)
	require.Equal(t, "--bs", usage.Flag)
	require.ErrorContains(t, err, "512 and 4096")
}

func TestCheckCPU(t *testing.T) {
	allowed, err := sys.AllowedCPUs()
	require.NoError(t, err)
	require.NoError(t, checkCPU(&compare.Config{}))
	require.NoError(t, checkCPU(&compare.Config{CPU: &allowed[0]}))
	far := iosetup.MaxCPU
	var usage *badflag.Error
	require.ErrorAs(t, checkCPU(&compare.Config{CPU: &far}), &usage)
	require.Equal(t, "--cpu", usage.Flag)
	require.ErrorContains(t, usage, fmt.Sprint(allowed))
}

// TestOpenRefusesAndClosesAll: a path that is no drive ends it, with its name.
func TestOpenRefusesAndClosesAll(t *testing.T) {
	cfg := compare.DefaultConfig()
	cfg.Devices = []string{os.DevNull}
	_, err := Open(&cfg)
	require.ErrorIs(t, err, passthru.ErrWrongNode)
	require.ErrorContains(t, err, "open /dev/null")
}

// TestB14SampleCountsBytesOfWhatWentWell alone.
func TestB14SampleCountsBytesOfWhatWentWell(t *testing.T) {
	s := &Set{cfg: compare.Config{BlockSize: 4160}}
	effective := iosetup.Effective{Polled: true, FixedBuffers: iosetup.FixedPerSlot, RegisteredFiles: true, RegisteredRing: true, RingFlags: uringcmd.IOPoll.Names()}
	got := s.sample(&workload.Result{
		Total: workload.Counts{Issued: 30, OK: 20, Failed: 7, Cancelled: 3},
		Window: workload.Window{
			Time: time.Second, OK: 10, Failed: 5, Cancelled: 1, Enters: 4, Submitted: 16, Reaped: 12, InFlight: 7.5, UserCPU: 3 * time.Millisecond, SystemCPU: 4 * time.Millisecond,
		},
		Errors: map[string]uint64{"EINVAL": 7, "EINTR": 3},
	}, effective)
	four, three, inFlight := 4.0, 3.0, 7.5
	require.Equal(t, compare.Sample{
		WindowNS: 1e9, OK: 10, Failed: 5, Cancelled: 1, Run: compare.Counts{Issued: 30, OK: 20, Failed: 7, Cancelled: 3},
		Bytes: 41600, Enters: 4, SubmitPerCall: &four, ReapPerCall: &three, MeanInFlight: &inFlight, UserCPUNS: 3e6, SystemCPUNS: 4e6,
		Settings: effective,
		Errors:   map[string]uint64{"EINVAL": 7, "EINTR": 3},
	}, got)
}

// TestEmptyWindowHasNoRates: no figure is made up where nothing was measured.
func TestEmptyWindowHasNoRates(t *testing.T) {
	got := new(Set).sample(&workload.Result{}, iosetup.Effective{})
	require.Nil(t, got.SubmitPerCall)
	require.Nil(t, got.ReapPerCall)
	require.Nil(t, got.MeanInFlight)
	require.Zero(t, got.Bytes)
	one := new(Set).sample(&workload.Result{Window: workload.Window{Submitted: 1}}, iosetup.Effective{})
	require.Nil(t, one.SubmitPerCall, "nor infinity")
	require.Zero(t, math.Float64bits(got.IOPS()))
}

func TestB47StopIfGone(t *testing.T) {
	for _, cause := range []error{syscall.ENODEV, syscall.ENXIO, uringcmd.ErrStalled} {
		err := stopIfGone(fmt.Errorf("read: %w", cause))
		require.ErrorIs(t, err, compare.ErrStop)
		require.ErrorIs(t, err, cause)
	}
	require.NotErrorIs(t, stopIfGone(syscall.EIO), compare.ErrStop)
	require.NoError(t, stopIfGone(nil))
}
