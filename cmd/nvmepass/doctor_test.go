package main

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/doctor"
	"github.com/nvmepass/nvmepass/internal/inventory"
	"github.com/nvmepass/nvmepass/nvme"
)

// TestDeviceRefusals: list, info, smart and doctor name what they cannot do,
// with the exit code of the README and nothing on standard output.
func TestDeviceRefusals(t *testing.T) {
	for _, tt := range []struct {
		args []string
		code int
		says []string
	}{
		{[]string{"list", "/dev/ng0n1"}, exitUsage, []string{"list takes no device", "nvmepass info"}},
		{[]string{"list", "-o", "xml"}, exitUsage, []string{`-o "xml"`, "text, json or csv"}},
		{[]string{"list", "--verbose"}, exitUsage, []string{"--verbose"}},
		{[]string{"info"}, exitUsage, []string{"info: no device", "nvmepass list"}},
		{[]string{"info", "-o", "csv", "/dev/null"}, exitUsage, []string{`-o "csv"`, "text or json"}},
		{[]string{"info", "/dev/null"}, exitDevice, []string{"/dev/null", "not NVMe"}},
		{[]string{"info", "/nonexistent"}, exitDevice, []string{"/nonexistent", "no such device"}},
		{[]string{"info", t.TempDir()}, exitDevice, []string{"a directory"}},
		{[]string{"smart"}, exitUsage, []string{"smart: no device"}},
		{[]string{"smart", "-o", "", "/dev/null"}, exitUsage, []string{`-o ""`}},
		{[]string{"smart", "/dev/null"}, exitDevice, []string{"/dev/null"}},
		{[]string{"doctor", "-o", "csv"}, exitUsage, []string{`-o "csv"`, "text or json"}},
		{[]string{"doctor", "/nonexistent"}, exitDevice, []string{"/nonexistent", "no such file"}},
		{[]string{"doctor", "/dev/null"}, exitDevice, []string{"/dev/null", "no NVMe namespace or controller"}},
	} {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			code, out, errs := command(t, tt.args...)
			require.Equal(t, tt.code, code, errs)
			require.Empty(t, out)
			require.True(t, strings.HasPrefix(errs, "nvmepass: "), errs)
			for _, s := range tt.says {
				require.Contains(t, errs, s)
			}
			require.Less(t, len(errs), 1000)
		})
	}
}

// TestDeviceErrorsAsJSON: where JSON was asked for, an error is in the document
// as well.
func TestDeviceErrorsAsJSON(t *testing.T) {
	for _, name := range []string{"info", "smart"} {
		code, out, errs := command(t, name, "-o", "json", "/nonexistent")
		require.Equal(t, exitDevice, code)
		require.Contains(t, errs, "/nonexistent")
		var doc struct {
			Schema  string
			Devices []struct{ Path, Error string }
		}
		require.NoError(t, json.Unmarshal([]byte(out), &doc), out)
		require.Equal(t, "nvmepass."+name+"/1", doc.Schema)
		require.Len(t, doc.Devices, 1)
		require.Equal(t, "/nonexistent", doc.Devices[0].Path)
		require.Contains(t, doc.Devices[0].Error, "no such device")
	}
}

// TestExamine: on any machine list and doctor answer in every format, and
// doctor's exit code agrees with what it prints.
func TestExamine(t *testing.T) {
	for _, output := range []string{"text", "json", "csv"} {
		code, out, errs := command(t, "list", "-o", output)
		require.Zero(t, code, errs)
		require.NotEmpty(t, out)
	}
	code, out, errs := command(t, "doctor", "-o", "json")
	require.Empty(t, errs)
	var r doctor.Report
	require.NoError(t, json.Unmarshal([]byte(out), &r))
	require.Equal(t, r.Possible, code == exitOK)
	require.NotEmpty(t, r.Findings)
	_, quiet, _ := command(t, "doctor")
	_, verbose, _ := command(t, "doctor", "-v")
	require.Contains(t, quiet, "A polled passthrough run is")
	require.Greater(t, len(verbose), len(quiet))
}

func TestDoctorVerdict(t *testing.T) {
	for _, tt := range []struct {
		possible bool
		warnings int
		strict   bool
		code     int
	}{
		{true, 0, false, exitOK}, {true, 3, false, exitOK}, {true, 3, true, exitDevice}, {true, 0, true, exitOK}, {false, 0, false, exitDevice},
	} {
		err := doctorVerdict(&doctor.Report{Possible: tt.possible, Counts: doctor.Counts{Warnings: tt.warnings}}, tt.strict)
		require.Equal(t, tt.code, exitCode(t.Context(), err), "%+v", tt)
		require.Empty(t, message(err), "the report has said why")
	}
}

// TestHealthVerdict: a warning outweighs a log that could not be read.
func TestHealthVerdict(t *testing.T) {
	var well, ill inventory.Health
	well.Fill(&nvme.IdentifyController{}, &nvme.SMARTLog{})
	ill.Fill(&nvme.IdentifyController{}, &nvme.SMARTLog{CriticalWarning: nvme.WarnReadOnly})
	ill.Controller = "/dev/nvme1"
	lost := inventory.Health{Error: "gone"}
	failed := errors.New("gone")
	for _, tt := range []struct {
		devices []inventory.Health
		err     error
		code    int
		says    string
	}{
		{[]inventory.Health{well, well}, nil, exitOK, ""},
		{[]inventory.Health{well, lost}, failed, exitDevice, "gone"},
		{[]inventory.Health{well, ill}, nil, exitIO, "/dev/nvme1 reports a critical warning: media is read only"},
		{[]inventory.Health{lost, ill}, failed, exitIO, "gone"},
	} {
		err := healthVerdict(&inventory.HealthReport{Devices: tt.devices}, tt.err)
		require.Equal(t, tt.code, exitCode(t.Context(), err))
		require.Contains(t, message(err), tt.says)
	}
}

func TestDeviceHelp(t *testing.T) {
	for name, says := range map[string][]string{
		"list": {"-o csv", "multipath"}, "info": {"/dev/nvme0", "largest"}, "smart": {"critical warning", "2^53"}, "doctor": {"--strict", "changes nothing"},
	} {
		code, out, errs := command(t, "help", name)
		require.Zero(t, code)
		require.Empty(t, errs)
		for _, s := range says {
			require.Contains(t, out, s)
		}
	}
}
