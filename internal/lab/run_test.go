package lab_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/lab"
	"github.com/nvmepass/nvmepass/internal/lab/labtest"
	"github.com/nvmepass/nvmepass/internal/ringtest"
)

// generous bounds runs whose time does not matter: a loaded machine may be slow.
const generous = 4 * time.Minute

const guestPackage = "github.com/nvmepass/nvmepass/internal/lab/internal/guestprog"

// programs builds each guest program once.
var programs = struct {
	sync.Mutex
	dir  string
	path map[string]string
}{path: map[string]string{}}

func TestMain(m *testing.M) {
	code := m.Run()
	if programs.dir != "" {
		if err := os.RemoveAll(programs.dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

func guestProgram(t *testing.T, args ...string) string {
	t.Helper()
	programs.Lock()
	defer programs.Unlock()
	key := strings.Join(args, " ")
	if p, ok := programs.path[key]; ok {
		return p
	}
	if programs.dir == "" {
		dir, err := os.MkdirTemp("", "nvmepass-labtest-")
		require.NoError(t, err)
		programs.dir = dir
	}
	built := labtest.Build(t, guestPackage, args...)
	p := filepath.Join(programs.dir, "guestprog"+strconv.Itoa(len(programs.path)))
	b, err := os.ReadFile(built)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(p, b, 0o755))
	programs.path[key] = p
	return p
}

// config returns the configuration of a run on the newest kernel, and the buffers its streams go to.
func config(t *testing.T, program ...string) (lab.Config, *bytes.Buffer, *bytes.Buffer) {
	t.Helper()
	k := labtest.Need(t)
	var stdout, stderr bytes.Buffer
	return lab.Config{Kernel: k[0].Path, Binary: guestProgram(t), Program: append([]string{""}, program...), Timeout: generous,
		Stdout: &stdout, Stderr: &stderr, Notes: testLog{t}}, &stdout, &stderr
}

type testLog struct{ t *testing.T }

func (l testLog) Write(p []byte) (int, error) {
	l.t.Logf("%s", bytes.TrimSpace(p))
	return len(p), nil
}

func drives(t *testing.T, options ...string) []lab.Drive {
	t.Helper()
	var all []lab.Drive
	for _, o := range options {
		d, err := lab.ParseDrive(o)
		require.NoError(t, err)
		all = append(all, d)
	}
	return all
}

func TestRunOnEveryKernel(t *testing.T) {
	for _, k := range labtest.Need(t) {
		t.Run(k.Version, func(t *testing.T) {
			c, stdout, stderr := config(t, "drives")
			c.Kernel = k.Path
			c.PollQueues = 1
			c.Drives = drives(t, "", "lba=4096,mdts=5", "nsid=3:17,serial=B", "", "size=64m,zoned,backend=memory", "multipath,backend=memory", "size=3t,backend=memory,format=qcow2")
			res, err := lab.Run(t.Context(), c)
			require.NoError(t, err)
			require.Equal(t, 0, res.ExitCode, stderr)
			require.Equal(t, k, res.Kernel)
			require.NotEmpty(t, res.QEMU)
			require.Positive(t, res.BootTime)
			t.Logf("%s: boot %v, run %v", res.Accel, res.BootTime, res.RunTime)

			lines := strings.Split(stdout.String(), "\n")
			require.Equal(t, []string{"controller nvme0 lab0", "controller nvme1 lab1", "controller nvme2 B", "controller nvme3 lab3", "controller nvme4 lab4",
				"controller nvme5 lab5", "controller nvme6 lab5", "controller nvme7 lab6"}, lines[:8])
			text := stdout.String()
			require.Contains(t, text, "ng0n1 nsid 1 sectors 2097152 lba 512 poll 1 maxkb 512 zoned none\n")
			require.Contains(t, text, "ng1n1 nsid 1 sectors 2097152 lba 4096 poll 1 maxkb 128 zoned none\n")
			require.Contains(t, text, "nsid 3 ")
			require.Contains(t, text, "nsid 17 ")
			require.Contains(t, text, "ng4n1 nsid 1 sectors 131072 lba 512 poll 1 maxkb 512 zoned host-managed\n")
			require.Regexp(t, "ng[56]n1 nsid 1 ", text, "two paths, one namespace: the kernel numbers it after either controller")
			require.Contains(t, text, "ng7n1 nsid 1 sectors 6442450944 ")
			require.Contains(t, text, "found B 17 true\n")
			require.Equal(t, 8, strings.Count(text, "\nng"))
		})
	}
}

func TestRunWithoutPollQueues(t *testing.T) {
	c, stdout, _ := config(t, "drives")
	c.Drives = drives(t, "")
	res, err := lab.Run(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, 0, res.ExitCode)
	require.Contains(t, stdout.String(), " poll 0 ")
}

// TestRunActions: what the guest asks of the host is done, unless it is not allowed.
func TestRunActions(t *testing.T) {
	c, stdout, stderr := config(t, "ask")
	c.Drives = drives(t, "", "size=4m,backend=memory,hotplug,serial=pluggable")
	c.Actions = []lab.Verb{lab.VerbPause, lab.VerbUnplug, lab.VerbPlug, lab.VerbResize}
	res, err := lab.Run(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, 0, res.ExitCode, stderr)
	require.Equal(t, "at first 2 drives\nwithout 1 drives\nit has 4096 sectors\nagain 2 drives\n"+
		"lab: action throttle of drive pluggable: not allowed in this run; Config.Actions has pause, unplug, plug, resize\n", stdout.String())
}

func TestRunExit(t *testing.T) {
	for _, c := range []struct {
		program      []string
		code, signal int
	}{
		{[]string{"exit", "0"}, 0, 0},
		{[]string{"exit", "203"}, 203, 0},
		{[]string{"kill", "9"}, 128 + 9, 9},
		// The process that it leaves behind holds the streams open, and must not hold up the end.
		{[]string{"orphan"}, 5, 0},
	} {
		t.Run(strings.Join(c.program, " "), func(t *testing.T) {
			cfg, _, stderr := config(t, c.program...)
			res, err := lab.Run(t.Context(), cfg)
			require.NoError(t, err)
			require.Equal(t, c.code, res.ExitCode, stderr)
			require.Equal(t, c.signal, res.Signal)
			require.False(t, res.Interrupted)
		})
	}
}

func TestRunStreams(t *testing.T) {
	const n = 1 << 20
	c, stdout, stderr := config(t, "emit", strconv.Itoa(n), strconv.Itoa(n+7))
	res, err := lab.Run(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, 0, res.ExitCode)
	for i, b := range []*bytes.Buffer{stdout, stderr} {
		want := make([]byte, n+7*i)
		_, err := rand.NewChaCha8([32]byte{byte(i + 1)}).Read(want)
		require.NoError(t, err)
		require.True(t, bytes.Equal(want, b.Bytes()), "stream %d: %d bytes, want %d, or other ones", i+1, b.Len(), len(want))
	}
}

func TestRunFiles(t *testing.T) {
	const n = 8<<20 + 13
	c, _, stderr := config(t, "out", strconv.Itoa(n))
	c.OutDir = filepath.Join(t.TempDir(), "new", "out")
	res, err := lab.Run(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, 0, res.ExitCode, stderr)
	t.Logf("run %v", res.RunTime)
	b, err := os.ReadFile(filepath.Join(c.OutDir, "sub", "hello.txt"))
	require.NoError(t, err)
	require.Equal(t, "hello\n", string(b))
	require.DirExists(t, filepath.Join(c.OutDir, "sub", "empty"))
	_, err = os.Lstat(filepath.Join(c.OutDir, "link"))
	require.ErrorIs(t, err, os.ErrNotExist)
	want := make([]byte, n)
	_, err = rand.NewChaCha8([32]byte{3}).Read(want)
	require.NoError(t, err)
	got, err := os.ReadFile(filepath.Join(c.OutDir, "big.bin"))
	require.NoError(t, err)
	require.True(t, bytes.Equal(want, got))
}

func TestRunSurroundings(t *testing.T) {
	c, stdout, stderr := config(t)
	in := filepath.Join(t.TempDir(), "in.txt")
	require.NoError(t, os.WriteFile(in, []byte("from the host"), 0o600))
	c.Program = []string{guestProgram(t), "see", "ä b", ""}
	c.Dir = filepath.Join("internal", "guesttest")
	c.Env = []string{"A=b c"}
	c.InFiles = map[string]string{in: "/data/in.txt"}
	res, err := lab.Run(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, 0, res.ExitCode, stderr)
	program := "/bin/" + filepath.Base(c.Program[0])
	require.Equal(t, fmt.Sprintf("cwd /work\npid1 false\ninside true\nargs [%q \"see\" \"ä b\" \"\"]\n"+
		"env [\"A=b c\" \"HOME=/tmp\" \"PATH=/bin\" \"TMPDIR=/tmp\"]\nmemlock unlimited true\nfile testdata/golden.txt \"golden\\n\"\nfile /data/in.txt \"from the host\"\n", program),
		stdout.String())
}

func TestRunTestBinary(t *testing.T) {
	c, stdout, stderr := config(t)
	dir := t.TempDir()
	binary := labtest.Build(t, "github.com/nvmepass/nvmepass/internal/lab/internal/guesttest", "test", "-cover")
	c.Dir = filepath.Join("internal", "guesttest")
	c.Program = []string{binary, "-test.v", "-test.testlogfile=" + filepath.Join(dir, "log"), "-test.timeout=1m", "-test.outputdir=" + dir,
		"-test.coverprofile=" + filepath.Join(dir, "abs", "cover.out"), "-test.memprofile=mem.out"}
	res, err := lab.Run(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, 0, res.ExitCode, "%s%s", stdout, stderr)
	require.Contains(t, stdout.String(), "--- PASS: TestGolden")
	require.Contains(t, stdout.String(), "runs as /bin/guesttest")
	b, err := os.ReadFile(filepath.Join(dir, "abs", "cover.out"))
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(string(b), "mode: "), string(b))
	require.FileExists(t, filepath.Join(dir, "mem.out"))
	require.NoFileExists(t, filepath.Join(dir, "log"))
}

func TestRunKeepsData(t *testing.T) {
	for _, format := range []string{"raw", "qcow2"} {
		t.Run(format, func(t *testing.T) {
			if format == "qcow2" {
				if _, err := exec.LookPath("qemu-img"); err != nil {
					ringtest.Missing(t, "QEMU's qemu-img (package qemu-utils)", err)
				}
			}
			file := filepath.Join(t.TempDir(), "a,b=c.img")
			d := lab.Drive{Size: 16 << 20, File: file, Format: lab.Format(format)}
			c, _, stderr := config(t, "write", "/dev/nvme0n1", "4096", "deadbeef")
			c.Drives = []lab.Drive{d}
			res, err := lab.Run(t.Context(), c)
			require.NoError(t, err)
			require.Equal(t, 0, res.ExitCode, stderr)
			c, stdout, stderr := config(t, "read", "/dev/nvme0n1", "4096")
			c.Drives = []lab.Drive{{File: file, Format: lab.Format(format)}}
			res, err = lab.Run(t.Context(), c)
			require.NoError(t, err)
			require.Equal(t, 0, res.ExitCode, stderr)
			require.Equal(t, "\"deadbeef\" <nil>\n", stdout.String())
		})
	}
}

func TestRunErrorSectors(t *testing.T) {
	c, stdout, _ := config(t, "read", "/dev/nvme0n1", strconv.Itoa(2049*512))
	c.Drives = drives(t, "error-sectors=2048+8,size=16m,backend=memory")
	_, err := lab.Run(t.Context(), c)
	require.NoError(t, err)
	require.Contains(t, stdout.String(), "input/output error")
}

// trigger calls f when the text has been written, once.
type trigger struct {
	io.Writer
	text string
	f    func()
	once sync.Once
}

func (w *trigger) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(w.text)) {
		w.once.Do(w.f)
	}
	return w.Writer.Write(p)
}

