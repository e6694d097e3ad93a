package inventory_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/inventory"
	"github.com/nvmepass/nvmepass/internal/inventory/inventorytest"
	"github.com/nvmepass/nvmepass/internal/sysfs/sysfstest"
	"github.com/nvmepass/nvmepass/nvme"
)

var (
	plainFormats = []inventorytest.Format{{LBADS: 9}, {LBADS: 12}, {LBADS: 12, MS: 64}, {LBADS: 12, MS: 16}}
	plain        = inventorytest.Namespace{Blocks: 1 << 20, Formats: plainFormats}
)

// oneDrive is a controller with a plain namespace, whose device number is not
// its NSID.
func oneDrive(t *testing.T) (*sysfstest.Tree, map[string]inventorytest.Node) {
	x := sysfstest.New(t)
	c := x.Controller("S1")
	x.Subsystem("nvme-subsys0", c)
	x.Generic(c, "ng0n1")
	x.Disk(c, "nvme0n1", 3, 1<<20)
	d := &inventorytest.Drive{Serial: "S1", Namespaces: map[uint32]inventorytest.Namespace{3: plain}}
	return x, map[string]inventorytest.Node{"/dev/ng0n1": {Drive: d, NSID: 3}, "/dev/nvme0n1": {Drive: d, NSID: 3}, "/dev/nvme0": {Drive: d}}
}

func TestListPlain(t *testing.T) {
	x, nodes := oneDrive(t)
	l := inventorytest.Source(x, nodes).List()
	require.Len(t, l.Controllers, 1)
	c := l.Controllers[0]
	require.Equal(t, "/dev/nvme0", c.Node)
	require.Equal(t, "nvme-subsys0", c.Subsystem)
	require.Equal(t, []uint32{3}, c.Namespaces)
	require.Nil(t, c.NUMANode)
	require.Empty(t, c.Notes)
	require.Len(t, l.Namespaces, 1)
	n := l.Namespaces[0]
	require.Equal(t, "/dev/ng0n1", n.Generic)
	require.Equal(t, "/dev/nvme0n1", n.Block)
	require.Equal(t, uint32(3), n.NSID)
	require.Equal(t, uint64(1<<20), n.Blocks)
	require.Equal(t, uint64(512<<20), n.SizeBytes)
	require.Equal(t, inventory.Format{Index: 0, DataBytes: 512, Metadata: "none"}, n.Format)
	require.Equal(t, "NVM", n.CommandSet)
	require.Equal(t, []string{"nvme0"}, n.Controllers)
	require.False(t, n.Multipath)
	require.Equal(t, "identify", n.Source)
	require.Empty(t, n.Notes)
}

// TestListFormats: metadata and protection are told apart.
func TestListFormats(t *testing.T) {
	for _, tt := range []struct {
		ns   inventorytest.Namespace
		want inventory.Format
	}{
		{inventorytest.Namespace{FLBAS: 1}, inventory.Format{Index: 1, DataBytes: 4096, Metadata: "none"}},
		{inventorytest.Namespace{FLBAS: 0x12}, inventory.Format{Index: 2, DataBytes: 4096, MetadataBytes: 64, Metadata: "extended"}},
		{inventorytest.Namespace{FLBAS: 2}, inventory.Format{Index: 2, DataBytes: 4096, MetadataBytes: 64, Metadata: "separate"}},
		{inventorytest.Namespace{FLBAS: 2, PI: 0x9}, inventory.Format{Index: 2, DataBytes: 4096, MetadataBytes: 64, Metadata: "separate", ProtectionType: 1, GuardBits: 16, First: true}},
		{inventorytest.Namespace{FLBAS: 3, PI: 2, GuardBits: 64}, inventory.Format{Index: 3, DataBytes: 4096, MetadataBytes: 16, Metadata: "separate", ProtectionType: 2, GuardBits: 64}},
	} {
		x, nodes := oneDrive(t)
		tt.ns.Blocks, tt.ns.Formats = 1<<20, plainFormats
		nodes["/dev/ng0n1"].Drive.Namespaces[3] = tt.ns
		n := inventorytest.Source(x, nodes).List().Namespaces[0]
		require.Equal(t, tt.want, n.Format)
		require.Equal(t, uint64(1<<20)*uint64(tt.want.DataBytes), n.SizeBytes)
	}
}

