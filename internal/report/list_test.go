package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"math/big"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/inventory"
	"github.com/nvmepass/nvmepass/internal/inventory/inventorytest"
	"github.com/nvmepass/nvmepass/internal/sysfs/sysfstest"
	"github.com/nvmepass/nvmepass/nvme"
)

// machine has one of everything: a plain namespace, a zoned one of the same
// controller, a multipath head with two paths, a namespace without a block node
// and one without any node, a node that may not be opened, and a controller
// without a namespace whose model is no fit text for a terminal.
func machine(t *testing.T) *inventory.Source {
	x := sysfstest.New(t)
	a, b, c, e := x.Controller("S1"), x.Controller("S2"), x.Controller("S2"), x.Controller("S3")
	x.Subsystem("nvme-subsys0", a)
	s := x.Subsystem("nvme-subsys1", b, c)
	x.Write(a+"/numa_node", "1")
	x.Write(c+"/state", "connecting")
	x.Write(e+"/model", "Bad\x1b[31m \"model\", A")
	x.Write("/sys/module/nvme/parameters/poll_queues", "2")
	x.Generic(a, "ng0n1")
	x.Queues(x.Disk(a, "nvme0n1", 1, 1<<30), true, "0-1", "2-3", "0-1", "2-3")
	x.Generic(a, "ng0n2")
	x.Generic(a, "ng0n3")
	x.Disk(a, "nvme0n3", 3, 1<<30)
	x.Generic(s, "ng1n1")
	x.Disk(s, "nvme1n1", 1, 3<<30)
	x.HiddenDisk(b, "nvme1c1n1", 1, 3<<30)
	x.Write(x.HiddenDisk(c, "nvme1c2n1", 1, 3<<30)+"/ana_state", "inaccessible")
	formats := []inventorytest.Format{{LBADS: 9}, {LBADS: 12}, {LBADS: 12, MS: 8}, {LBADS: 12, MS: 64}}
	one := &inventorytest.Drive{Serial: "S1", Namespaces: map[uint32]inventorytest.Namespace{
		1: {Blocks: 1 << 30, Formats: formats, FLBAS: 2, PI: 1},
		2: {Blocks: 1 << 20, Formats: formats, FLBAS: 0x13, CSI: nvme.SetZNS, ZoneSize: 1 << 12, MaxOpen: 14},
		3: {Blocks: 1 << 30, Formats: formats},
		7: {Blocks: 5, Formats: formats, CSI: nvme.SetKV},
	}}
	two := &inventorytest.Drive{Serial: "S2", Namespaces: map[uint32]inventorytest.Namespace{1: {Blocks: 3 << 30, Formats: formats}}}
	empty := &inventorytest.Drive{Serial: "S3", OldDrive: true}
	return inventorytest.Source(x, map[string]inventorytest.Node{
		"/dev/nvme0": {Drive: one}, "/dev/nvme1": {Drive: two}, "/dev/nvme3": {Drive: empty},
		"/dev/ng0n1": {Drive: one, NSID: 1}, "/dev/nvme0n1": {Drive: one, NSID: 1}, "/dev/ng0n2": {Drive: one, NSID: 2},
		"/dev/ng1n1": {Drive: two, NSID: 1}, "/dev/nvme1n1": {Drive: two, NSID: 1},
	})
}

func TestList(t *testing.T) {
	l := machine(t).List()
	var text, doc, table bytes.Buffer
	require.NoError(t, List(&text, l))
	requireGolden(t, "list.txt", text.String())
	requirePrintable(t, text.String())
	require.NoError(t, Document(&doc, l))
	requireGolden(t, "list.json", doc.String())
	require.NoError(t, ListCSV(&table, l))
	requireGolden(t, "list.csv", table.String())
	rows, err := csv.NewReader(&table).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 1+len(l.Namespaces)+1, "the controller without namespaces has a row")
	var back inventory.List
	require.NoError(t, json.Unmarshal(doc.Bytes(), &back))
	require.Len(t, back.Namespaces, len(l.Namespaces))
	require.Equal(t, l.Controllers[3].Model, back.Controllers[3].Model, "JSON holds the text as it is")

	text.Reset()
	require.NoError(t, List(&text, &inventory.List{}))
	require.Equal(t, "There is no NVMe controller on this machine.\n", text.String())
	doc.Reset()
	require.NoError(t, Document(&doc, inventorytest.Source(sysfstest.New(t), nil).List()))
	require.JSONEq(t, `{"schema":"nvmepass.list/1","controllers":[],"namespaces":[]}`, doc.String())
}

// requirePrintable: nothing that a device says reaches the terminal raw.
func requirePrintable(t *testing.T, text string) {
	t.Helper()
	require.NotContains(t, text, "\x1b")
	require.False(t, strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && (r < ' ' || r > '~') }))
}

func TestInfo(t *testing.T) {
	s := machine(t)
	info := &inventory.Info{Schema: inventory.InfoSchema}
	for _, path := range []string{"/dev/ng0n1", "/dev/ng0n2", "/dev/nvme0n3", "/dev/nvme1n1", "/dev/nvme3", "/dev/nvme9"} {
		info.Devices = append(info.Devices, s.Describe(path))
	}
	var text, doc bytes.Buffer
	require.NoError(t, Info(&text, info))
	requireGolden(t, "info.txt", text.String())
	requirePrintable(t, text.String())
	for line := range strings.Lines(text.String()) {
		require.LessOrEqual(t, len(strings.TrimSuffix(line, "\n")), sheetWidth, line)
	}
	require.NoError(t, Document(&doc, info))
	requireGolden(t, "info.json", doc.String())
	require.NotContains(t, text.String(), "/dev/nvme9", "errors are the caller's to tell")
	require.Contains(t, doc.String(), "no such device")
	require.Equal(t, 1, strings.Count(text.String(), "/dev/nvme0: controller"), "told once")
}

