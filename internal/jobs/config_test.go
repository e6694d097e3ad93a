package jobs

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/badflag"
	"github.com/nvmepass/nvmepass/internal/iosetup"
	"github.com/nvmepass/nvmepass/internal/workload"
	"github.com/nvmepass/nvmepass/iopoll"
	"github.com/nvmepass/nvmepass/nvme"
	"github.com/nvmepass/nvmepass/passthru"
)

func TestValidate(t *testing.T) {
	require.NoError(t, testConfig(1).Validate())
	for _, tt := range []struct {
		change func(c *Config)
		flag   string
		says   string
	}{
		{func(c *Config) { c.Devices = nil }, "DEVICE", "at least 1"},
		{func(c *Config) { c.Devices = []string{" "} }, "DEVICE", "empty name"},
		{func(c *Config) { c.Devices = append(c.Devices, c.Devices[0]) }, "DEVICE", "only once"},
		{func(c *Config) { c.RW = "randrd" }, "--rw", "randread"},
		{func(c *Config) { c.RW, c.Path = workload.Trim, iosetup.Block }, "--rw", "passthru"},
		{func(c *Config) { c.Path = "blok" }, "--path", "block-poll"},
		{func(c *Config) { c.BlockSize = -1 }, "--bs", "1 to"},
		{func(c *Config) { c.BlockSize = math.MaxInt }, "--bs", "1 to"},
		{func(c *Config) { c.Depth.QD = 0 }, "--qd", "1 to 4096"},
		{func(c *Config) { c.Depth.QD = 5000 }, "--qd", "1 to 4096"},
		{func(c *Config) { c.Depth.Batch = 9 }, "--batch", "which is 8"},
		{func(c *Config) { c.Depth.Batch = 0 }, "--batch", "1 to"},
		{func(c *Config) { c.Rule = "x" }, "--batch-rule", "tio"},
		{func(c *Config) { c.Jobs = -1 }, "--numjobs", "1 to"},
		{func(c *Config) { c.Jobs = 2000 }, "--numjobs", "1024"},
		{func(c *Config) { c.Devices, c.Jobs = []string{"a", "b"}, 1 }, "--numjobs", "--shared-ring"},
		{func(c *Config) { c.SharedRing = true }, "--shared-ring", "only one device"},
		{func(c *Config) {
			c.Devices, c.SharedRing, c.Depth = []string{"a", "b"}, true, iosetup.Depth{QD: 1, Batch: 1}
		}, "--qd", "2 or more"},
		{func(c *Config) { c.Devices, c.SharedRing, c.RW = []string{"a", "b"}, true, workload.Zeroes }, "--shared-ring", "a ring for each"},
		{func(c *Config) { c.CPUs = []int{9000} }, "--cpu", "8191"},
		{func(c *Config) { c.CPUs = []int{1, 1} }, "--cpu", "only once"},
		{func(c *Config) { c.Runtime = 0 }, "--runtime", "--number-ios"},
		{func(c *Config) { c.Runtime = -1 }, "--runtime", "above 0"},
		{func(c *Config) { c.Runtime = 25 * time.Hour }, "--runtime", "24h"},
		{func(c *Config) { c.Warmup = -1 }, "--warmup", "0 to"},
		{func(c *Config) { c.Warmup, c.RW = 1, workload.Append }, "--warmup", "leave it out"},
		{func(c *Config) { c.Number, c.IOSize = 1, 1 }, "--io-size", "--number-ios"},
		{func(c *Config) { c.Distribution = "zipf" }, "--random-distribution", "zipf:1.2"},
		{func(c *Config) { c.Distribution, c.RW = "zipf:1", workload.Read }, "--random-distribution", "draws no addresses"},
		{func(c *Config) { c.ReadPercent = 101 }, "--rwmixread", "0 to 100"},
		{func(c *Config) { c.RateIOPS = math.MaxUint64 }, "--rate-iops", "at most"},
		{func(c *Config) { c.RateProcess = "x" }, "--rate-process", "poisson"},
		{func(c *Config) { c.RateProcess = Poisson }, "--rate-process", "--rate-iops"},
		{func(c *Config) { c.HybridPoll = true }, "--hybrid-poll", "does not poll"},
		{func(c *Config) { c.SQPollIdle = time.Second }, "--sqpoll-idle", "--sqpoll"},
	} {
		c := testConfig(1)
		tt.change(c)
		err := c.Validate()
		var bad *badflag.Error
		require.ErrorAs(t, err, &bad, tt.flag)
		require.ErrorContains(t, err, tt.flag)
		require.ErrorContains(t, err, tt.says)
		require.NotEmpty(t, bad.Remedy)
	}
}

