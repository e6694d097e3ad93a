package sysfs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// octal escapes as the kernel does in mountinfo (seq_path) and swaps.
var octal = strings.NewReplacer(" ", `\040`, "\t", `\011`, "\n", `\012`, `\`, `\134`)

// FuzzUses: a mount or a swap area of the disk is found under its own name
// whatever else stands in procfs, and nothing is found that is not there.
func FuzzUses(f *testing.F) {
	f.Add("29 1 8:1 / / rw - ext4 /dev/sda1 rw\n", "/mnt/a b", "259:0")
	f.Add("\n- - - - -\n1 2 3 4 5 - \n", `/mnt/\040x`, "259:1")
	f.Add("Filename Type\n/dev/nvme0n1\\040 x", "/new\nline\ttab\\", "")
	f.Add(strings.Repeat("a ", 200), "", "0:0")
	dir := f.TempDir()
	proc, disk := filepath.Join(dir, "proc"), filepath.Join(dir, "nvme0n1")
	for _, d := range []string{filepath.Join(proc, "self"), disk} {
		require.NoError(f, os.MkdirAll(d, 0o755))
	}
	write := func(t *testing.T, file, text string) {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	}
	write2 := func(t *testing.T, junk, added string) []Use {
		write(t, filepath.Join(proc, "self", "mountinfo"), junk+added)
		write(t, filepath.Join(proc, "swaps"), junk)
		return FS{Root: dir, Dev: "/dev"}.Uses(disk, proc)
	}
	f.Fuzz(func(t *testing.T, junk, point, number string) {
		if strings.ContainsAny(number, " \t\n\v\f\r\u0085\u00a0") || number == "" || point == "" {
			number, point = "259:0", "/mnt"
		}
		write(t, filepath.Join(disk, "dev"), number+"\n")
		if len(junk) > 0 && !strings.HasSuffix(junk, "\n") {
			junk += "\n"
		}
		without := write2(t, junk, "")
		for _, u := range without {
			require.Contains(t, []string{"mount", "swap"}, u.Kind)
			require.Equal(t, "nvme0n1", u.Device)
			require.True(t, strings.Contains(junk, "nvme0n1") || strings.Contains(junk, strings.TrimSpace(number)), "%+v from %q", u, junk)
		}
		if len(strings.Fields(octal.Replace(point))) != 1 || strings.TrimSpace(point) != point {
			return // other kinds of space, which the kernel leaves as they are
		}
		with := write2(t, junk, "36 35 0:0 / "+octal.Replace(point)+" rw,noatime shared:1 - xfs /dev/nvme0n1 rw\n")
		require.Contains(t, with, Use{Kind: "mount", Device: "nvme0n1", By: point})
	})
}

// FuzzAttributes: no text of an attribute is taken for a figure that it is not.
func FuzzAttributes(f *testing.F) {
	for _, s := range []string{"8.0 GT/s PCIe", "Unknown", "255", "-1", "9223372036854775808", "Inf GT/s", "NaN GT/s", "1e309 GT/s", "DEVNAME=../../etc\nMAJOR=1", "0-3,8\n", "16\x00"} {
		f.Add(s)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, s string) {
		for _, name := range []string{"attr", "uevent", "cpu_list"} {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(s), 0o644))
		}
		if n, ok := number(dir, "attr"); ok {
			require.Regexp(t, `^[-+]?[0-9]+$`, strings.TrimSpace(s), n)
		}
		require.True(t, lanes(dir, "attr") >= 0 && lanes(dir, "attr") <= 32)
		speed := gigatransfers(s)
		require.True(t, speed >= 0 && speed < 1e6, "%v GT/s from %q", speed, s)
		node := FS{Root: dir, Dev: "/dev"}.devNode(dir)
		require.True(t, node == "" || strings.HasPrefix(node, "/dev/"), "%q from %q", node, s)
		require.NotContains(t, strings.Split(node, "/"), "..")
		require.LessOrEqual(t, len(pollQueuesOf(dir)), 1)
	})
}
