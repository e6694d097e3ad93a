package sweep

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/badflag"
	"github.com/nvmepass/nvmepass/iopoll"
	"github.com/nvmepass/nvmepass/nvme"
	"github.com/nvmepass/nvmepass/passthru"
)

func TestParseSizes(t *testing.T) {
	got, err := ParseSizes("1m, 512,144k,128KiB")
	require.NoError(t, err)
	require.Equal(t, []int{512, 128 << 10, 144 << 10, 1 << 20}, got, "sorted")
	for in, value := range map[string]string{
		"": `""`, "4k,": `""`, "4KB": `"4KB"`, "0": "0", "-1": `"-1"`, "4k,4096": "4k", "1g": "1g", "4k;8k": `"4k;8k"`,
	} {
		_, err := ParseSizes(in)
		var bad *badflag.Error
		require.ErrorAs(t, err, &bad, in)
		require.Equal(t, "--bs-list", bad.Flag)
		require.Equal(t, value, bad.Value)
	}
	many := make([]int, MaxSizes+1)
	for i := range many {
		many[i] = 512 * (i + 1)
	}
	require.ErrorContains(t, validateSizes(many), "at most 100")
}

func TestParsePaths(t *testing.T) {
	got, err := ParsePaths("sync-poll, block-poll")
	require.NoError(t, err)
	require.Equal(t, []Path{SyncPoll, BlockPoll}, got, "the order asked for is kept")
	for in, value := range map[string]string{"": `""`, "sync,sync": "sync", "SYNC": `"SYNC"`, "block,poll": `"poll"`} {
		_, err := ParsePaths(in)
		var bad *badflag.Error
		require.ErrorAs(t, err, &bad, in)
		require.Equal(t, value, bad.Value)
	}
	for _, p := range AllPaths() {
		require.Equal(t, p == Sync || p == SyncPoll, p.Synchronous())
		require.Equal(t, p == Passthru || p == PassthruPoll, p.Passthru())
		require.Equal(t, p == BlockPoll || p == PassthruPoll, p.PolledRing())
	}
}

func TestDefaultSizes(t *testing.T) {
	k := func(sizes ...int) (out []int) {
		for _, n := range sizes {
			out = append(out, n<<10)
		}
		return out
	}
	for _, tt := range []struct {
		name        string
		unit, limit uint64
		want        []int
	}{
		{"as published", 512, 128 << 10, slices.Concat([]int{512}, k(4, 8, 16, 32, 64), []int{128<<10 - 512}, k(128, 144, 256, 512, 1024))},
		{"the lab", 4096, 512 << 10, k(4, 8, 16, 32, 64, 128, 256, 508, 512, 528, 1024)},
		{"a high limit", 512, 2 << 20, slices.Concat([]int{512}, k(4, 8, 16, 32, 64, 128, 256, 512, 1024), []int{2<<20 - 512}, k(2048, 2064, 4096))},
		{"no limit", 512, 0, slices.Concat([]int{512}, k(4, 8, 16, 32, 64, 128, 256, 512, 1024))},
		{"extended metadata", 4160, 128 << 10, []int{4160, 8320, 16640, 33280, 66560, 124800, 128960, 133120, 141440, 257920, 266240, 532480}},
		{"one block and no more", 4096, 4096, k(4, 8, 16, 32, 64, 128, 256, 512, 1024)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := DefaultSizes(tt.unit, tt.limit)
			require.Equal(t, tt.want, got)
			for _, n := range got {
				require.Zero(t, n%int(tt.unit))
			}
			require.NoError(t, validateSizes(slices.Clone(got)))
		})
	}
	require.LessOrEqual(t, slices.Max(DefaultSizes(512, 1<<40)), 256<<20)
}

func TestValidate(t *testing.T) {
	valid := DefaultConfig()
	valid.Device = "/dev/ng0n1"
	require.NoError(t, valid.Validate())
	for _, tt := range []struct {
		flag   string
		change func(*Config)
	}{
		{"DEVICE", func(c *Config) { c.Device = " " }},
		{"--paths", func(c *Config) { c.Paths = nil }},
		{"--bs-list", func(c *Config) { c.Sizes = []int{4096, 4096} }},
		{"--qd", func(c *Config) { c.QD = 0 }},
		{"--qd", func(c *Config) { c.QD = 4097 }},
		{"--qd", func(c *Config) { c.QD = 2 }}, // beside synchronous paths
		{"--runtime", func(c *Config) { c.Runtime = 0 }},
		{"--sqpoll-cpu", func(c *Config) { c.SQPollCPU = new(0) }},
	} {
		c := valid
		tt.change(&c)
		var bad *badflag.Error
		require.ErrorAs(t, c.Validate(), &bad)
		require.Equal(t, tt.flag, bad.Flag)
	}
	valid.QD, valid.Paths = 8, RingPaths()
	require.NoError(t, valid.Validate())
	require.Equal(t, "144k block-poll", Cell{144 << 10, BlockPoll}.String())
}