// TestListOrdinary: without a right to open anything, sysfs tells nodes, names
// and sizes, and nodes are paired by the driver's instance numbers.
func TestListOrdinary(t *testing.T) {
	x, _ := oneDrive(t)
	x.Write("/sys/block/nvme0n1/metadata_bytes", "0")
	x.Write("/sys/block/nvme0n1/csi", "2")
	l := inventorytest.Source(x, nil).List()
	n := l.Namespaces[0]
	require.Equal(t, "/dev/nvme0n1", n.Block)
	require.Equal(t, uint32(3), n.NSID)
	require.Equal(t, "S1", n.Serial)
	require.Equal(t, uint64(512<<20), n.SizeBytes)
	require.Equal(t, uint64(1<<20), n.Blocks)
	require.Equal(t, inventory.Format{Index: -1, DataBytes: 512, Metadata: "none"}, n.Format)
	require.Equal(t, "ZNS", n.CommandSet)
	require.Equal(t, "sysfs", n.Source)
	require.Len(t, n.Notes, 1)
	require.Contains(t, n.Notes[0], "permission denied")
	require.Equal(t, []uint32{3}, l.Controllers[0].Namespaces)
	require.Contains(t, l.Controllers[0].Notes[0], "only namespaces with a node")
}

// TestListMultipath: the head is listed once, with its paths.
func TestListMultipath(t *testing.T) {
	x := sysfstest.New(t)
	a, b := x.Controller("S1"), x.Controller("S1")
	s := x.Subsystem("nvme-subsys0", a, b)
	x.Generic(s, "ng0n1")
	x.Disk(s, "nvme0n1", 1, 1<<20)
	x.HiddenDisk(a, "nvme0c0n1", 1, 1<<20)
	x.Write(x.HiddenDisk(b, "nvme0c1n1", 1, 1<<20)+"/ana_state", "non-optimized")
	x.Write(b+"/state", "connecting")
	d := &inventorytest.Drive{Serial: "S1", Namespaces: map[uint32]inventorytest.Namespace{1: plain}}
	l := inventorytest.Source(x, map[string]inventorytest.Node{"/dev/ng0n1": {Drive: d, NSID: 1}, "/dev/nvme0": {Drive: d}, "/dev/nvme1": {Drive: d}}).List()
	require.Len(t, l.Namespaces, 1)
	n := l.Namespaces[0]
	require.True(t, n.Multipath)
	require.Equal(t, []string{"nvme0", "nvme1"}, n.Controllers)
	require.Equal(t, []inventory.Path{
		{Name: "nvme0c0n1", Controller: "nvme0", Transport: "pcie", Address: "0000:00:01.0", State: "live"},
		{Name: "nvme0c1n1", Controller: "nvme1", Transport: "pcie", Address: "0000:00:02.0", State: "connecting", ANA: "non-optimized"},
	}, n.Paths)
	require.Equal(t, "/dev/nvme0n1", n.Block)
}

// TestListWithoutNodes: a namespace that the kernel made no node of, one
// without a block node, one without a generic node, and a controller without a
// namespace.
func TestListWithoutNodes(t *testing.T) {
	x := sysfstest.New(t)
	c := x.Controller("S1")
	x.Generic(c, "ng0n1")
	x.Disk(c, "nvme0n2", 2, 1<<20)
	x.Controller("S2")
	kv := inventorytest.Namespace{Blocks: 5, Formats: plainFormats, CSI: nvme.SetKV}
	d := &inventorytest.Drive{Serial: "S1", Namespaces: map[uint32]inventorytest.Namespace{1: kv, 2: plain, 9: plain}}
	empty := &inventorytest.Drive{Serial: "S2"}
	l := inventorytest.Source(x, map[string]inventorytest.Node{
		"/dev/ng0n1": {Drive: d, NSID: 1}, "/dev/nvme0n2": {Drive: d, NSID: 2}, "/dev/nvme0": {Drive: d}, "/dev/nvme1": {Drive: empty},
	}).List()
	require.Len(t, l.Namespaces, 3)
	require.Equal(t, []uint32{1, 2, 9}, l.Controllers[0].Namespaces)
	require.Empty(t, l.Controllers[1].Namespaces)
	require.Empty(t, l.Controllers[1].Notes)
	first, second, third := l.Namespaces[0], l.Namespaces[1], l.Namespaces[2]
	require.Equal(t, "KV", first.CommandSet)
	require.Empty(t, first.Block)
	require.Contains(t, first.Notes[0], "no logical blocks")
	require.Empty(t, second.Generic)
	require.Equal(t, uint64(512<<20), second.SizeBytes)
	require.Contains(t, second.Notes[0], "5.13")
	require.Equal(t, uint32(9), third.NSID)
	require.Empty(t, third.Generic+third.Block)
	require.Equal(t, []string{"nvme0"}, third.Controllers)
	require.Equal(t, uint64(512<<20), third.SizeBytes)
	require.Contains(t, third.Notes[0], "no node")
}

