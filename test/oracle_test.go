package test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/dswarbrick/smart/drivedb"
	smart "github.com/dswarbrick/smart/nvme"
	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/nvme"
	"github.com/nvmepass/nvmepass/passthru"
)

// fields flattens JSON to the path and text of each value: "psds.0.rrt".
// Numbers may be in quotes, which is how nvme-cli writes long ones, and text is
// padded by some.
func fields(t *testing.T, document []byte) map[string]string {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(document))
	d.UseNumber()
	var root any
	require.NoError(t, d.Decode(&root), "%s", document)
	all := map[string]string{}
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for k, e := range v {
				walk(path+"."+k, e)
			}
		case []any:
			for i, e := range v {
				walk(fmt.Sprintf("%s.%d", path, i), e)
			}
		case bool:
			all[path[1:]] = map[bool]string{false: "0", true: "1"}[v]
		default:
			all[path[1:]] = strings.TrimSpace(fmt.Sprint(v))
		}
	}
	walk("", root)
	return all
}

func ownFields(t *testing.T, v any) map[string]string {
	t.Helper()
	b, err := json.Marshal(v)
	require.NoError(t, err)
	return fields(t, b)
}

// agree holds ours against nvme-cli's. missing are fields that nvme-cli does
// not print, by pattern. What only nvme-cli has is logged: later versions know
// more.
func agree(t *testing.T, ours, theirs map[string]string, missing string) {
	t.Helper()
	absent := regexp.MustCompile("^(" + missing + ")$")
	for k, v := range ours {
		their, ok := theirs[k]
		if !ok {
			require.Regexp(t, absent, k, "nvme-cli has no such field")
			continue
		}
		require.Equal(t, their, v, k)
		delete(theirs, k)
	}
	for k, v := range theirs {
		t.Logf("only nvme-cli has %s = %s", k, v)
	}
}

// TestOracleIdentify: our decoding agrees with nvme-cli's, field by field, on
// every drive there is.
func TestOracleIdentify(t *testing.T) {
	for _, w := range []want{{lba: 512}, {lba: 4096}, {lba: 4096, ms: 64, extended: true}, {lba: 512, ms: 8}} {
		t.Run(w.String(), func(t *testing.T) {
			d := device(t, w)
			c := controller(t, d, passthru.ControllerConfig{})
			ours := ownFields(t, c.Identity())
			for i := range c.Identity().PowerStates { // two bits, which nvme-cli leaves in their byte
				at := fmt.Sprintf("psds.%d.", i)
				ours[at+"flags"] = map[string]string{"00": "0", "10": "1", "01": "2", "11": "3"}[ours[at+"max_power_scale"]+ours[at+"non-operational_state"]]
				delete(ours, at+"max_power_scale")
				delete(ours, at+"non-operational_state")
			}
			for i := range 3 {
				ours[fmt.Sprintf("crdt%d", i+1)] = ours[fmt.Sprintf("crdt.%d", i)]
				delete(ours, fmt.Sprintf("crdt.%d", i))
			}
			theirs := fields(t, nvmeCLI(t, "id-ctrl", c.Path()))
			theirs["fguid"] = strings.ReplaceAll(theirs["fguid"], "-", "")
			agree(t, ours, theirs, "bpcap|nssl|plsi|crcap|psds.*.apw|psds.*.aps")

			ns, err := c.IdentifyNamespace(t.Context(), d.NSID())
			require.NoError(t, err)
			agree(t, ownFields(t, ns), fields(t, nvmeCLI(t, "id-ns", d.Path())), "kpios|kpiodaag")
		})
	}
}

// TestOracleSMART: counters that may go on lie between two of our readings.
func TestOracleSMART(t *testing.T) {
	d := device(t, want{ms: -1})
	c := controller(t, d, passthru.ControllerConfig{})
	read := func() map[string]string {
		log, err := c.SMART(t.Context())
		require.NoError(t, err)
		f := ownFields(t, log)
		for ours, theirs := range map[string]string{
			"thm_temp_trans_count.0": "thm_temp1_trans_count", "thm_temp_trans_count.1": "thm_temp2_trans_count",
			"thm_temp_total_time.0": "thm_temp1_total_time", "thm_temp_total_time.1": "thm_temp2_total_time",
		} {
			f[theirs] = f[ours]
			delete(f, ours)
		}
		for i := range 8 { // printed where there is one
			at := fmt.Sprintf("temperature_sensors.%d", i)
			if f[at] != "0" {
				f[fmt.Sprintf("temperature_sensor_%d", i+1)] = f[at]
			}
			delete(f, at)
		}
		return f
	}
	_, err := d.ReadAt(make([]byte, 1<<20), 0)
	require.NoError(t, err)
	before := read()
	theirs := fields(t, nvmeCLI(t, "smart-log", c.Path()))
	other := swarbrick(t, c.Path())
	after := read()
	require.Len(t, before, len(theirs), "%v", theirs)
	for k, v := range theirs {
		within(t, before[k], v, after[k], k)
	}
	require.NotEqual(t, "0", before["host_read_commands"])
	for text, k := range map[string]string{
		"Critical warning": "critical_warning", "Avail. spare": "avail_spare", "Avail. spare threshold": "spare_thresh", "Percentage used": "percent_used",
		"Data units read": "data_units_read", "Data units written": "data_units_written", "Host read commands": "host_read_commands", "Host write commands": "host_write_commands",
		"Controller busy time": "controller_busy_time", "Power cycles": "power_cycles", "Power on hours": "power_on_hours", "Unsafe shutdowns": "unsafe_shutdowns",
		"Media & data integrity errors": "media_errors", "Error information log entries": "num_err_log_entries",
	} {
		within(t, before[k], leading(other[text]), after[k], text)
	}
	kelvin := number(t, leading(other["Temperature"]))
	within(t, before["temperature"], kelvin.Add(kelvin, big.NewInt(273)).String(), after["temperature"], "Temperature")
}

