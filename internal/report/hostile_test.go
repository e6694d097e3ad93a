package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/compare"
	"github.com/nvmepass/nvmepass/internal/inventory"
	"github.com/nvmepass/nvmepass/internal/inventory/inventorytest"
	"github.com/nvmepass/nvmepass/internal/sysfs/sysfstest"
	"github.com/nvmepass/nvmepass/nvme"
)

// hostileNames are serial numbers, of at most 20 bytes, that try to act.
var hostileNames = []string{
	"\x1b[2J\x1b]0;owned\x07", "\x1b]52;c;cm0gLXJm\x07", "a\rb\nc\td\x00e\x7f", "\u202egpj.exe\u2066", "=cmd|'/C calc'!A0", "@SUM(1+1)", "+1+1", "-2+3", "<script>alert(1)", "\xff\xfe\x9b31m", `","x";"`, "%s%n%x", "",
}

// TestHostileDrive: a drive whose names are escape sequences, markup or formulas,
// and whose sizes are at the ends of their range, is listed, described and
// compared; what is printed can do nothing to a terminal, a spreadsheet or a
// reader of JSON.
func TestHostileDrive(t *testing.T) {
	formats := []inventorytest.Format{{LBADS: 9}, {LBADS: 0}, {LBADS: 63}, {LBADS: 255, MS: 65535}, {LBADS: 31, MS: 8}}
	sizes := []uint64{0, 1, math.MaxInt64, math.MaxUint64}
	for n, name := range hostileNames {
		for flbas := range formats {
			x := sysfstest.New(t)
			dir := x.Controller("S1")
			x.Write(dir+"/model", name)
			x.Write(dir+"/firmware_rev", name)
			x.Subsystem("nvme-subsys0", dir)
			x.Generic(dir, "ng0n1")
			d := &inventorytest.Drive{Serial: name, Namespaces: map[uint32]inventorytest.Namespace{
				1: {Blocks: sizes[(n+flbas)%len(sizes)], Formats: formats, FLBAS: uint8(flbas), PI: 7, ZoneSize: math.MaxUint64, MaxOpen: math.MaxUint32},
			}}
			source := inventorytest.Source(x, map[string]inventorytest.Node{"/dev/nvme0": {Drive: d}, "/dev/ng0n1": {Drive: d, NSID: 1}})
			l := source.List()
			info := &inventory.Info{Schema: inventory.InfoSchema, Devices: []inventory.Device{source.Describe("/dev/ng0n1"), source.Describe("/dev/nvme0")}}

			var text, doc, table bytes.Buffer
			require.NoError(t, List(&text, l))
			require.NoError(t, Info(&text, info))
			requirePrintable(t, text.String())
			require.NoError(t, ListCSV(&table, l))
			requirePrintable(t, table.String())
			rows, err := csv.NewReader(&table).ReadAll()
			require.NoError(t, err)
			for _, field := range slices.Concat(rows...) {
				require.NotRegexp(t, `^[=+@-]`, field, "a formula to a spreadsheet")
			}
			require.NoError(t, json.NewEncoder(&doc).Encode(l))
			require.NoError(t, json.NewEncoder(&doc).Encode(info))
			for dec := json.NewDecoder(&doc); dec.More(); {
				var v any
				require.NoError(t, dec.Decode(&v))
			}
		}
	}
}

// TestHostileLogs: a health log of any content is told in plain text.
func TestHostileLogs(t *testing.T) {
	for _, fill := range []byte{0, 0x1b, 0x7f, 0x80, 0xff} {
		b := bytes.Repeat([]byte{fill}, nvme.SMARTLogSize)
		log, err := nvme.DecodeSMARTLog(b)
		require.NoError(t, err)
		page := make([]byte, nvme.IdentifySize)
		for i := range page {
			page[i] = fill
		}
		id, err := nvme.DecodeIdentifyController(page)
		require.NoError(t, err)
		h := inventory.Health{Path: "/dev/nvme0"}
		h.Fill(id, log)
		var text, doc bytes.Buffer
		report := &inventory.HealthReport{Devices: []inventory.Health{h}}
		require.NoError(t, Health(&text, report))
		requirePrintable(t, text.String())
		require.NoError(t, json.NewEncoder(&doc).Encode(report))
	}
}

// TestHostileRecordText: a record whose every text is an escape sequence, and
// whose figures are beyond all bounds, prints as plain lines.
func TestHostileRecordText(t *testing.T) {
	r := narrowResult(t)
	for _, name := range hostileNames {
		r.Environment.Kernel, r.Environment.KernelCmdline = name, name
		r.Warnings = []string{name}
		for i := range r.Environment.Devices {
			r.Environment.Devices[i].Model, r.Environment.Devices[i].Serial, r.Environment.Devices[i].Path = name, name, name
		}
		for i := range r.Cells {
			r.Cells[i].Rounds[0].Error = name
		}
		var text, table strings.Builder
		require.NoError(t, Text(&text, r, TextOptions{Baseline: func(string) *compare.BaselineTable { return nil }}))
		requirePrintable(t, text.String())
		require.NoError(t, CSV(&table, r))
		_, err := csv.NewReader(strings.NewReader(table.String())).ReadAll()
		require.NoError(t, err)
	}
}
