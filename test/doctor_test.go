package test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/doctor"
	"github.com/nvmepass/nvmepass/internal/inventory"
	"github.com/nvmepass/nvmepass/passthru"
)

// findings are those of one ID.
func findings(r *doctor.Report, id string) (out []doctor.Finding) {
	for _, f := range r.Findings {
		if f.ID == id {
			out = append(out, f)
		}
	}
	return out
}

// examine runs doctor on a device and reads what it prints.
func examine(t *testing.T, code int, args ...string) *doctor.Report {
	t.Helper()
	got, out, errs := nvmepass(t, append([]string{"doctor", "-o", "json"}, args...)...)
	require.Equal(t, code, got, out+errs)
	require.Empty(t, errs)
	var r doctor.Report
	decode(t, out, &r)
	require.Equal(t, code == 0, r.Possible)
	return &r
}

// TestB04DoctorPolled: where polling works, doctor says so, by a polled read,
// and knows that this is no real drive.
func TestB04DoctorPolled(t *testing.T) {
	d := device(t, want{lba: 512, ms: 0, poll: 1})
	r := examine(t, 0, d.Path())
	trial := findings(r, "trial")
	require.Len(t, trial, 1)
	require.Contains(t, trial[0].Found, "passthrough polled works")
	require.NotEqual(t, doctor.Problem, findings(r, "poll-queues")[0].Severity)
	require.Equal(t, doctor.OK, findings(r, "io-uring")[0].Severity)
	require.Equal(t, doctor.OK, findings(r, "rights")[0].Severity)
	require.Equal(t, doctor.OK, findings(r, "critical-warning")[0].Severity)
	require.Equal(t, doctor.Warning, findings(r, "emulated-drive")[0].Severity)
	require.Equal(t, doctor.Note, findings(r, "virtual-machine")[0].Severity)

	code, text, errs := nvmepass(t, "doctor", d.BlockPath(), "-v")
	require.Zero(t, code, errs)
	require.Contains(t, text, "A polled passthrough run is possible.")
	t.Log("\n" + text)
	code, quiet, errs := nvmepass(t, "doctor", d.Path())
	require.Zero(t, code, errs)
	require.NotContains(t, quiet, "passthrough polled works")
	code, _, errs = nvmepass(t, "doctor", "--strict", d.Path())
	require.Equal(t, 2, code, "the emulated drive is a warning")
	require.Empty(t, errs)

	code, out, errs := nvmepass(t, "doctor", "/dev/null")
	require.Equal(t, 2, code)
	require.Empty(t, out)
	require.Contains(t, errs, d.Path()[:len("/dev/ng")])
}

// teeCommand is how doctor writes to a file of sysfs.
var teeCommand = regexp.MustCompile(`^echo (\S+) \| sudo tee (\S+)$`)

// carryOut does what those commands do that need no reboot.
func carryOut(t *testing.T, commands []string) {
	t.Helper()
	done := 0
	for _, c := range commands {
		if strings.HasPrefix(c, "#") {
			break
		}
		f := teeCommand.FindStringSubmatch(c)
		require.NotNil(t, f, c)
		require.NoError(t, os.WriteFile(f[2], []byte(f[1]), 0o200), c)
		done++
	}
	require.Positive(t, done)
}

// TestB04DoctorFix: without poll queues doctor ends with 2, its commands give
// the drive some, and its other commands take them away again.
func TestB04DoctorFix(t *testing.T) {
	d := device(t, want{lba: 512, ms: 0, poll: -1, write: true})
	path := d.Path()
	r := examine(t, 2, path)
	missing := findings(r, "poll-queues")[0]
	require.Equal(t, doctor.Problem, missing.Severity)
	require.Contains(t, findings(r, "trial")[0].Found, "passthrough by interrupt works")
	code, text, errs := nvmepass(t, "doctor", path)
	require.Equal(t, 2, code, errs)
	require.Contains(t, text, "nvme.poll_queues is 0")
	t.Log("\n" + text)
	require.NoError(t, d.Close())

	polls := func() bool {
		if !slices.Contains(passthru.Namespaces(), path) {
			return false
		}
		again, err := passthru.Open(path, nil)
		if err != nil {
			return false
		}
		defer again.Close()
		return again.Poll().Check() == nil
	}
	carryOut(t, missing.Fix)
	require.Eventually(t, polls, 20*time.Second, 100*time.Millisecond)
	examine(t, 0, path)
	carryOut(t, missing.Undo)
	require.Eventually(t, func() bool { return slices.Contains(passthru.Namespaces(), path) && !polls() }, 20*time.Second, 100*time.Millisecond)
}

// TestB32DoctorRights: who may not open the node is told so, and how to get
// there; nothing else is tried.
func TestB32DoctorRights(t *testing.T) {
	d := device(t, want{lba: 512, ms: 0})
	withMode(t, d.Path(), 0o600)
	code, out, errs := nvmepassAsNobody(t, "doctor", "-o", "json", d.Path())
	require.Equal(t, 2, code, errs)
	var r doctor.Report
	decode(t, out, &r)
	f := findings(&r, "rights")[0]
	require.Equal(t, doctor.Problem, f.Severity)
	require.Contains(t, f.Found, "permission denied")
	require.Contains(t, strings.Join(f.Fix, "\n"), "udevadm")
	require.Empty(t, findings(&r, "trial"))
	require.Equal(t, doctor.Note, findings(&r, "health")[0].Severity)
}

// TestB57DoctorDisabledRing: io_uring is off; doctor says which setting, and
// info and smart work all the same.
func TestB57DoctorDisabledRing(t *testing.T) {
	d := device(t, want{lba: 512, ms: 0, write: true})
	was, err := os.ReadFile(ioURingSysctl)
	if !kernelSince(t, 6, 6) {
		require.ErrorIs(t, err, os.ErrNotExist)
		return
	}
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(ioURingSysctl, []byte("2"), 0o644))
	t.Cleanup(func() { require.NoError(t, os.WriteFile(ioURingSysctl, was, 0o644)) })
	r := examine(t, 2, d.Path())
	f := findings(r, "io-uring")[0]
	require.Equal(t, doctor.Problem, f.Severity)
	require.Contains(t, f.Found, "kernel.io_uring_disabled is 2")
	require.Equal(t, []string{"sudo sysctl kernel.io_uring_disabled=0"}, f.Fix)
	require.Empty(t, findings(r, "trial"))
	for _, args := range [][]string{{"info", "-o", "json", d.Path()}, {"smart", "-o", "json", d.Path()}, {"list", "-o", "json"}} {
		code, out, errs := nvmepass(t, args...)
		require.Zero(t, code, errs)
		require.NotContains(t, out, "io_uring")
	}
	var l inventory.List
	_, out, _ := nvmepass(t, "list", "-o", "json")
	decode(t, out, &l)
	require.NotEmpty(t, l.Namespaces)
}