func TestLimits(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"max_sectors_kb": "256\n", "chunk_sectors": "1024\n"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	lim := passthru.Limits{MaxTransfer: 512 << 10, MDTS: 512 << 10, MaxHWSectors: 2 << 20, MaxSegments: 127}
	got := findLimits(lim, dir)
	require.Equal(t, Limits{OneCommand: 512 << 10, MDTS: 512 << 10, MaxHWSectors: 2 << 20, MaxSectors: 256 << 10, Chunk: 512 << 10, Unsplit: 256 << 10}, got)
	bare := findLimits(passthru.Limits{}, filepath.Join(dir, "none"))
	require.Equal(t, Limits{}, bare)
	require.False(t, bare.MaySplit(1<<28))
	require.Equal(t, 1, bare.Pieces(1<<28))
	require.Equal(t, "/sys/class/block/nvme0n1/queue", queueDir("/dev/nvme0n1"))

	l := Limits{OneCommand: 128 << 10, Unsplit: 124 << 10}
	for _, tt := range []struct {
		size, pieces int
		split        bool
	}{{512, 1, false}, {124 << 10, 1, false}, {128 << 10, 1, true}, {128<<10 + 512, 2, true}, {256 << 10, 2, true}, {1 << 20, 8, true}} {
		require.Equal(t, tt.pieces, l.Pieces(tt.size), tt.size)
		require.Equal(t, tt.split, l.MaySplit(tt.size), tt.size)
	}
	chunked := Limits{Chunk: 128 << 10}
	require.False(t, chunked.MaySplit(64<<10))
	require.True(t, chunked.MaySplit(12<<10), "12k at multiples of 12k crosses 128k")
	require.True(t, chunked.MaySplit(256<<10))
	require.Equal(t, 2, chunked.Pieces(256<<10))
}

// drive is a namespace on paper.
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

func plain() drive {
	return drive{
		layout: nvme.Layout{LBASize: 512}, poll: true, block: "/dev/nvme0n1",
		limits: passthru.Limits{Blocks: 1 << 21, MaxTransfer: 128 << 10, MaxBlocks: 256, MDTS: 128 << 10, MaxHWSectors: 128 << 10, MaxSegments: 33},
	}
}

func TestReason(t *testing.T) {
	hangs, old := kernel{splitPolled: errors.New("may never complete on Linux 6.1")}, kernel{splitPolled: errors.New("old"), syncPolls: true}
	small := plain()
	small.limits.Blocks = 64
	big := plain()
	big.layout.LBASize = 4096
	for _, tt := range []struct {
		name string
		d    drive
		k    kernel
		c    Cell
		want string // "" runs
	}{
		{"fits", plain(), hangs, Cell{128 << 10, BlockPoll}, ""},
		{"split on a kernel that hangs", plain(), hangs, Cell{144 << 10, BlockPoll}, "may never complete"},
		{"split on one that does not", plain(), kernel{}, Cell{144 << 10, BlockPoll}, ""},
		{"split by interrupt", plain(), hangs, Cell{144 << 10, Block}, ""},
		{"split and synchronous", plain(), hangs, Cell{144 << 10, SyncPoll}, ""},
		{"split and really polled", plain(), old, Cell{144 << 10, SyncPoll}, "never complete it"},
		{"really polled", plain(), old, Cell{128 << 10, SyncPoll}, ""},
		{"synchronous", plain(), old, Cell{144 << 10, Sync}, ""},
		{"one command", plain(), kernel{}, Cell{128 << 10, Passthru}, ""},
		{"two commands", plain(), kernel{}, Cell{144 << 10, PassthruPoll}, "never carries more than 131072 bytes here (MDTS 128k, max_hw_sectors 128k)"},
		{"half a block", plain(), kernel{}, Cell{700, Passthru}, "700"},
		{"half a block, O_DIRECT", big, kernel{}, Cell{512, Sync}, "multiple of the logical block size 4096"},
		{"small drive", small, kernel{}, Cell{64 << 10, Passthru}, "longer than the namespace"},
		{"small drive, block", small, kernel{}, Cell{64 << 10, Block}, "longer than the namespace"},
		{"more than a read", plain(), kernel{}, Cell{64 << 20, Block}, "that one read takes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := findLimits(tt.d.limits, "")
			got := reason(tt.d, &l, tt.k, tt.c)
			if tt.want == "" {
				require.Empty(t, got)
				return
			}
			require.Contains(t, got, tt.want)
		})
	}
}

func TestCheckPathsAndSizes(t *testing.T) {
	dead, nodeless, extended := plain(), plain(), plain()
	dead.poll, nodeless.block = false, ""
	extended.layout = nvme.Layout{LBASize: 512, MetadataSize: 8, Extended: true}
	require.NoError(t, checkPaths(plain(), AllPaths()))
	require.ErrorIs(t, checkPaths(dead, AllPaths()), iopoll.ErrNoPollQueues)
	require.ErrorContains(t, checkPaths(dead, AllPaths()), "--paths block,passthru,sync")
	require.NoError(t, checkPaths(dead, []Path{Block, Passthru, SyncPoll, Sync}))
	for _, d := range []drive{nodeless, extended} {
		require.ErrorContains(t, checkPaths(d, []Path{Passthru, Sync}), "--paths passthru,passthru-poll")
		require.NoError(t, checkPaths(d, []Path{Passthru}))
	}
	l := findLimits(plain().limits, "")
	cfg := Config{Paths: []Path{Passthru, PassthruPoll}, Sizes: []int{512, 144 << 10}}
	var bad *badflag.Error
	require.ErrorAs(t, checkSizes(plain(), &l, kernel{}, &cfg), &bad)
	require.Equal(t, "144k", bad.Value)
	cfg.Paths = append(cfg.Paths, Sync)
	require.NoError(t, checkSizes(plain(), &l, kernel{}, &cfg))
}

func TestKernelOf(t *testing.T) {
	err := errors.New("x")
	require.Equal(t, kernel{err, false}, kernelOf("6.1.0", err))
	require.Equal(t, kernel{nil, true}, kernelOf("5.15.0", nil))
}