// space is a namespace that is only described.
type space struct {
	name, block string
	layout      nvme.Layout
	limits      passthru.Limits
	poll        iopoll.Support
	set         nvme.CommandSet
}

func (s *space) Path() string                { return s.name }
func (s *space) BlockPath() string           { return s.block }
func (s *space) Layout() nvme.Layout         { return s.layout }
func (s *space) Limits() passthru.Limits     { return s.limits }
func (s *space) Poll() iopoll.Support        { return s.poll }
func (s *space) CommandSet() nvme.CommandSet { return s.set }
func (s *space) Controller() *nvme.IdentifyController {
	return &nvme.IdentifyController{SN: s.name}
}

func plain(lba uint32) *space {
	return &space{
		name: "/dev/ng0n1", block: "/dev/nvme0n1", layout: nvme.Layout{LBASize: lba}, poll: iopoll.Support{Enabled: true, Queues: [][]int{{0}}},
		limits: passthru.Limits{Blocks: 1 << 20, MaxTransfer: 128 << 10, MaxBlocks: 128 << 10 / lba, MDTS: 128 << 10, MaxHWSectors: 128 << 10, MaxSegments: 128},
	}
}

// spaces are namespaces of different drives.
func spaces(lbas ...uint32) (all []Namespace) {
	for i, lba := range lbas {
		s := plain(lba)
		s.name = fmt.Sprintf("/dev/ng%dn1", i)
		all = append(all, s)
	}
	return all
}

func TestCheckChooses(t *testing.T) {
	c := testConfig(2)
	require.NoError(t, Check(c, spaces(512, 512)))
	require.Equal(t, 512, c.BlockSize)
	require.Equal(t, 2, c.Jobs)
	c = testConfig(2)
	c.SharedRing, c.IOSize, c.BlockSize = true, 10_000, 4096
	require.NoError(t, Check(c, spaces(512, 4096)))
	require.Equal(t, 1, c.Jobs)
	require.EqualValues(t, 2, c.Number)
}

// TestB13DeviceEnd: commands are whole and end before the region does; what is
// left is known.
func TestB13DeviceEnd(t *testing.T) {
	odd := plain(4096)
	odd.limits.Blocks = 262145
	whole := int64(262145) * 4096
	for _, tt := range []struct {
		bs                    int
		offset, size          uint64
		first, blocks, remain uint64
		says                  string
	}{
		{bs: 131072, blocks: 262145, remain: 1},
		{bs: 4096, offset: uint64(whole) - 4096, first: 262144, blocks: 1},
		{bs: 8192, size: 12288, blocks: 3, remain: 1},
		{bs: 4096, offset: uint64(whole), says: "the namespace has 1073745920 bytes"},
		{bs: 4096, offset: 1, says: "--offset 1"},
		{bs: 4096, size: 4095, says: "--size 4095"},
		{bs: 4096, size: 9120, says: "--size 9120"},
		{bs: 8192, offset: uint64(whole) - 4096, says: "no whole command"},
	} {
		c := testConfig(1)
		c.BlockSize, c.Offset, c.Size = tt.bs, tt.offset, tt.size
		err := Check(c, []Namespace{odd})
		if tt.says != "" {
			require.ErrorContains(t, err, tt.says)
			continue
		}
		require.NoError(t, err)
		first, blocks := c.region(odd)
		require.Equal(t, []uint64{tt.first, tt.blocks, tt.remain}, []uint64{first, blocks, c.leftOut(odd)})
	}
}

// TestCheckRefusesOneDriveTwice: both nodes of it name the same namespace.
func TestCheckRefusesOneDriveTwice(t *testing.T) {
	a, b := plain(512), plain(512)
	b.name = "/dev/ng1n1"
	require.NoError(t, Check(testConfig(2), []Namespace{a, b}))
	require.ErrorContains(t, Check(testConfig(2), []Namespace{a, a}), "/dev/ng0n1 and /dev/ng1n1 are the same namespace")
}

