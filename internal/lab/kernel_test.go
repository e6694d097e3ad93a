package lab

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// fakeKernel is a bzImage header with a version, and nothing behind it that would boot.
func fakeKernel(version string) []byte {
	b := make([]byte, 0x2000)
	b[0x1fe], b[0x1ff] = 0x55, 0xaa
	copy(b[0x202:], "HdrS")
	b[0x20e], b[0x20f] = 0x00, 0x10
	copy(b[0x1200:], version+" (builder@host) #1 SMP\x00")
	return b
}

func writeFile(t *testing.T, name string, b []byte) string {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
	require.NoError(t, os.WriteFile(name, b, 0o755))
	return name
}

func TestKernelVersion(t *testing.T) {
	v, err := kernelVersion(bytes.NewReader(fakeKernel("6.12.117+deb13-cloud-amd64")))
	require.NoError(t, err)
	require.Equal(t, "6.12.117+deb13-cloud-amd64", v)

	for name, spoil := range map[string]func([]byte) []byte{
		"empty":         func([]byte) []byte { return nil },
		"short":         func(b []byte) []byte { return b[:0x210] },
		"no magic":      func(b []byte) []byte { b[0x202] = 'X'; return b },
		"no boot flag":  func(b []byte) []byte { b[0x1fe] = 0; return b },
		"no version":    func(b []byte) []byte { b[0x20f] = 0; return b },
		"beyond":        func(b []byte) []byte { b[0x20f] = 0xff; return b },
		"no text":       func(b []byte) []byte { b[0x1200] = 0; return b },
		"not a version": func(b []byte) []byte { copy(b[0x1200:], "../../etc"); return b },
		"a path inside": func(b []byte) []byte { copy(b[0x1200:], "6/../../etc"); return b },
	} {
		t.Run(name, func(t *testing.T) {
			_, err := kernelVersion(bytes.NewReader(spoil(fakeKernel("6.1.0"))))
			require.Error(t, err)
		})
	}
}

func FuzzKernelVersion(f *testing.F) {
	f.Add(fakeKernel("6.1.0-57-cloud-amd64"))
	f.Add([]byte("MZ"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if v, err := kernelVersion(bytes.NewReader(b)); err == nil {
			require.NotEmpty(t, v)
			require.NotContains(t, v, "/")
		}
	})
}

func TestCompareVersions(t *testing.T) {
	order := []string{"5.19.0", "6.1.0-9-amd64", "6.1.0-57-amd64", "6.1.0-57-cloud-amd64", "6.12.9", "6.12.117+deb13-cloud-amd64", "7.0.0-rc2", "7.0.0-rc10", "7.0.0", "7.3.4+deb13-cloud-amd64", "10.0"}
	shuffled := []string{order[4], order[10], order[0], order[7], order[2], order[9], order[5], order[8], order[1], order[6], order[3]}
	slices.SortFunc(shuffled, compareVersions)
	require.Equal(t, order, shuffled)
	for _, v := range order {
		require.Zero(t, compareVersions(v, v))
	}
}

func TestFindKernels(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv(KernelEnv, "")
	dir := filepath.Join(cache, "nvmepass", "kernels")
	old := writeFile(t, filepath.Join(dir, "vmlinuz-b"), fakeKernel("6.1.0"))
	newer := writeFile(t, filepath.Join(dir, "vmlinuz-a"), fakeKernel("99.10.0"))
	writeFile(t, filepath.Join(dir, "README"), []byte("no kernel"))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "folder"), 0o755))

	got, err := FindKernels()
	require.NoError(t, err)
	require.Equal(t, Kernel{Path: newer, Version: "99.10.0"}, got[0], "the version counts, not the name")
	require.Contains(t, got, Kernel{Path: old, Version: "6.1.0"})

	t.Setenv(KernelEnv, old)
	got, err = FindKernels()
	require.NoError(t, err)
	require.Equal(t, []Kernel{{Path: old, Version: "6.1.0"}}, got)

	t.Setenv(KernelEnv, filepath.Join(dir, "README"))
	_, err = FindKernels()
	require.ErrorIs(t, err, ErrKernel)
	require.ErrorContains(t, err, KernelEnv)

	t.Setenv(KernelEnv, filepath.Join(dir, "missing"))
	_, err = FindKernels()
	require.ErrorIs(t, err, ErrNoKernel)
	require.ErrorContains(t, err, "lab-kernels.sh")
}
