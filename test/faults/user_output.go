package faults

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/sys"
)

func outputCases() []Case {
	return []Case{
		{
			Name:  "output-device-full",
			Fault: "standard output takes nothing (/dev/full), for every command that prints",
			Must:  "exit code 3 and a message; never a success whose result is lost",
			Bound: 2 * time.Minute, Shape: userShape, Exit: 3, Run: outputFull,
		},
		{
			Name:  "output-pipe-broken",
			Fault: "the reader of standard output, or of the live lines, goes away during a run, by interrupt and polled",
			Must:  "commands in flight come back, then the process ends without a word, with what a shell shows of SIGPIPE",
			Bound: 2 * time.Minute, Shape: userShape, Exit: 141, Run: outputBroken,
		},
		{
			Name:  "standard-files-closed",
			Fault: "standard input, output and error are closed when nvmepass starts",
			Must:  "their numbers never become the drive's: it holds what it held. Go opens /dev/null in their place, so that the run counts as done",
			Bound: time.Minute, Shape: userShape, Exit: 0, Run: outputClosed,
		},
		{
			Name:  "disk-full",
			Fault: "the file system of the output files is full: --save, --html, report -o, io --data",
			Must:  "exit code 3, the message names the file and the reason; an old file keeps its content, no new or temporary one is left",
			Bound: time.Minute, Shape: userShape, Exit: 3, Run: diskFull,
		},
	}
}

// printing are the arguments of every command that prints a result.
func printing(node string) map[string][]string {
	short := []string{"--rounds", "1", "--runtime", "30ms", "--warmup", "0", "--progress", "none"}
	return map[string][]string{
		"list":    {"list"},
		"info":    {"info", node},
		"smart":   {"smart", node},
		"doctor":  {"doctor", node},
		"run":     {"run", node, "--number-ios", "100", "--progress", "none"},
		"compare": append([]string{"compare", node, "--paths", "passthru", "--depths", "1_1"}, short...),
		"sweep":   append([]string{"sweep", node, "--paths", "passthru", "--bs-list", "4k"}, short...),
		"nop":     append([]string{"nop"}, short...),
		"verify":  {"verify", node, "--size", "64k", "--progress", "none"},
		"read":    {"io", "read", node},
		"dry":     {"io", "read", node, "--dry-run"},
		"admin":   {"admin", "identify", node},
		"help":    {"run", "--help"},
		"version": {"--version"},
	}
}

func outputFull(t *testing.T, g *Guest) Outcome {
	node := g.Drive(t, "fast0").Generic
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	require.NoError(t, err)
	defer full.Close()
	for name, args := range printing(node) {
		for _, output := range []string{"text", "json"} {
			if output == "json" {
				if name == "help" || name == "version" {
					continue
				}
				args = append(args, "-o", output)
			}
			run := g.Wait(t, g.Start(t, func(c *exec.Cmd) { c.Stdout = full }, args...))
			want := 3
			if name == "doctor" || name == "verify" {
				want = run.Exit // what it found may weigh more
			}
			require.Equal(t, want, run.Exit, "%s -o %s", name, output)
			require.NotZero(t, run.Exit)
			require.Contains(t, run.Stderr, "no space left on device", "%s -o %s", name, output)
		}
	}
	run := g.Wait(t, g.Start(t, func(c *exec.Cmd) { c.Stdout = full }, "io", "read", node, "-o", "binary"))
	require.Equal(t, 3, run.Exit)
	return usable(t, node)
}

func outputBroken(t *testing.T, g *Guest) Outcome {
	node := g.Drive(t, "fast0").Generic
	for _, path := range []string{"passthru", "block", "passthru-poll", "block-poll"} {
		for _, which := range []string{"stdout", "stderr", "both"} {
			r, w, err := os.Pipe()
			require.NoError(t, err)
			args := []string{"run", node, "--path", path, "--runtime", "20", "--progress", "plain"}
			if which == "stdout" {
				args[5] = "1500ms"
			}
			p := g.Start(t, func(c *exec.Cmd) {
				if which != "stderr" {
					c.Stdout = w
				}
				if which != "stdout" {
					c.Stderr = w
				}
			}, args...)
			require.NoError(t, w.Close())
			if which != "stdout" {
				_, err := bufio.NewReader(r).ReadString('\n')
				require.NoError(t, err)
			}
			require.NoError(t, r.Close())
			run := g.Wait(t, p)
			require.Equal(t, 141, run.Exit, "%s of %s", which, path)
			require.NotContains(t, run.Stderr, "nvmepass:")
			require.Less(t, run.Took, 15*time.Second)
		}
	}
	r, w, err := os.Pipe()
	require.NoError(t, err)
	require.NoError(t, r.Close())
	defer w.Close()
	for name, args := range printing(node) {
		run := g.Wait(t, g.Start(t, func(c *exec.Cmd) { c.Stdout = w }, args...))
		require.Equal(t, 141, run.Exit, name)
		require.Empty(t, run.Stderr, name)
	}
	return usable(t, node)
}