func TestCheckRefuses(t *testing.T) {
	zoned := plain(4096)
	zoned.set = nvme.SetZNS
	unpolled := plain(512)
	unpolled.poll = iopoll.Support{}
	charOnly := plain(512)
	charOnly.block = ""
	extended := plain(512)
	extended.layout.MetadataSize, extended.layout.Extended = 8, true
	interleaved := plain(4096)
	interleaved.layout.MetadataSize, interleaved.layout.Extended = 64, true
	interleaved.limits.MaxBlocks = 31
	kv := plain(512)
	kv.set = nvme.SetKV
	for _, tt := range []struct {
		d      *space
		change func(c *Config)
		says   string
	}{
		{plain(512), func(c *Config) { c.BlockSize = 513 }, "--bs 513"},
		{plain(512), func(c *Config) { c.BlockSize = 256 << 10 }, "use --bs 131072"},
		{plain(512), func(c *Config) { c.IOSize, c.BlockSize = 100, 512 }, "--io-size 100"},
		{plain(512), func(c *Config) { c.Offset = 100 }, "--offset 100"},
		{plain(512), func(c *Config) { c.Offset = 512 << 20 }, "lower"},
		{plain(512), func(c *Config) { c.Size = 100 }, "--size 100"},
		{plain(512), func(c *Config) { c.Size = 513 << 20 }, "smaller"},
		{plain(512), func(c *Config) { c.Size, c.BlockSize = 512, 4096 }, "no whole command"},
		{plain(512), func(c *Config) { c.RW = workload.Append }, "no zones"},
		{zoned, func(c *Config) { c.RW = workload.RandWrite }, "--rw append"},
		{unpolled, func(c *Config) { c.Path = iosetup.PassthruPoll }, "nvme.poll_queues=1"},
		{charOnly, func(c *Config) { c.Path = iosetup.Block }, "no block node"},
		{extended, func(c *Config) { c.Path = iosetup.Block }, "metadata between"},
		{interleaved, func(c *Config) { c.BlockSize = 8192 }, "--bs 8192: block size 8192 is not a multiple of 4160 (4096 data + 64 metadata)"},
		{interleaved, func(c *Config) { c.BlockSize = 32 * 4160 }, "use --bs 128960"},
		{kv, func(*Config) {}, "command set"},
	} {
		c := testConfig(1)
		tt.change(c)
		require.ErrorContains(t, Check(c, []Namespace{tt.d}), tt.says)
	}
	c := testConfig(2)
	require.ErrorContains(t, Check(c, spaces(512, 4096)), "512 and 4096")
	c = testConfig(1)
	c.BlockSize = 8320
	require.NoError(t, Check(c, []Namespace{interleaved}), "two blocks with their metadata")
	c = testConfig(1)
	c.RW, c.BlockSize = workload.RandTrim, 64<<20
	require.NoError(t, Check(c, []Namespace{plain(512)}), "a trim moves no data")
}

// TestOldKernelsPollOneRingPerDrive, because more can crash them.
func TestOldKernelsPollOneRingPerDrive(t *testing.T) {
	check := func(release string, devices, jobs int, shared bool, path iosetup.Path) error {
		c := testConfig(devices)
		c.Jobs, c.SharedRing, c.Path = jobs, shared, path
		return checkOldPolling(c, spaces(512, 512)[:devices], release)
	}
	for _, release := range []string{"5.19.0", "6.1.192-cloud", "6.5.13"} {
		require.NoError(t, check(release, 2, 2, false, iosetup.PassthruPoll))
		require.NoError(t, check(release, 2, 1, true, iosetup.PassthruPoll))
		require.NoError(t, check(release, 1, 4, false, iosetup.BlockPoll))
		require.NoError(t, check(release, 1, 4, false, iosetup.Passthru))
		require.ErrorContains(t, check(release, 1, 2, false, iosetup.PassthruPoll), "crash the kernel")
		require.ErrorContains(t, check(release, 2, 3, false, iosetup.PassthruPoll), "one job per drive")
		require.ErrorContains(t, check(release, 2, 2, true, iosetup.PassthruPoll), release)
	}
	c := testConfig(1)
	c.Jobs, c.RW, c.Path = 1, workload.RandZeroes, iosetup.PassthruPoll
	require.ErrorContains(t, checkOldPolling(c, spaces(512), "6.1.192"), "without data")
	require.NoError(t, checkOldPolling(c, spaces(512), "6.12.0"))
	for _, release := range []string{"6.6.0", "6.12.117+deb13", "7.3", ""} {
		require.NoError(t, check(release, 1, 9, false, iosetup.PassthruPoll))
	}
}

