package lab

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/cavaliergopher/cpio"
	"github.com/stretchr/testify/require"
)

// readArchive returns the entries in order, and the contents of the files.
func readArchive(t *testing.T, r io.Reader) (names []string, files map[string][]byte, modes map[string]cpio.FileMode) {
	t.Helper()
	files, modes = map[string][]byte{}, map[string]cpio.FileMode{}
	a := cpio.NewReader(r)
	for {
		h, err := a.Next()
		if errors.Is(err, io.EOF) {
			return names, files, modes
		}
		require.NoError(t, err)
		names = append(names, h.Name)
		modes[h.Name] = h.Mode
		if h.Mode.IsRegular() {
			files[h.Name], err = io.ReadAll(a)
			require.NoError(t, err)
		}
	}
}

func TestInitramfs(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "testdata", "sub", "f.txt"), []byte("text"))
	require.NoError(t, os.Symlink("sub/f.txt", filepath.Join(dir, "testdata", "link")))
	require.NoError(t, os.Symlink("nowhere", filepath.Join(dir, "testdata", "dangling")))
	bin := writeFile(t, filepath.Join(dir, "bin"), []byte("\x7fELF"))

	r := newInitramfs()
	r.addFile("/init", bin)
	require.NoError(t, r.addTree("/there/testdata", filepath.Join(dir, "testdata")))
	require.NoError(t, r.addSpec(guestSpec{Path: "/init", Args: []string{"nvmepass", "a b"}}))
	require.Error(t, r.addTree("/x", filepath.Join(dir, "missing")))
	var b bytes.Buffer
	require.NoError(t, r.writeTo(&b))

	names, files, modes := readArchive(t, &b)
	require.Equal(t, []string{"lab", "there", "there/testdata", "there/testdata/sub", "lab/guest.json", "init", "there/testdata/link", "there/testdata/sub/f.txt"}, names,
		"every folder comes before what is in it")
	require.True(t, modes["there/testdata"].IsDir())
	require.Equal(t, cpio.FileMode(0o755), modes["init"].Perm())
	require.Equal(t, "text", string(files["there/testdata/sub/f.txt"]))
	require.Equal(t, "text", string(files["there/testdata/link"]), "links are followed: their target may not be in the guest")
	var s guestSpec
	require.NoError(t, json.Unmarshal(files["lab/guest.json"], &s))
	require.Equal(t, []string{"nvmepass", "a b"}, s.Args)
}

func TestInitramfsFileVanishes(t *testing.T) {
	r := newInitramfs()
	r.addFile("/init", filepath.Join(t.TempDir(), "gone"))
	err := r.writeTo(io.Discard)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "/init")
}
