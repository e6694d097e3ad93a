package main

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseLdd(t *testing.T) {
	libraries, loader, err := parseLdd("\tlinux-vdso.so.1 (0x00007ffd)\n\tlibnvme.so.1 => /lib/x86_64-linux-gnu/libnvme.so.1 (0x00007f01)\n" +
		"\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f02)\n\t/lib64/ld-linux-x86-64.so.2 (0x00007f03)\n")
	require.NoError(t, err)
	require.Equal(t, map[string]string{"libnvme.so.1": "/lib/x86_64-linux-gnu/libnvme.so.1", "libc.so.6": "/lib/x86_64-linux-gnu/libc.so.6"}, libraries)
	require.Equal(t, "/lib64/ld-linux-x86-64.so.2", loader)

	libraries, loader, err = parseLdd("\tnot a dynamic executable\n")
	require.NoError(t, err)
	require.Empty(t, libraries)
	require.Empty(t, loader)

	_, _, err = parseLdd("\tlibnvme.so.1 => not found\n")
	require.ErrorContains(t, err, "libnvme.so.1 is missing")
	_, _, err = parseLdd("\tlibc.so.6 => /lib/libc.so.6 (0x1)\n")
	require.ErrorContains(t, err, "no loader")
}

func TestHostToolThatIsNotThere(t *testing.T) {
	_, err := findHostTool("no-such-program-anywhere")
	require.ErrorIs(t, err, exec.ErrNotFound)
}

// TestHostTool that every machine has: itself, its libraries and a way to call
// it.
func TestHostTool(t *testing.T) {
	tool, err := findHostTool("ls")
	require.NoError(t, err)
	require.Equal(t, "/tools/ls/bin/ls", tool.command[len(tool.command)-1])
	require.Contains(t, tool.files, tool.hostProgram(t))
	if len(tool.command) > 1 {
		require.Equal(t, []string{"--library-path", "/tools/ls/lib"}, tool.command[1:3])
		require.Greater(t, len(tool.files), 2)
	}
}

func (h *hostTool) hostProgram(t *testing.T) string {
	for host, guest := range h.files {
		if guest == h.command[len(h.command)-1] {
			return host
		}
	}
	t.Fatal("the program itself is not among its files")
	return ""
}
