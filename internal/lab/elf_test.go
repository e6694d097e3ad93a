package lab

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCheckExecutable(t *testing.T) {
	dir := t.TempDir()
	static := guestProgram(t)
	require.NoError(t, checkExecutable(static))
	require.True(t, isELF(static))

	b, err := os.ReadFile(static)
	require.NoError(t, err)
	arm := append([]byte(nil), b...)
	arm[18] = 183 // EM_AARCH64
	object := append([]byte(nil), b...)
	object[16] = 1 // ET_REL
	dynamic := append([]byte(nil), b...)
	dynamic[64+56] = 3 // the second program header becomes PT_INTERP
	for _, c := range []struct {
		name string
		data []byte
		says string
	}{
		{"script", []byte("#!/bin/sh\n"), "not an ELF"},
		{"empty", nil, "not an ELF"},
		{"arm", arm, "GOARCH=amd64"},
		{"object", object, "not an executable"},
		{"dynamic", dynamic, "CGO_ENABLED=0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := checkExecutable(writeFile(t, filepath.Join(dir, c.name), c.data))
			require.ErrorIs(t, err, ErrBinary)
			require.ErrorContains(t, err, c.says)
			require.ErrorContains(t, err, c.name)
		})
	}
	require.ErrorIs(t, checkExecutable(filepath.Join(dir, "missing")), os.ErrNotExist)
	require.ErrorIs(t, checkExecutable(dir), ErrBinary)
	require.False(t, isELF(dir))
	require.False(t, isELF(filepath.Join(dir, "script")))
}