// within: v lies between two readings.
func within(t *testing.T, before, v, after, what string) {
	t.Helper()
	low, x, high := number(t, before), number(t, v), number(t, after)
	if low.Cmp(high) > 0 {
		low, high = high, low
	}
	require.True(t, low.Cmp(x) <= 0 && x.Cmp(high) <= 0, "%s: we read %s and %s, the oracle %s", what, before, after, v)
}

func number(t *testing.T, s string) *big.Int {
	t.Helper()
	n, ok := new(big.Int).SetString(s, 0)
	require.True(t, ok, "%q is no number", s)
	return n
}

// leading is the number that a text begins with.
func leading(s string) string { return regexp.MustCompile(`^(0x)?[0-9a-f]*`).FindString(s) }

// TestOracleErrorLog.
func TestOracleErrorLog(t *testing.T) {
	d := device(t, want{ms: -1})
	c := controller(t, d, passthru.ControllerConfig{})
	log, err := c.ErrorLog(t.Context(), 0)
	require.NoError(t, err)
	ours := ownFields(t, map[string][]nvme.ErrorLogEntry{"errors": log})
	theirs := fields(t, nvmeCLI(t, "error-log", c.Path(), "--log-entries", fmt.Sprint(len(log))))
	for k := range theirs {
		if strings.HasSuffix(k, ".phase_tag") { // which our status no longer has
			delete(theirs, k)
		}
	}
	agree(t, ours, theirs, `errors\.\d+\.(csi|opcode|log_page_version)`)
}

// TestOracleSwarbrick: dswarbrick/smart sees the same controller and namespace.
// It takes MDTS 0 for one page, prints text with its padding, and looks at
// namespace 1 alone.
func TestOracleSwarbrick(t *testing.T) {
	d := device(t, want{ms: 0})
	c := controller(t, d, passthru.ControllerConfig{})
	id, got := c.Identity(), swarbrick(t, c.Path())
	require.Equal(t, fmt.Sprintf("%#04x", id.VID), got["Vendor ID"])
	require.Equal(t, id.MN, got["Model number"])
	require.Equal(t, id.SN, got["Serial number"])
	require.Equal(t, id.FR, got["Firmware version"])
	require.Equal(t, number(t, got["IEEE OUI identifier"]).Uint64(), uint64(id.IEEE))
	require.Equal(t, fmt.Sprintf("%d pages", 1<<id.MDTS), got["Max. data xfer size"])
	ns, err := c.IdentifyNamespace(t.Context(), 1)
	require.NoError(t, err)
	require.Equal(t, fmt.Sprintf("%d sectors", ns.NSZE), got["Namespace 1 size"])
	require.Equal(t, fmt.Sprintf("%d sectors", ns.NUSE), got["Namespace 1 utilisation"])
}

// swarbrick is what that package prints of a controller, by the text before the
// colon.
func swarbrick(t *testing.T, path string) map[string]string {
	t.Helper()
	// The package gives the kernel addresses of variables on its stack, which
	// the runtime may move. Room beforehand, and no collection that would
	// give it back, keep the stack where it is.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	var out bytes.Buffer
	done := make(chan error)
	go func() { done <- onDeepStack(func() error { return printSMART(path, &out) }) }()
	require.NoError(t, <-done)
	got := map[string]string{}
	for line := range strings.Lines(out.String()) {
		if k, v, ok := strings.Cut(line, ":"); ok {
			got[strings.TrimSpace(k)] = strings.TrimSpace(v)
		}
	}
	return got
}

func printSMART(path string, out *bytes.Buffer) error {
	d := smart.NewNVMeDevice(path)
	if err := d.Open(); err != nil {
		return err
	}
	defer d.Close()
	return d.PrintSMART(&drivedb.DriveDb{}, out)
}

//go:noinline
func onDeepStack(f func() error) error {
	grow(256)
	return f()
}

//go:noinline
func grow(n int) byte {
	var room [1024]byte
	if n > 0 {
		room[n] = grow(n - 1)
	}
	return room[n/2]
}