func TestRunInterrupted(t *testing.T) {
	c, stdout, _ := config(t, "interrupted")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c.Stdout = &trigger{Writer: stdout, text: "waiting", f: cancel}
	c.Grace = time.Minute
	res, err := lab.Run(ctx, c)
	require.NoError(t, err)
	require.Equal(t, 42, res.ExitCode)
	require.True(t, res.Interrupted)
	require.Equal(t, "waiting\ninterrupted\n", stdout.String())
}

func TestRunInterruptedInVain(t *testing.T) {
	c, stdout, _ := config(t, "stubborn")
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	c.Stdout = &trigger{Writer: stdout, text: "waiting", f: func() { cancel(cause) }}
	c.Grace = 500 * time.Millisecond
	res, err := lab.Run(ctx, c)
	require.ErrorIs(t, err, cause)
	require.ErrorContains(t, err, "500ms")
	require.True(t, res.Interrupted)
}

func TestRunTimeout(t *testing.T) {
	c, _, _ := config(t, "stubborn")
	// Whether the time is over before or after the program starts does not matter here.
	c.Timeout = 8 * time.Second
	_, err := lab.Run(t.Context(), c)
	require.ErrorIs(t, err, lab.ErrTimeout)
	require.ErrorContains(t, err, "8s")
}