// TestListUnprivileged: who may open the node but not ask for the command set
// gets it from sysfs, where that tells.
func TestListUnprivileged(t *testing.T) {
	for _, tt := range []struct {
		csi, zoned string
		want       string
		notes      int
	}{{"", "host-managed", "ZNS", 0}, {"2", "none", "ZNS", 0}, {"0", "none", "NVM", 0}, {"", "none", "NVM", 0}, {"", "", "NVM", 1}} {
		x, nodes := oneDrive(t)
		d := nodes["/dev/ng0n1"].Drive
		d.Ordinary = true
		d.Namespaces[3] = inventorytest.Namespace{Blocks: 1 << 20, Formats: plainFormats, CSI: nvme.SetZNS, ZoneSize: 1 << 10, MaxOpen: 14}
		if tt.csi != "" {
			x.Write("/sys/block/nvme0n1/csi", tt.csi)
		}
		x.Write("/sys/block/nvme0n1/queue/zoned", tt.zoned)
		s := inventorytest.Source(x, nodes)
		l := s.List()
		n := l.Namespaces[0]
		require.Equal(t, tt.want, n.CommandSet)
		require.Equal(t, "identify", n.Source)
		require.Len(t, n.Notes, tt.notes)
		require.Contains(t, l.Controllers[0].Notes[0], "permission denied")
		require.Equal(t, []uint32{3}, l.Controllers[0].Namespaces)
		require.Equal(t, tt.want == "ZNS", s.Describe("/dev/ng0n1").Namespace.Zones != nil)
	}
}

func TestListEmptyMachine(t *testing.T) {
	l := inventorytest.Source(sysfstest.New(t), nil).List()
	require.Empty(t, l.Controllers)
	require.Empty(t, l.Namespaces)
}

func TestDescribe(t *testing.T) {
	x, nodes := oneDrive(t)
	x.Queues(x.FS.Resolve("block", "nvme0n1")[len(x.Root):], true, "0-1", "2-3", "0-1", "2-3")
	x.Write("/sys/module/nvme/parameters/poll_queues", "2")
	s := inventorytest.Source(x, nodes)
	for _, path := range []string{"/dev/ng0n1", "/dev/nvme0n1"} {
		d := s.Describe(path)
		require.Empty(t, d.Error)
		require.Empty(t, d.Notes)
		n := d.Namespace
		require.Equal(t, uint64(1<<19), n.UsedBlocks)
		require.Len(t, n.Formats, len(plainFormats))
		require.True(t, n.Formats[0].InUse)
		require.Equal(t, uint16(64), n.Formats[2].MetadataBytes)
		require.Equal(t, "0300000000000001", n.EUI64) // bytes as the drive gave them
		require.Equal(t, inventory.Poll{Known: true, Enabled: true, Count: 2, Parameter: 2, CPUs: [][]int{{0, 1}, {2, 3}}}, n.Poll)
		require.Equal(t, inventory.Limits{
			Known: true, MaxTransferBytes: 128 << 10, MaxBlocks: 256, MDTSBytes: 128 << 10, MaxHWSectorsBytes: 512 << 10, MaxSegments: 129, DMAAlignmentBytes: 4,
		}, n.Limits)
		require.Equal(t, inventory.Atomic{WriteBlocks: 16, PowerFailBlocks: 8, CompareWriteBlocks: 1, OptimalBlocks: 256, PerNamespace: true}, n.Atomic)
		require.Equal(t, &inventory.Copy{RangeBlocks: 64, CommandBlocks: 1024, Ranges: 16}, n.Copy)
		require.Nil(t, n.Zones)
		require.True(t, n.Generic.Read)
		c := d.Controller
		require.True(t, c.Identified)
		require.Equal(t, uint64(128<<10), c.MDTSBytes)
		require.Equal(t, []string{"NVM+ZNS"}, c.CommandSets)
		require.Equal(t, "3200631791616", c.TotalCapacity.String())
		require.Equal(t, []string{"compare", "dataset management", "write zeroes", "saved features", "timestamp", "copy"}, c.Capabilities[0].Has)
		require.Equal(t, []string{"fused compare and write"}, c.Capabilities[1].Has)
	}
	d := s.Describe("/dev/nvme0")
	require.Equal(t, "controller", d.Kind)
	require.Nil(t, d.Namespace)
	require.Equal(t, []uint32{3}, d.Controller.Namespaces)
}