// healthReport has a healthy drive, an ill one and one that is gone.
func healthReport() *inventory.HealthReport {
	id := &nvme.IdentifyController{WCTEMP: 343, CCTEMP: 353}
	well := inventory.Health{Path: "/dev/ng0n1", Controller: "/dev/nvme0", Model: "ACME Drive 1000", Serial: "S1", Firmware: "1.0"}
	well.Fill(id, &nvme.SMARTLog{
		Temperature: 311, AvailableSpare: 100, SpareThreshold: 10, PercentageUsed: 3, Sensors: [8]uint16{311, 320},
		DataUnitsRead: nvme.Uint128{Lo: 1}, DataUnitsWritten: nvme.Uint128{Lo: 1277863316},
		HostReads: nvme.Uint128{Lo: 9007199254740993}, HostWrites: nvme.Uint128{Lo: 12}, PowerCycles: nvme.Uint128{Lo: 34},
		PowerOnHours: nvme.Uint128{Lo: 8760}, UnsafeShutdowns: nvme.Uint128{Lo: 2},
	})
	ill := inventory.Health{Path: "/dev/nvme1", Controller: "/dev/nvme1", Model: "ACME Drive 1000", Serial: "S2", Firmware: "1.0"}
	ill.Fill(&nvme.IdentifyController{}, &nvme.SMARTLog{
		CriticalWarning: nvme.WarnSpare | nvme.WarnReliability, EnduranceGroupWarning: 5, AvailableSpare: 3, SpareThreshold: 10, PercentageUsed: 112,
		DataUnitsRead: nvme.Uint128{Hi: ^uint64(0), Lo: ^uint64(0)}, MediaErrors: nvme.Uint128{Hi: 17179869187, Lo: 2}, ErrorLogEntries: nvme.Uint128{Lo: 99},
		WarningTempTime: 5, CriticalTempTime: 1, ThermalTransitions: [2]uint32{7, 1}, ThermalTime: [2]uint32{60, 2},
	})
	gone := inventory.Health{Path: "/dev/nvme2", Error: "open controller /dev/nvme2: no such device", Warnings: []string{}, Sensors: []inventory.Sensor{}}
	return &inventory.HealthReport{Schema: inventory.HealthSchema, Devices: []inventory.Health{well, ill, gone}}
}

func TestHealth(t *testing.T) {
	r := healthReport()
	var text, doc bytes.Buffer
	require.NoError(t, Health(&text, r))
	requireGolden(t, "smart.txt", text.String())
	require.NotContains(t, text.String(), "/dev/nvme2")
	require.NoError(t, Document(&doc, r))
	requireGolden(t, "smart.json", doc.String())

	// Exact with a reader that keeps digits.
	dec := json.NewDecoder(&doc)
	dec.UseNumber()
	var back struct {
		Devices []struct {
			BytesRead json.Number `json:"bytes_read"`
			Log       map[string]any
		}
	}
	require.NoError(t, dec.Decode(&back))
	require.Equal(t, json.Number("340282366920938463463374607431768211455"), back.Devices[1].Log["data_units_read"])
	want := new(big.Int).Mul(nvme.Uint128{Hi: ^uint64(0), Lo: ^uint64(0)}.Big(), big.NewInt(512000))
	require.Equal(t, json.Number(want.String()), back.Devices[1].BytesRead)
	require.Equal(t, json.Number("9007199254740993"), back.Devices[0].Log["host_read_commands"])
}

func TestDecimalSize(t *testing.T) {
	for n, want := range map[uint64]string{
		0: "0 B", 512: "512 B", 999: "999 B", 1000: "1.00 kB", 67108864: "67.1 MB", 999_600: "1.00 MB", 1_920_383_410_176: "1.92 TB", 1<<64 - 1: "18.4 EB",
	} {
		require.Equal(t, want, decimalSize(n))
	}
}

func TestCPUList(t *testing.T) {
	for want, cpus := range map[string][]int{"": nil, "3": {3}, "0-3,8": {0, 1, 2, 3, 8}, "1,3,5-6": {1, 3, 5, 6}} {
		require.Equal(t, want, cpuList(cpus))
	}
}

func TestDeviceWriters(t *testing.T) {
	l := &inventory.List{}
	for name, write := range map[string]func() error{
		"list":     func() error { return List(brokenWriter{}, l) },
		"csv":      func() error { return ListCSV(brokenWriter{}, l) },
		"info":     func() error { return Info(brokenWriter{}, &inventory.Info{}) },
		"smart":    func() error { return Health(brokenWriter{}, &inventory.HealthReport{}) },
		"document": func() error { return Document(brokenWriter{}, l) },
	} {
		require.ErrorIs(t, write(), errBroken, name)
	}
	require.ErrorContains(t, Document(&bytes.Buffer{}, func() {}), "JSON")
}