func TestRunPanic(t *testing.T) {
	t.Run("kernel", func(t *testing.T) {
		c, _, _ := config(t, "crash")
		var console bytes.Buffer
		c.Console = &console
		_, err := lab.Run(t.Context(), c)
		require.ErrorIs(t, err, lab.ErrPanic)
		require.ErrorContains(t, err, "sysrq triggered crash")
		require.Contains(t, console.String(), "Linux version")
	})
	t.Run("init", func(t *testing.T) {
		c, _, _ := config(t, "exit", "0")
		c.Binary = guestProgram(t, "-ldflags=-X main.badInit=1")
		_, err := lab.Run(t.Context(), c)
		require.ErrorIs(t, err, lab.ErrPanic)
		require.ErrorContains(t, err, "Attempted to kill init")
	})
}

func TestRunBadKernel(t *testing.T) {
	c, _, _ := config(t, "exit", "0")
	b, err := os.ReadFile(c.Kernel)
	require.NoError(t, err)
	// A header that promises a kernel, and nothing behind it.
	c.Kernel = filepath.Join(t.TempDir(), "vmlinuz")
	require.NoError(t, os.WriteFile(c.Kernel, append(b[:0x8000], make([]byte, 1<<20)...), 0o600))
	c.HelloTimeout = 5 * time.Second
	_, err = lab.Run(t.Context(), c)
	require.ErrorIs(t, err, lab.ErrNoAnswer)
}