func TestRateOfBoth(t *testing.T) {
	for _, tt := range []struct {
		iops, bytes uint64
		want        float64
	}{{0, 0, 0}, {100, 0, 100}, {0, 4096, 8}, {100, 4096, 8}, {5, 4096, 5}} {
		c := &Config{RateIOPS: tt.iops, Rate: tt.bytes, BlockSize: 512}
		require.Equal(t, tt.want, c.rate())
	}
}

func TestSpread(t *testing.T) {
	s := &Spread{}
	require.Nil(t, s.orNil())
	for _, v := range []float64{2, 4, 4, 4, 5, 5, 7, 9} {
		s.add(v)
	}
	require.Equal(t, []float64{2, 9, 5, 2}, []float64{s.Min, s.Max, s.Mean, s.Stddev})
	require.Same(t, s, s.orNil())
}

func TestPlacement(t *testing.T) {
	root := t.TempDir()
	for name, list := range map[string]string{"node0": "0-3\n", "node1": "4-7\n", "node2": "\n"} {
		dir := filepath.Join(root, "devices/system/node", name)
		require.NoError(t, os.MkdirAll(dir, 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "cpulist"), []byte(list), 0o600))
	}
	topo := readTopology(root, []int{2, 3, 4, 5})
	require.Equal(t, map[int][]int{0: {2, 3}, 1: {4, 5}}, topo.nodes)
	place := func(asked []int, job int, nodes ...int) []int {
		cpus, err := topo.place(asked, job, nodes)
		require.NoError(t, err)
		return cpus
	}
	require.Equal(t, []int{4}, place([]int{2, 4}, 3, 0), "asked for, in turn")
	require.Equal(t, []int{4, 5}, place(nil, 0, 1), "near the drive")
	require.Nil(t, place(nil, 0, -1))
	require.Nil(t, place(nil, 0, 0, 1), "drives on different nodes")
	require.Nil(t, place(nil, 0, 7))
	_, err := topo.place([]int{0}, 0, nil)
	require.ErrorContains(t, err, "--cpu 0")

	require.Contains(t, topo.far([]int{4}, "/dev/ng0n1", 0), "NUMA node 0, and CPU 4 is not")
	require.Empty(t, topo.far([]int{2}, "/dev/ng0n1", 0))
	require.Empty(t, topo.far([]int{4}, "/dev/ng0n1", -1))
	require.Empty(t, topo.far(nil, "/dev/ng0n1", 0))
	one := topology{allowed: []int{0}, nodes: map[int][]int{0: {0}}}
	require.Empty(t, one.far([]int{0}, "/dev/ng0n1", 1))
	require.Equal(t, map[int][]int{}, readTopology(t.TempDir(), nil).nodes)
}

func TestCapacityWarnings(t *testing.T) {
	h := hardware{queues: 4, requests: 100, polled: 1}
	text := func(polled bool, rings, depth int) string {
		return strings.Join(h.warnings("/dev/ng0n1", polled, rings, depth), "\n")
	}
	require.Empty(t, text(false, 4, 300))
	require.Contains(t, text(false, 4, 301), "3 queues for 100 each")
	require.Contains(t, text(false, 1, 128), "one job asks 128")
	require.Empty(t, text(true, 1, 100))
	require.Contains(t, text(true, 2, 100), "2 jobs poll /dev/ng0n1, which has 1 poll queue:")
	require.Contains(t, text(true, 1, 101), "1 queue for 100 each")
	require.Empty(t, hardware{polled: -1}.warnings("x", true, 9, 9999), "nothing is known")
}

func TestDecode(t *testing.T) {
	for text, says := range map[string]string{
		"":                              "not a JSON document",
		"{}":                            `schema ""`,
		`{"schema":"nvmepass.run/1"} x`: "something follows",
	} {
		_, err := Decode(strings.NewReader(text))
		require.ErrorContains(t, err, says)
	}
}
