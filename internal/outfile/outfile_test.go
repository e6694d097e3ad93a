package outfile

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error { _, err := io.WriteString(w, s); return err }
}

func content(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(b)
}

// names are the files of a folder.
func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// TestModes: a new file has what the umask leaves, an old one keeps its own.
func TestModes(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o027))
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	require.NoError(t, Check(path))
	require.Empty(t, names(t, dir))
	require.NoError(t, Write(path, text("new")))
	for _, mode := range []os.FileMode{0o640, 0o600, 0o664} {
		require.NoError(t, Check(path))
		require.NoError(t, Write(path, text("old")))
		fi, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, mode, fi.Mode().Perm())
		require.NoError(t, os.Chmod(path, map[os.FileMode]os.FileMode{0o640: 0o600, 0o600: 0o664, 0o664: 0o664}[mode]))
	}
	require.Equal(t, "old", content(t, path))
	require.Equal(t, []string{"file"}, names(t, dir))
}

// TestFailureLeavesTheOldFile and nothing beside it.
func TestFailureLeavesTheOldFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	full := errors.New("disk full")
	fail := func(w io.Writer) error { _, err := io.WriteString(w, "half"); return errors.Join(err, full) }
	err := Write(path, fail)
	require.ErrorIs(t, err, full)
	require.ErrorContains(t, err, path)
	require.Empty(t, names(t, dir))
	require.NoError(t, Write(path, text("whole")))
	require.ErrorIs(t, Write(path, fail), full)
	require.Equal(t, "whole", content(t, path))
	require.Equal(t, []string{"file"}, names(t, dir))
}

// TestLinks stay, whether or not there is something at their end.
func TestLinks(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "far"), 0o755))
	for _, link := range [][2]string{{"far/file", "near"}, {"near", "nearer"}, {"loop", "loop"}} {
		require.NoError(t, os.Symlink(link[0], filepath.Join(dir, link[1])))
	}
	for _, s := range []string{"made", "replaced"} {
		require.NoError(t, Check(filepath.Join(dir, "nearer")))
		require.NoError(t, Write(filepath.Join(dir, "nearer"), text(s)))
		require.Equal(t, s, content(t, filepath.Join(dir, "far", "file")))
	}
	require.Equal(t, []string{"file"}, names(t, filepath.Join(dir, "far")))
	require.Equal(t, []string{"far", "loop", "near", "nearer"}, names(t, dir))
	require.ErrorContains(t, Check(filepath.Join(dir, "loop")), "links")
}

// TestRefused: what is no file, and above all what is a drive.
func TestRefused(t *testing.T) {
	dir := t.TempDir()
	for path, says := range map[string]string{
		"":                               "no file is named",
		dir:                              "folder",
		filepath.Join(dir, "no", "file"): "no such file",
		"/dev/zero":                      "no regular file",
		"/dev/mem":                       "no regular file",
		"/dev/fd/987":                    "no such file",
	} {
		if path == "/dev/mem" {
			if _, err := os.Stat(path); err != nil {
				continue // not in containers
			}
		}
		require.ErrorContains(t, Check(path), says, path)
		require.ErrorContains(t, Write(path, text("x")), says, path)
	}
}

// TestStreams take bytes as they are.
func TestStreams(t *testing.T) {
	require.NoError(t, Check(os.DevNull))
	require.NoError(t, Write(os.DevNull, text("gone")))

	fifo := filepath.Join(t.TempDir(), "fifo")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	require.NoError(t, Check(fifo))
	got := make(chan string)
	go func() {
		b, _ := os.ReadFile(fifo)
		got <- string(b)
	}()
	require.NoError(t, Write(fifo, text("through")))
	require.Equal(t, "through", <-got)
	fi, err := os.Lstat(fifo)
	require.NoError(t, err)
	require.NotZero(t, fi.Mode()&os.ModeNamedPipe)
}

// Environment that makes this test binary a program that writes a file.
const envWrite = "OUTFILE_TEST_WRITE"

// TestMain lets the binary write a file and say when half of it is written.
func TestMain(m *testing.M) {
	path := os.Getenv(envWrite)
	if path == "" {
		os.Exit(m.Run())
	}
	_, _ = os.Stdout.WriteString("first\n")
	ending := make(chan os.Signal, 1)
	signal.Notify(ending, syscall.SIGTERM)
	go func() {
		<-ending
		Abandon()
		_, _ = os.Stdout.WriteString("abandoned\n")
	}()
	err := Write(path, func(w io.Writer) error {
		_, _ = io.WriteString(w, "half")
		if path != "/dev/stdout" {
			_, _ = os.Stdout.WriteString("half\n")
			_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
		}
		_, err := io.WriteString(w, " and whole\n")
		return err
	})
	if err != nil {
		os.Exit(1)
	}
	_, _ = os.Stdout.WriteString("last\n")
}

// writer starts such a program.
func writer(t *testing.T, path string) (cmd *exec.Cmd, in io.WriteCloser, out *bufio.Reader) {
	t.Helper()
	cmd = exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), envWrite+"="+path)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	pipe, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	out = bufio.NewReader(pipe)
	for _, want := range []string{"first\n", "half\n"} {
		got, err := out.ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	return cmd, in, out
}

// TestAbandon: nothing of what is being written stays, and nothing else is begun.
func TestAbandon(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, []byte("old"), 0o600))
	cmd, in, out := writer(t, path)
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	got, err := out.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "abandoned\n", got)
	require.Equal(t, []string{"file"}, names(t, filepath.Dir(path)))
	_, err = io.WriteString(in, "\n")
	require.NoError(t, err)
	require.Error(t, cmd.Wait(), "a Write that goes on after that has failed")
	require.Equal(t, "old", content(t, path))
	require.Equal(t, []string{"file"}, names(t, filepath.Dir(path)))
}

// TestStandardOutputInAFile: the file is neither replaced nor written from its
// beginning.
func TestStandardOutputInAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	f, err := os.Create(path)
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env, cmd.Stdout = append(os.Environ(), envWrite+"=/dev/stdout"), f
	require.NoError(t, cmd.Run())
	require.NoError(t, f.Close())
	require.Equal(t, strings.Join([]string{"first", "half and whole", "last", ""}, "\n"), content(t, path))
}