func init() { tasks["closed"] = closedTask }

// closedTask becomes nvmepass without standard files.
func closedTask(c childTask) (any, error) {
	for fd := range 3 {
		if err := syscall.Close(fd); err != nil {
			return nil, err
		}
	}
	return nil, syscall.Exec(ToolPath, append([]string{"nvmepass"}, c.Args...), os.Environ())
}

func outputClosed(t *testing.T, g *Guest) Outcome {
	node := g.Drive(t, "fast0").Generic
	before := g.Tool(t, "io", "read", node, "--blocks", "128", "-o", "binary")
	closed := func(args ...string) int {
		return g.Wait(t, g.Start(t, func(c *exec.Cmd) {
			child := childTask{Name: "closed", Args: args}.command(t)
			c.Path, c.Args, c.Env = child.Path, child.Args, child.Env
		})).Exit
	}
	require.Zero(t, closed("run", node, "--number-ios", "100", "--rw", "randread", "--path", "block"))
	require.NotZero(t, closed("run", node, "--rw", "randwrite", "--nonsense"))
	require.Zero(t, closed("io", "write-zeroes", node, "--start-block", "1000", "--blocks", "8", "--allow-write", "--force-overwrite"))
	after := g.Tool(t, "io", "read", node, "--blocks", "128", "-o", "binary")
	require.Equal(t, before.Stdout, after.Stdout)
	return Outcome{Issued: 103, OK: 103}
}

func diskFull(t *testing.T, g *Guest) Outcome {
	dir, node := t.TempDir(), g.Drive(t, "fast0").Generic
	good := g.Tool(t, "run", node, "--number-ios", "100", "-o", "json", "--progress", "none")
	require.NoError(t, sys.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"))
	defer func() { require.NoError(t, syscall.Unmount(dir, 0)) }()
	const old = "what was there before\n"
	input := filepath.Join(t.TempDir(), "good.json")
	require.NoError(t, os.WriteFile(input, []byte(good.Stdout), 0o600))
	fill(t, dir)
	run := []string{"run", node, "--number-ios", "100", "-o", "json", "--progress", "none"}
	for _, tt := range []struct {
		args     []string
		standard bool // the result is on standard output all the same
	}{
		{append(run, "--save", "out"), true},
		{[]string{"compare", node, "--paths", "passthru", "--depths", "1_1", "--rounds", "1", "--runtime", "30ms", "-o", "json", "--progress", "none", "--html", "out"}, true},
		{[]string{"report", input, "-o", "out"}, false},
		{[]string{"io", "read", node, "--blocks", "128", "--data", "out"}, true},
	} {
		for _, there := range []bool{false, true} {
			out := filepath.Join(dir, "out")
			if there {
				unfill(t, dir)
				require.NoError(t, os.WriteFile(out, []byte(old), 0o600))
				fill(t, dir)
			}
			got := g.Wait(t, g.Start(t, inDir(dir), tt.args...))
			require.Equal(t, 3, got.Exit, "%v", tt.args)
			require.Contains(t, got.Stderr, "no space left on device")
			require.Contains(t, got.Stderr, "out")
			require.Equal(t, tt.standard, strings.TrimSpace(got.Stdout) != "", "%v", tt.args)
			left, err := os.ReadDir(dir)
			require.NoError(t, err)
			var names []string
			for _, f := range left {
				names = append(names, f.Name())
			}
			if !there {
				require.Equal(t, []string{"filler"}, names)
				continue
			}
			require.Equal(t, []string{"filler", "out"}, names)
			b, err := os.ReadFile(out)
			require.NoError(t, err)
			require.Equal(t, old, string(b))
			require.NoError(t, os.Remove(out))
		}
	}
	return usable(t, node)
}

// fill leaves no room in a file system; unfill makes some.
func fill(t *testing.T, dir string) {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, "filler"))
	require.NoError(t, err)
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.NoError(t, f.Close())
}

func unfill(t *testing.T, dir string) {
	t.Helper()
	require.NoError(t, os.Remove(filepath.Join(dir, "filler")))
}
