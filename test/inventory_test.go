package test

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/inventory"
	"github.com/nvmepass/nvmepass/internal/ringtest"
	"github.com/nvmepass/nvmepass/nvme"
	"github.com/nvmepass/nvmepass/passthru"
)

// nvmepassAsNobody runs the command as somebody without rights.
func nvmepassAsNobody(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	bin := tool(t)
	if os.Geteuid() != 0 {
		ringtest.Missing(t, "root, to become somebody else", fmt.Errorf("this is user %d", os.Geteuid()))
	}
	cmd := exec.Command(bin, args...)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if errors.Is(err, os.ErrPermission) {
		ringtest.Missing(t, "an nvmepass that everybody may run", err)
	}
	if _, ok := errors.AsType[*exec.ExitError](err); !ok {
		require.NoError(t, err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// decode reads one JSON document and nothing behind it.
func decode(t *testing.T, text string, v any) {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	require.NoError(t, dec.Decode(v), text)
	require.False(t, dec.More(), "one document")
}

// TestIdentityList: every namespace that can be opened is listed, with what the
// drive itself says of it, in all formats.
func TestIdentityList(t *testing.T) {
	d := device(t, want{lba: 512, ms: 0})
	code, out, errs := nvmepass(t, "list", "-o", "json")
	require.Zero(t, code, errs)
	require.Empty(t, errs)
	var l inventory.List
	decode(t, out, &l)
	require.Len(t, l.Controllers, len(passthru.Controllers()))
	require.Len(t, l.Namespaces, len(passthru.Namespaces()))
	for _, n := range l.Namespaces {
		open, err := passthru.Open(n.Generic, nil)
		require.NoError(t, err)
		require.Equal(t, open.BlockPath(), n.Block)
		require.Equal(t, open.NSID(), n.NSID)
		require.Equal(t, open.Limits().Blocks, n.Blocks)
		require.Equal(t, open.Layout().LBASize, n.Format.DataBytes)
		require.EqualValues(t, open.Layout().MetadataSize, n.Format.MetadataBytes)
		require.EqualValues(t, open.Layout().PI, n.Format.ProtectionType)
		require.Equal(t, open.Controller().SN, n.Serial)
		require.Equal(t, "identify", n.Source)
		require.Empty(t, n.Notes)
		require.NotEmpty(t, n.Controllers)
		require.Equal(t, n.Multipath, len(n.Paths) > 0)
		if n.Multipath {
			require.Len(t, n.Paths, len(n.Controllers))
		}
		require.NoError(t, open.Close())
	}
	for _, c := range l.Controllers {
		require.Equal(t, "live", c.State)
		require.NotEmpty(t, c.Namespaces)
	}

	code, text, errs := nvmepass(t, "list")
	require.Zero(t, code, errs)
	t.Log("\n" + text)
	code, rows, errs := nvmepass(t, "list", "-o", "csv")
	require.Zero(t, code, errs)
	table, err := csv.NewReader(strings.NewReader(rows)).ReadAll()
	require.NoError(t, err)
	require.Len(t, table, 1+len(l.Namespaces))
	for _, n := range l.Namespaces {
		require.Contains(t, text, n.Generic)
		require.True(t, slices.ContainsFunc(table, func(row []string) bool { return row[0] == n.Generic && row[1] == n.Block }), rows)
	}
	require.Contains(t, text, d.Controller().MN)
}

// TestIdentityListOrdinary: who may open no node still sees nodes, names and
// sizes, and why the rest is missing.
func TestIdentityListOrdinary(t *testing.T) {
	d := device(t, want{lba: 512, ms: 0})
	withMode(t, d.Path(), 0o600)
	code, out, errs := nvmepassAsNobody(t, "list", "-o", "json")
	require.Zero(t, code, errs)
	var l inventory.List
	decode(t, out, &l)
	i := slices.IndexFunc(l.Namespaces, func(n inventory.Namespace) bool { return n.Generic == d.Path() })
	require.GreaterOrEqual(t, i, 0, out)
	n := l.Namespaces[i]
	require.Equal(t, d.BlockPath(), n.Block)
	require.Equal(t, d.NSID(), n.NSID)
	require.Equal(t, d.Controller().SN, n.Serial)
	require.Equal(t, d.Limits().Blocks, n.Blocks)
	require.Equal(t, "sysfs", n.Source)
	require.Contains(t, strings.Join(n.Notes, "\n"), "permission denied")
	code, text, errs := nvmepassAsNobody(t, "list")
	require.Zero(t, code, errs)
	require.Contains(t, text, d.Path())
	require.Contains(t, text, "[1] ")
	t.Log("\n" + text)
}

// TestIdentityInfo: what info says is what a Device has, by either node, and
// its controller has the namespace.
func TestIdentityInfo(t *testing.T) {
	d := device(t, want{lba: 512, ms: 0})
	for _, path := range []string{d.Path(), d.BlockPath()} {
		code, out, errs := nvmepass(t, "info", "-o", "json", path)
		require.Zero(t, code, errs)
		var info inventory.Info
		decode(t, out, &info)
		require.Len(t, info.Devices, 1)
		n := info.Devices[0].Namespace
		require.NotNil(t, n)
		require.Empty(t, info.Devices[0].Notes)
		require.Equal(t, d.Path(), n.Namespace.Generic)
		require.Equal(t, d.BlockPath(), n.Namespace.Block)
		l := d.Limits()
		require.Equal(t, l.MaxTransfer, n.Limits.MaxTransferBytes)
		require.Equal(t, l.MaxBlocks, n.Limits.MaxBlocks)
		require.Equal(t, l.MDTS, n.Limits.MDTSBytes)
		require.Equal(t, l.MaxHWSectors, n.Limits.MaxHWSectorsBytes)
		require.Equal(t, d.Poll().Enabled, n.Poll.Enabled)
		require.Equal(t, d.Poll().Count(), n.Poll.Count)
		require.Len(t, n.Formats, len(d.Namespace().Formats))
		used := slices.IndexFunc(n.Formats, func(f inventory.LBAFormat) bool { return f.InUse })
		require.Equal(t, d.Namespace().FormatIndex(), n.Formats[used].Index)
		require.True(t, n.Generic.Read)
		require.True(t, n.Generic.SysAdmin)

		c := info.Devices[0].Controller
		require.NotNil(t, c)
		require.True(t, c.Identified)
		require.Contains(t, c.Namespaces, d.NSID())
		i := slices.IndexFunc(c.Capabilities, func(w inventory.Word) bool { return w.Name == "ONCS" })
		require.Equal(t, d.Controller().ONCS.Compare(), slices.Contains(c.Capabilities[i].Has, "compare"))

		code, text, errs := nvmepass(t, "info", path, c.Node)
		require.Zero(t, code, errs)
		require.Contains(t, text, "largest command")
		require.Contains(t, text, c.Node+": controller")
		t.Log("\n" + text)
	}
	code, out, errs := nvmepass(t, "info", "-o", "json", "/dev/null", d.Path())
	require.Equal(t, 2, code)
	require.Contains(t, errs, "/dev/null")
	var info inventory.Info
	decode(t, out, &info)
	require.Len(t, info.Devices, 2)
	require.NotEmpty(t, info.Devices[0].Error)
	require.NotNil(t, info.Devices[1].Namespace)
}

// TestIdentityInfoOrdinary: rights are missing, not the rest.
func TestIdentityInfoOrdinary(t *testing.T) {
	d := device(t, want{lba: 512, ms: 0})
	withMode(t, d.Path(), 0o600)
	code, out, errs := nvmepassAsNobody(t, "info", "-o", "json", d.Path())
	require.Zero(t, code, errs)
	var info inventory.Info
	decode(t, out, &info)
	n := info.Devices[0].Namespace
	require.False(t, n.Generic.Read)
	require.Contains(t, n.Generic.Reason, "permission denied")
	require.False(t, n.Generic.SysAdmin)
	require.False(t, n.Limits.Known)
	require.Equal(t, d.Limits().MaxHWSectors, n.Limits.MaxHWSectorsBytes)
	require.Equal(t, d.Poll().Count(), n.Poll.Count)
}

// TestIdentitySMART: health in text and JSON, and exit code 3 with the warning
// in words when the drive says that it is too hot.
func TestIdentitySMART(t *testing.T) {
	d := device(t, want{lba: 512, ms: 0, write: true})
	c := controller(t, d, passthru.ControllerConfig{Writable: true})
	code, out, errs := nvmepass(t, "smart", "-o", "json", d.Path())
	require.Zero(t, code, errs)
	var r inventory.HealthReport
	decode(t, out, &r)
	require.True(t, r.Devices[0].Healthy)
	require.Positive(t, *r.Devices[0].TemperatureCelsius)
	require.Equal(t, c.Path(), r.Devices[0].Controller)
	code, out, errs = nvmepass(t, "smart", c.Path())
	require.Zero(t, code, errs)
	require.Contains(t, out, c.Path()+": healthy")
	t.Log("\n" + out)

	was, _, err := c.GetFeatures(t.Context(), nvme.FeatTemperature, passthru.FeatureRequest{})
	require.NoError(t, err)
	_, err = c.SetFeatures(t.Context(), 0, nvme.FeatTemperature, 273, nil, nvme.FeatureOptions{})
	require.NoError(t, err)
	t.Cleanup(func() {
		_, err := c.SetFeatures(context.Background(), 0, nvme.FeatTemperature, uint32(was), nil, nvme.FeatureOptions{})
		require.NoError(t, err)
	})
	code, out, errs = nvmepass(t, "smart", "-o", "json", c.Path())
	require.Equal(t, 3, code, errs)
	require.Contains(t, errs, "temperature outside its limits")
	decode(t, out, &r)
	require.Equal(t, []string{"temperature outside its limits"}, r.Devices[0].Warnings)
	code, _, errs = nvmepassAsNobody(t, "smart", c.Path())
	require.Equal(t, 2, code)
	require.Contains(t, errs, "permission denied")
}

// TestZoneInfo: zones of a zoned namespace.
func TestZoneInfo(t *testing.T) {
	d := device(t, want{lba: 4096, ms: 0, serial: "zns4k"})
	code, out, errs := nvmepass(t, "info", "-o", "json", d.Path())
	require.Zero(t, code, errs)
	var info inventory.Info
	decode(t, out, &info)
	n := info.Devices[0].Namespace
	require.Equal(t, "ZNS", n.CommandSet)
	require.NotNil(t, n.Zones)
	require.EqualValues(t, 4<<20/4096, n.Zones.SizeBlocks)
	require.EqualValues(t, 16, n.Zones.Count)
	require.EqualValues(t, 3, n.Zones.MaxOpen)
	require.EqualValues(t, 5, n.Zones.MaxActive)
	require.Equal(t, d.Limits().MaxAppend, n.Zones.AppendBytes)
	code, text, errs := nvmepass(t, "info", d.Path())
	require.Zero(t, code, errs)
	require.Contains(t, text, "16 of 1024 blocks")
	code, text, errs = nvmepass(t, "list")
	require.Zero(t, code, errs)
	require.Contains(t, text, "4096 ZNS")
	t.Log("\n" + text)
}