func TestRunStreamRefused(t *testing.T) {
	c, _, _ := config(t, "emit", "100000", "0")
	full := errors.New("no space left")
	c.Stdout = writerFunc(func([]byte) (int, error) { return 0, full })
	_, err := lab.Run(t.Context(), c)
	require.ErrorIs(t, err, full)
	require.ErrorContains(t, err, "stdout")
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// TestRunKilledHost proves that QEMU does not outlive a host process that has no chance to clean up.
func TestRunKilledHost(t *testing.T) {
	k := labtest.Need(t)
	cmd := exec.Command(guestProgram(t), "host", k[0].Path)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	line := make([]byte, 8)
	_, err = io.ReadFull(stdout, line)
	require.NoError(t, err)
	require.Equal(t, "waiting\n", string(line))
	qemu := childOf(t, cmd.Process.Pid)
	require.NoError(t, cmd.Process.Signal(syscall.SIGKILL))
	require.Error(t, cmd.Wait())
	require.Eventually(t, func() bool { return !alive(qemu) }, 30*time.Second, 10*time.Millisecond, "QEMU lives on")
}

// childOf returns the process that pid started.
func childOf(t *testing.T, pid int) int {
	t.Helper()
	found, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	require.NoError(t, err)
	for _, f := range found {
		if b, err := os.ReadFile(f); err == nil {
			for s := range strings.FieldsSeq(string(b)) {
				n, err := strconv.Atoi(s)
				require.NoError(t, err)
				return n
			}
		}
	}
	t.Fatal("no child process")
	return 0
}

// alive reports whether a process runs; one that nobody waited for has ended.
func alive(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, ok := strings.Cut(string(b), ") ")
	return ok && !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X")
}