func TestDescribeZoned(t *testing.T) {
	x, nodes := oneDrive(t)
	nodes["/dev/ng0n1"].Drive.Namespaces[3] = inventorytest.Namespace{Blocks: 1 << 20, Formats: plainFormats, CSI: nvme.SetZNS, ZoneSize: 1 << 10, MaxOpen: 14}
	n := inventorytest.Source(x, nodes).Describe("/dev/ng0n1").Namespace
	require.Equal(t, &inventory.Zones{SizeBlocks: 1 << 10, Count: 1 << 10, MaxOpen: 14, AppendBytes: 64 << 10}, n.Zones)
}

// TestDescribeDenied: sysfs tells what it can, and the notes say the rest.
func TestDescribeDenied(t *testing.T) {
	x, _ := oneDrive(t)
	d := inventorytest.Source(x, nil).Describe("/dev/ng0n1")
	require.Empty(t, d.Error)
	require.NotNil(t, d.Namespace)
	require.False(t, d.Namespace.Limits.Known)
	require.Equal(t, uint64(512<<10), d.Namespace.Limits.MaxHWSectorsBytes)
	require.Contains(t, d.Namespace.Generic.Reason, "permission denied")
	require.False(t, d.Controller.Identified)
	require.Equal(t, []uint32{3}, d.Controller.Namespaces)
	require.Contains(t, d.Notes[0], "permission denied")
}

// TestDescribeOldDrive: without namespace descriptors a drive has the NVM
// command set.
func TestDescribeOldDrive(t *testing.T) {
	x, nodes := oneDrive(t)
	nodes["/dev/ng0n1"].Drive.OldDrive = true
	d := inventorytest.Source(x, nodes).Describe("/dev/ng0n1")
	require.Equal(t, "NVM", d.Namespace.CommandSet)
	require.Empty(t, d.Controller.CommandSets)
	require.Len(t, d.Namespace.Formats, len(plainFormats))
}

func TestDescribeWrong(t *testing.T) {
	x, nodes := oneDrive(t)
	x.Partition(x.FS.Resolve("block", "nvme0n1")[len(x.Root):], "nvme0n1p1")
	s := inventorytest.Source(x, nodes)
	d := s.Describe("/dev/nvme9")
	require.Contains(t, d.Error, "no such device; use a controller of this machine: /dev/nvme0")
	d = s.Describe("/dev/nvme0n1p1")
	require.Contains(t, d.Error, "no NVMe namespace or controller")
	require.Contains(t, d.Error, "/dev/ng0n1")
	require.Nil(t, d.Namespace)
}

// TestHealthFill: temperatures, bytes of any size, and warnings one by one.
func TestHealthFill(t *testing.T) {
	log := &nvme.SMARTLog{
		CriticalWarning: nvme.WarnSpare | nvme.WarnReadOnly | 1<<6, Temperature: 300, Sensors: [8]uint16{301, 0, 310},
		DataUnitsRead: nvme.Uint128{Hi: 1}, DataUnitsWritten: nvme.Uint128{Lo: 1277863316},
	}
	var h inventory.Health
	h.Fill(&nvme.IdentifyController{WCTEMP: 343}, log)
	require.False(t, h.Healthy)
	require.Equal(t, []string{"available spare below threshold", "media is read only", "unknown (0x40)"}, h.Warnings)
	require.Equal(t, 27, *h.TemperatureCelsius)
	require.Equal(t, 70, *h.WarningCelsius)
	require.Nil(t, h.CriticalCelsius)
	require.Equal(t, []inventory.Sensor{{Number: 1, Celsius: 28}, {Number: 3, Celsius: 37}}, h.Sensors)
	require.Equal(t, "9444732965739290427392000", h.BytesRead.String()) // 2^64 units
	require.Equal(t, "654266017792000", h.BytesWritten.String())
	log.CriticalWarning = 0
	h.Fill(&nvme.IdentifyController{}, log)
	require.True(t, h.Healthy)
	require.Empty(t, h.Warnings)
}
