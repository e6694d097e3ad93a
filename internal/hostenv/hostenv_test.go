package hostenv

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/passthru"
)

func TestCPUModel(t *testing.T) {
	for in, want := range map[string]string{
		"processor\t: 0\nmodel\t\t: 26\nmodel name\t: Intel Core i7 9xx (Nehalem)\nmodel name\t: second\n": "Intel Core i7 9xx (Nehalem)",
		"model name: a : b": "a : b",
		"processor\t: 0\nBogoMIPS\t: 50.00\nFeatures\t: fp\n": "", // arm64 names none
		"":             "",
		"model name\n": "",
	} {
		require.Equal(t, want, cpuModel(in))
	}
}

func TestMitigations(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "spectre_v2"), []byte("Mitigation: Retpolines; STIBP: disabled\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "meltdown"), []byte("Not affected\n"), 0o600))
	require.Equal(t, []string{"meltdown: Not affected", "spectre_v2: Mitigation: Retpolines; STIBP: disabled"}, mitigations(dir))
	require.Nil(t, mitigations(filepath.Join(dir, "gone")))
}

// TestCollectHere: this machine, without a drive.
func TestCollectHere(t *testing.T) {
	none := func(string) *passthru.Device { return nil }
	cpu := 0
	env := Collect(nil, none, &cpu)
	require.NotEmpty(t, env.Kernel)
	require.NotContains(t, env.KernelCmdline, "\n")
	require.Equal(t, runtime.NumCPU(), env.CPUCount)
	require.Equal(t, runtime.Version(), env.GoVersion)
	require.NotNil(t, env.IOUringFeatures)
	require.Equal(t, env.Emulated, env.EmulatedReason != "")
	require.Empty(t, env.Devices)
	After(&env, none)
}
