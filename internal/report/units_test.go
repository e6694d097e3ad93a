package report

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/compare"
	"github.com/nvmepass/nvmepass/internal/inventory"
	"github.com/nvmepass/nvmepass/internal/inventory/inventorytest"
	"github.com/nvmepass/nvmepass/internal/jobs"
	"github.com/nvmepass/nvmepass/internal/latency"
	"github.com/nvmepass/nvmepass/internal/sysfs/sysfstest"
	"github.com/nvmepass/nvmepass/internal/workload"
	"github.com/nvmepass/nvmepass/nvme"
)

// oneDocument decodes a JSON document with nothing behind it; numbers keep
// their digits.
func oneDocument(t *testing.T, doc []byte) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	var v any
	require.NoError(t, d.Decode(&v), "%s", doc)
	_, err := d.Token()
	require.ErrorIs(t, err, io.EOF, "%s", doc)
	return v
}

// numbers are all numbers of a document, by path.
func numbers(v any, path string, into map[string]string) {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			numbers(e, path+"."+k, into)
		}
	case []any:
		for _, e := range v {
			numbers(e, path, into)
		}
	case json.Number:
		into[path] = v.String()
	}
}

// TestB22NumbersAreExact: sizes and counters of any width are plain digits, and
// what cannot be computed is null.
func TestB22NumbersAreExact(t *testing.T) {
	x := sysfstest.New(t)
	a := x.Controller("S1")
	x.Subsystem("nvme-subsys0", a)
	x.Generic(a, "ng0n1")
	drive := &inventorytest.Drive{Serial: "S1", Namespaces: map[uint32]inventorytest.Namespace{
		1: {Blocks: 1 << 63, Formats: []inventorytest.Format{{LBADS: 9}}},
	}}
	source := inventorytest.Source(x, map[string]inventorytest.Node{"/dev/nvme0": {Drive: drive}, "/dev/ng0n1": {Drive: drive, NSID: 1}})
	var doc bytes.Buffer
	require.NoError(t, Document(&doc, &inventory.Info{Schema: inventory.InfoSchema, Devices: []inventory.Device{source.Describe("/dev/ng0n1")}}))
	all := map[string]string{}
	numbers(oneDocument(t, doc.Bytes()), "", all)
	found := slices.Collect(maps.Values(all))
	require.Contains(t, found, "3200631791616", "TNVMCAP")
	require.Contains(t, found, "9223372036854775808", "NSZE")

	log := &nvme.SMARTLog{}
	log.DataUnitsRead = nvme.Uint128{Lo: 1<<53 + 1}
	log.DataUnitsWritten = nvme.Uint128{Lo: 1<<64 - 1, Hi: 1<<64 - 1}
	doc.Reset()
	h := inventory.Health{Log: log}
	require.NoError(t, Document(&doc, &inventory.HealthReport{Schema: inventory.HealthSchema, Devices: []inventory.Health{h}}))
	all = map[string]string{}
	numbers(oneDocument(t, doc.Bytes()), "", all)
	require.Equal(t, "9007199254740993", all[".devices.log.data_units_read"])
	require.Equal(t, "340282366920938463463374607431768211455", all[".devices.log.data_units_written"])

	plain := regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?$`)
	for _, window := range []int64{0, 1e9} { // and no command in it: 0/0, 0/1
		res := runResult([]string{"/dev/ng0n1"}, workload.RandRead, "read")
		none := jobs.Figures{WindowNS: window, Ring: &jobs.Ring{SubmitPerCall: compare.Float(nan())}, Directions: []jobs.DirectionFigures{{Direction: "read", IOPS: compare.Float(nan())}}}
		res.Total, res.Devices[0].Figures, res.Jobs[0].Figures = none, none, none
		doc.Reset()
		require.NoError(t, RunJSON(&doc, res))
		all = map[string]string{}
		numbers(oneDocument(t, doc.Bytes()), "", all)
		for path, n := range all {
			require.Regexp(t, plain, n, path)
		}
		require.NotContains(t, all, ".total.ring.submit_per_call", "null")
		for _, render := range []func(io.Writer, *jobs.Result) error{RunText, RunCSV, RunBench, RunFio} {
			doc.Reset()
			require.NoError(t, render(&doc, res))
			require.NotRegexp(t, `(?i)\b[-+]?(nan|inf)\b`, doc.String())
		}
	}
}

func nan() float64 { zero := 0.0; return zero / zero }

// TestB23HostileNames: whatever a drive calls itself, JSON is one document with
// the name in it, text has no control bytes, and two drives of one model are
// two.
func TestB23HostileNames(t *testing.T) {
	name := "a\n\"\\\a\xff\xfe}\r\x1b[2J"
	x := sysfstest.New(t)
	for _, serial := range []string{"S1", "S2"} {
		c := x.Controller(serial)
		x.Write(c+"/model", name)
	}
	l := inventorytest.Source(x, nil).List()
	var doc, text, table bytes.Buffer
	require.NoError(t, Document(&doc, l))
	list := oneDocument(t, doc.Bytes()).(map[string]any)["controllers"].([]any)
	require.Len(t, list, 2)
	for _, c := range list {
		model := c.(map[string]any)["model"].(string)
		require.True(t, strings.HasPrefix(model, "a\n\"\\\a"), "%q", model)
	}
	require.NoError(t, List(&text, l))
	requirePrintable(t, text.String())
	require.NoError(t, ListCSV(&table, l))
	require.NotContains(t, table.String(), "\x1b")
}

// TestB64LatencyUnits: known times come out under names with their unit, in
// order, and no sample is null or a dash.
func TestB64LatencyUnits(t *testing.T) {
	h := latency.New()
	for _, ns := range []int64{1e3, 1e6, 1e9, 10e9} {
		h.Record(ns)
	}
	one := latency.New()
	one.Record(1e6)
	res := runResult([]string{"/dev/ng0n1", "/dev/ng1n1", "/dev/ng2n1"}, workload.RandRead, "read")
	for i, s := range []*latency.Summary{h.Summary(), one.Summary(), nil} {
		res.Devices[i].Directions[0].Latency = s
	}
	var b bytes.Buffer
	require.NoError(t, RunJSON(&b, res))
	devices := oneDocument(t, b.Bytes()).(map[string]any)["devices"].([]any)
	at := func(device int) any {
		return devices[device].(map[string]any)["directions"].([]any)[0].(map[string]any)["latency"]
	}
	require.Nil(t, at(2))
	for device, want := range []map[float64]float64{{1: 1e3, 50: 1e6, 99: 10e9, 99.9: 10e9}, {1: 1e6, 50: 1e6, 99: 1e6, 99.9: 1e6}} {
		s := at(device).(map[string]any)
		for key := range s {
			require.Regexp(t, `_ns$|^count$|^percentiles$`, key)
		}
		float := func(v any) float64 {
			f, _ := new(big.Float).SetString(v.(json.Number).String())
			n, _ := f.Float64()
			return n
		}
		last, seen := float(s["min_ns"]), 0
		for _, p := range s["percentiles"].([]any) {
			ns := float(p.(map[string]any)["ns"])
			require.GreaterOrEqual(t, ns, last)
			require.LessOrEqual(t, ns, float(s["max_ns"]))
			last = ns
			if w, ok := want[float(p.(map[string]any)["percent"])]; ok {
				require.InEpsilon(t, w, ns, 0.001)
				seen++
			}
		}
		require.Equal(t, len(want), seen)
	}
	b.Reset()
	require.NoError(t, RunText(&b, res))
	for _, row := range []string{`min +1\.00 us +1\.00 ms +-`, `p50 +1\.00 ms +1\.00 ms +-`, `p99\.9 +10\.0 s +1\.00 ms +-`, `max +10\.0 s +1\.00 ms +-`} {
		require.Regexp(t, row, b.String())
	}
}

// TestB66BandwidthUnits: 1000 commands of 4096 bytes in one second are
// 4096000 bytes, 4000 KiB or 3.91 MiB a second, each under its name; extended
// metadata counts.
func TestB66BandwidthUnits(t *testing.T) {
	for size, mib := range map[int][2]string{4096: {"3.91", "3.90625"}, 4160: {"3.97", "3.96728515625"}} {
		res := runResult([]string{"/dev/ng0n1"}, workload.RandRead, "read")
		res.Config.BlockSize = size
		bytesPerSecond := float64(1000 * size)
		f := jobs.Figures{
			WindowNS: 1e9, OK: 1000, Run: compare.Counts{Issued: 1000, OK: 1000}, Bytes: uint64(1000 * size), IOPS: compare.Float(1000), BytesPerSecond: &bytesPerSecond,
			Directions: []jobs.DirectionFigures{{Direction: "read", OK: 1000, Bytes: uint64(1000 * size), IOPS: compare.Float(1000), BytesPerSecond: &bytesPerSecond}},
		}
		res.Total, res.Devices[0].Figures, res.Jobs[0].Figures = f, f, f
		var b bytes.Buffer
		require.NoError(t, RunText(&b, res))
		require.Contains(t, b.String(), "BW MiB/s")
		require.Contains(t, b.String(), " "+mib[0]+" ")
		require.NotRegexp(t, `\bMB/s`, b.String())
		b.Reset()
		require.NoError(t, RunBench(&b, res))
		require.Contains(t, b.String(), mib[1]+" MiB/s")
		b.Reset()
		require.NoError(t, RunJSON(&b, res))
		total := oneDocument(t, b.Bytes()).(map[string]any)["total"].(map[string]any)
		require.Equal(t, json.Number(big.NewInt(int64(1000*size)).String()), total["bytes_per_second"])
		b.Reset()
		require.NoError(t, RunFio(&b, res))
		read := oneDocument(t, b.Bytes()).(map[string]any)["jobs"].([]any)[0].(map[string]any)["read"].(map[string]any)
		require.Equal(t, json.Number(big.NewInt(int64(1000*size)).String()), read["bw_bytes"])
		require.Equal(t, json.Number(big.NewInt(int64(1000*size/1024)).String()), read["bw"], "fio's bw is in KiB/s")
	}
}
