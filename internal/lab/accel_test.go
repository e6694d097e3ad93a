package lab

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestKVMProblem(t *testing.T) {
	dir := t.TempDir()
	device := writeFile(t, filepath.Join(dir, "kvm"), nil)
	cpu := func(flags string) string {
		return writeFile(t, filepath.Join(dir, "cpuinfo"), []byte("processor\t: 0\nflags\t\t: "+flags+"\nbugs\t\t: vmxish\n"))
	}
	require.NoError(t, kvmProblem(device, cpu("fpu vmx sse")))
	require.NoError(t, kvmProblem(device, cpu("svm")))
	require.ErrorContains(t, kvmProblem(device, cpu("fpu hypervisor vmx_x")), "neither vmx nor svm")
	require.ErrorIs(t, kvmProblem(filepath.Join(dir, "none"), cpu("vmx")), os.ErrNotExist)
}

func TestAccelerators(t *testing.T) {
	list, note, err := accelerators(AccelTCG)
	require.NoError(t, err)
	require.Empty(t, note)
	require.Equal(t, []accelerator{accelTCG}, list)

	list, note, err = accelerators(AccelAuto)
	require.NoError(t, err)
	require.Equal(t, accelTCG, list[len(list)-1], "TCG is always the last resort")
	require.Equal(t, len(list) == 1, note != "", "a choice that was made is said")

	if _, _, err = accelerators(AccelKVM); err != nil {
		require.ErrorIs(t, err, ErrConfig)
		require.ErrorContains(t, err, "tcg")
	}
}
