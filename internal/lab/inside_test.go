package lab

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNotInit(t *testing.T) {
	require.False(t, IsInit(), "a test is never the first process of a guest")
}

func TestPanicLine(t *testing.T) {
	require.Empty(t, panicLine("all is well"))
	require.Equal(t, "Kernel panic - not syncing: x", panicLine("[ 1.0] a\n[ 1.1] Kernel panic - not syncing: x\r\n[ 1.2] CPU: 0"))
}

func TestConsoleTail(t *testing.T) {
	require.Contains(t, consoleTail("\n"), "empty")
	long := ""
	for range 100 {
		long += "line\r\n"
	}
	long += "last\r\n"
	got := consoleTail(long)
	require.Contains(t, got, "last 25 lines")
	require.NotContains(t, got, "\r")
	require.Contains(t, got, "  last")
}

func TestGuestAccel(t *testing.T) {
	for cmdline, want := range map[string]string{"quiet nvmepass.lab=1 nvmepass.accel=tcg": "tcg", "nvmepass.accel=kvm": "kvm", "quiet": "", "": ""} {
		require.Equal(t, want, accelIn(cmdline), cmdline)
	}
}
