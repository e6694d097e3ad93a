package hosttool

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	d, err := parse("\tlinux-vdso.so.1 (0x00007ffd)\n\tlibz.so.1 => /lib/x86_64-linux-gnu/libz.so.1 (0x00007f01)\n" +
		"\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f02)\n\t/lib64/ld-linux-x86-64.so.2 (0x00007f03)\n")
	require.NoError(t, err)
	require.Equal(t, dependencies{
		libraries: map[string]string{"libz.so.1": "/lib/x86_64-linux-gnu/libz.so.1", "libc.so.6": "/lib/x86_64-linux-gnu/libc.so.6"},
		loader:    "/lib64/ld-linux-x86-64.so.2",
	}, d)

	d, err = parse("\tnot a dynamic executable\n")
	require.NoError(t, err)
	require.Equal(t, dependencies{libraries: map[string]string{}}, d)

	_, err = parse("\tlibgone.so.1 => not found\n")
	require.ErrorContains(t, err, "libgone.so.1 is missing")
	_, err = parse("\tlibc.so.6 => /lib/libc.so.6 (0x1)\n")
	require.ErrorContains(t, err, "no loader")
}

func TestFindNothing(t *testing.T) {
	_, err := Find("no-such-program-anywhere")
	require.ErrorIs(t, err, exec.ErrNotFound)
}

// TestFind a program that every machine has.
func TestFind(t *testing.T) {
	tool, err := Find("ls")
	require.NoError(t, err)
	last := tool.Command[len(tool.Command)-1]
	require.Equal(t, "/tools/ls/bin/ls", last)
	var inGuest []string
	for _, guest := range tool.Files {
		inGuest = append(inGuest, guest)
	}
	require.Contains(t, inGuest, last)
	require.Contains(t, inGuest, tool.Command[0])
}
