package lab

import (
	"archive/tar"
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOutFiles(t *testing.T) {
	src, out, elsewhere := t.TempDir(), t.TempDir(), t.TempDir()
	writeFile(t, filepath.Join(src, "a", "b.txt"), []byte("b"))
	writeFile(t, filepath.Join(src, ".lab", "0", "cover.out"), []byte("mode: set"))
	writeFile(t, filepath.Join(src, ".lab", "1", "deep", "x"), []byte("x"))
	writeFile(t, filepath.Join(src, ".lab", "2", "unknown"), []byte("?"))
	require.NoError(t, os.Mkdir(filepath.Join(src, "empty"), 0o755))
	require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(src, "link")))

	var b bytes.Buffer
	require.NoError(t, packOut(&b, src))
	require.NoError(t, unpackOut(&b, out, []collected{
		{guest: "/out/.lab/0/cover.out", host: filepath.Join(elsewhere, "new", "c.out")},
		{guest: "/out/.lab/1", host: filepath.Join(elsewhere, "dir"), dir: true},
	}))
	require.FileExists(t, filepath.Join(out, "a", "b.txt"))
	require.DirExists(t, filepath.Join(out, "empty"))
	require.NoFileExists(t, filepath.Join(out, "link"))
	require.NoDirExists(t, filepath.Join(out, ".lab"))
	got, err := os.ReadFile(filepath.Join(elsewhere, "new", "c.out"))
	require.NoError(t, err)
	require.Equal(t, "mode: set", string(got))
	require.FileExists(t, filepath.Join(elsewhere, "dir", "deep", "x"))
}

func TestOutFilesCannotEscape(t *testing.T) {
	base := t.TempDir()
	out := filepath.Join(base, "out")
	require.NoError(t, os.Mkdir(out, 0o755))
	require.NoError(t, os.Symlink("..", filepath.Join(out, "up")))
	for _, name := range []string{"../evil", "/evil", "a/../../evil", "up/evil"} {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		require.NoError(t, w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: 1, Mode: 0o644}))
		_, err := w.Write([]byte("x"))
		require.NoError(t, err)
		require.NoError(t, w.Close())
		require.Error(t, unpackOut(&b, out, nil), name)
		require.NoFileExists(t, filepath.Join(base, "evil"), name)
	}
	require.Error(t, unpackOut(bytes.NewReader(bytes.Repeat([]byte("x"), 1024)), out, nil), "not a tar stream")
}
