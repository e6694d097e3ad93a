package lab

import (
	"archive/tar"
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzUnpackOut: whatever a guest sends as its files, nothing outside the folder
// of the host changes, and nothing in it is more than a file or a folder.
func FuzzUnpackOut(f *testing.F) {
	entry := func(name, link string, kind byte, mode int64) []byte {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		require.NoError(f, w.WriteHeader(&tar.Header{Name: name, Linkname: link, Typeflag: kind, Mode: mode, Size: 0}))
		require.NoError(f, w.Flush())
		return b.Bytes()
	}
	for _, seed := range [][]byte{
		entry("a/b", "", tar.TypeReg, 0o644),
		entry("../secret", "", tar.TypeReg, 0o644),
		entry("/etc/passwd", "", tar.TypeReg, 0o4755),
		append(entry("link", "..", tar.TypeSymlink, 0o777), entry("link/secret", "", tar.TypeReg, 0o600)...),
		append(entry("d", "", tar.TypeReg, 0o600), entry("d/e", "", tar.TypeReg, 0o600)...),
		entry("a/../../secret", "", tar.TypeDir, 0o755),
		entry("hard", "../secret", tar.TypeLink, 0o644),
		entry("test/x", "", tar.TypeReg, 0o644),
		{0x1f, 0x8b},
	} {
		f.Add(seed, true)
	}
	dir := f.TempDir()
	secret := filepath.Join(dir, "secret")
	f.Fuzz(func(t *testing.T, stream []byte, elsewhere bool) {
		require.NoError(t, os.WriteFile(secret, []byte("kept"), 0o600))
		out, host := filepath.Join(dir, "out"), filepath.Join(dir, "host")
		var collect []collected
		if elsewhere {
			collect = []collected{{guest: guestOut + "/a", host: host, dir: true}}
		}
		if err := unpackOut(bytes.NewReader(stream), out, collect); err != nil {
			require.ErrorContains(t, err, "from the guest")
		}
		kept, err := os.ReadFile(secret)
		require.NoError(t, err)
		require.Equal(t, "kept", string(kept))
		top, err := os.ReadDir(dir)
		require.NoError(t, err)
		for _, e := range top {
			require.Contains(t, []string{"secret", "out", "host"}, e.Name())
		}
		require.NoError(t, filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
			if err == nil {
				require.True(t, e.IsDir() || e.Type().IsRegular(), "%s is a %v", path, e.Type())
				info, err := e.Info()
				require.NoError(t, err)
				require.Zero(t, info.Mode()&(os.ModeSetuid|os.ModeSetgid|os.ModeSticky), path)
			}
			return err
		}))
		require.NoError(t, os.RemoveAll(out))
		require.NoError(t, os.RemoveAll(host))
	})
}

// FuzzModulesDep: the files that a module is said to be and to need are words of
// its line, and a name is one that the kernel would use.
func FuzzModulesDep(f *testing.F) {
	f.Add("kernel/drivers/nvme/host/nvme-core.ko.xz: kernel/a.ko kernel/b-c.ko\n", "nvme_core.multipath=N quiet nvme.poll_queues=2", "nvme")
	f.Add(":\n::\nno colon\nx.ko:", "..", "")
	f.Add("../../etc/passwd: /x\n", "nvme.", "nvme")
	f.Fuzz(func(t *testing.T, text, cmdline, module string) {
		for name, m := range parseModulesDep(text) {
			require.NotContains(t, name, "-")
			require.NotContains(t, name, "/")
			require.Contains(t, text, m.file+":")
			for _, n := range m.needs {
				require.Contains(t, text, n)
			}
		}
		for p := range strings.FieldsSeq(moduleParams(cmdline, module)) {
			require.Contains(t, strings.ReplaceAll(cmdline, "-", "_"), strings.ReplaceAll("."+p, "-", "_"))
		}
	})
}
