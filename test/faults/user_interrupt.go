package faults

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/report"
)

func interruptCases() []Case {
	return []Case{
		{
			Name:  "interrupt-while-starting",
			Fault: "SIGINT, from 0 to 300 ms after the start of run, compare, sweep, verify and nop",
			Must:  "exit code 130; what is printed or saved is whole and marked as interrupted; no file is left half written",
			Bound: 2 * time.Minute, Shape: userShape, Exit: 130, Run: interruptStart,
		},
		{
			Name:  "interrupt-while-measuring",
			Fault: "SIGINT, SIGTERM and SIGHUP during warm-up and during measurement, on a slow drive",
			Must:  "exit code 130; commands in flight come back first; the record is whole, saved as well, and marked as interrupted",
			Bound: 2 * time.Minute, Shape: userShape, Exit: 130, Run: interruptMeasuring,
		},
		{
			Name:  "interrupt-while-draining",
			Fault: "a second SIGINT while thousands of commands of a slow drive are still in flight, by interrupt and polled",
			Must:  "the process ends at once; polled before Linux 6.6, where that would crash the kernel, it says so and waits for the commands",
			Bound: 2 * time.Minute, Shape: userShape, Exit: 130, Run: interruptDraining,
		},
		{
			Name:  "interrupt-while-waiting-for-data",
			Fault: "SIGINT while io write waits for standard input, or for a named pipe that nobody writes to",
			Must:  "exit code 130 within two seconds; nothing is written to the drive",
			Bound: time.Minute, Shape: userShape, Exit: 130, Run: interruptInput,
		},
		{
			Name:  "interrupt-while-printing",
			Fault: "SIGINT twice while the report waits for a reader of standard output",
			Must:  "the process ends",
			Bound: time.Minute, Shape: userShape, Exit: 130, Run: interruptPrinting,
		},
	}
}

// inDir runs a command in a folder.
func inDir(dir string) func(*exec.Cmd) { return func(c *exec.Cmd) { c.Dir = dir } }

// requireMarked requires that a record, if there is one, is whole and says that it
// was interrupted, as does the document of a command that had none yet.
func requireMarked(t *testing.T, text string) {
	t.Helper()
	switch {
	case text == "":
	case member(t, text, "schema") == report.FailureSchema:
		require.EqualValues(t, 130, member(t, text, "exit_code"), text)
	default:
		require.Equal(t, true, member(t, text, "interrupted"), text)
	}
}

// requireSaved requires that a folder holds nothing but whole records that are
// marked.
func requireSaved(t *testing.T, dir string) {
	t.Helper()
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, f := range left {
		require.Equal(t, "record.json", f.Name(), "a file is left")
		b, err := os.ReadFile(filepath.Join(dir, f.Name()))
		require.NoError(t, err)
		require.NotEmpty(t, b)
		requireMarked(t, string(b))
		require.NoError(t, os.Remove(filepath.Join(dir, f.Name())))
	}
}

func interruptStart(t *testing.T, g *Guest) Outcome {
	node := g.Drive(t, "slow0").Generic
	dir := t.TempDir()
	for _, args := range [][]string{
		{"run", node, "--runtime", "100", "--save", "record.json"},
		{"compare", node, "--runtime", "100", "--save", "record.json"},
		{"sweep", node, "--runtime", "100", "--save", "record.json"},
		{"nop", "--runtime", "100", "--save", "record.json"},
		{"verify", node},
	} {
		for delay := 0 * time.Millisecond; delay <= 300*time.Millisecond; delay += 50 * time.Millisecond {
			p := g.Start(t, inDir(dir), append(args, "-o", "json", "--progress", "none")...)
			time.Sleep(delay)
			p.Signal(t, syscall.SIGINT)
			run := g.Wait(t, p)
			require.Equal(t, 130, run.Exit, "%v after %v", args, delay)
			requireMarked(t, run.Stdout)
			requireSaved(t, dir)
		}
	}
	return usable(t, node)
}

func interruptMeasuring(t *testing.T, g *Guest) (o Outcome) {
	node := g.Drive(t, "slow0").Generic
	dir := t.TempDir()
	signals := []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP}
	for i, args := range [][]string{
		{"run", node, "--warmup", "100", "--runtime", "100"},
		{"run", node, "--runtime", "100", "--path", "passthru-poll", "--qd", "64"},
		{"run", node, "--runtime", "100", "--path", "block", "--save", "record.json"},
		{"compare", node, "--warmup", "100", "--runtime", "100"},
		{"compare", node, "--runtime", "100", "--save", "record.json"},
		{"sweep", node, "--runtime", "100", "--save", "record.json"},
	} {
		inTime(t, func(wait time.Duration) bool {
			p := g.Start(t, inDir(dir), append(args, "-o", "json", "--progress", "none")...)
			awaitRing(t, p)
			time.Sleep(wait)
			p.Signal(t, signals[i%len(signals)])
			run := g.Wait(t, p)
			require.Equal(t, 130, run.Exit, "%v", args)
			requireMarked(t, run.Stdout)
			requireSaved(t, dir)
			if args[0] == "run" && run.Stdout != "" {
				o = o.Add(recordOf(t, run))
			}
			return run.Stdout != "" // or it had not begun
		})
	}
	require.Positive(t, o.OK)
	inTime(t, func(wait time.Duration) bool {
		p := g.Start(t, nil, "verify", node, "--qd", "1", "--bs", "512", "-o", "json")
		time.Sleep(wait)
		p.Signal(t, syscall.SIGINT)
		run := g.Wait(t, p)
		requireMarked(t, run.Stdout)
		return run.Stdout != ""
	})
	return o.Add(usable(t, node))
}

func interruptDraining(t *testing.T, g *Guest) Outcome {
	node := g.Drive(t, "slow0").Generic
	for _, path := range []string{"passthru", "block", "passthru-poll"} {
		const commands = "2000" // five seconds
		inTime(t, func(wait time.Duration) bool {
			p := g.Start(t, nil, "run", node, "--path", path, "--runtime", "100", "--qd", commands, "--batch", commands, "-o", "json", "--progress", "none")
			awaitRing(t, p)
			time.Sleep(wait)
			p.Signal(t, syscall.SIGINT)
			time.Sleep(300 * time.Millisecond)
			p.Signal(t, syscall.SIGINT)
			run := g.Wait(t, p)
			require.Equal(t, 130, run.Exit)
			requireMarked(t, run.Stdout)
			waited := strings.Contains(run.Stderr, "this kernel crashes if the process ends now")
			if path == "passthru-poll" && strings.HasPrefix(g.Kernel, "6.1.") {
				return waited
			}
			require.False(t, waited, run.Stderr)
			return run.Stdout == "" // it did not come to print
		})
	}
	return usable(t, node)
}

// inTime calls f, which waits for so long before it does something to a process,
// with longer and longer times, until it says that the process had come far
// enough: how long that takes depends on the machine.
func inTime(t *testing.T, f func(wait time.Duration) bool) {
	t.Helper()
	for wait := 500 * time.Millisecond; wait <= 8*time.Second; wait *= 2 {
		if f(wait) {
			return
		}
	}
	require.Fail(t, "the moment was never met")
}

func interruptInput(t *testing.T, g *Guest) Outcome {
	node := g.Drive(t, "fast0").Generic
	fifo := filepath.Join(t.TempDir(), "fifo")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	defer w.Close()
	for _, args := range [][]string{
		{"io", "write", node, "--blocks", "8", "--allow-write", "--force-overwrite"},
		{"io", "compare", node, "--blocks", "8"},
		{"io", "write", node, "--blocks", "8", "--allow-write", "--force-overwrite", "--data", fifo},
		{"diff", fifo, fifo},
		{"report", fifo, "-o", "-"},
	} {
		p := g.Start(t, func(c *exec.Cmd) { c.Stdin = r }, args...)
		time.Sleep(700 * time.Millisecond)
		p.Signal(t, syscall.SIGINT)
		select {
		case err := <-p.ended:
			p.ended <- err
		case <-time.After(2 * time.Second):
			p.Signal(t, syscall.SIGKILL)
		}
		require.Equal(t, 130, g.Wait(t, p).Exit, "%v", args)
	}
	return usable(t, node)
}

func interruptPrinting(t *testing.T, g *Guest) Outcome {
	node := g.Drive(t, "fast0").Generic
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	_, err = w.Write(make([]byte, 64<<10)) // it is full from the start
	require.NoError(t, err)
	p := g.Start(t, func(c *exec.Cmd) { c.Stdout = w }, "run", node, "--number-ios", "1000", "-o", "json", "--progress", "none")
	require.NoError(t, w.Close())
	time.Sleep(3 * time.Second)
	for range 2 {
		p.Signal(t, syscall.SIGINT)
		time.Sleep(200 * time.Millisecond)
	}
	require.Equal(t, 130, g.Wait(t, p).Exit)
	_, _ = io.Copy(io.Discard, r)
	return usable(t, node).Add(Outcome{Issued: 1000, OK: 1000}) // which were done before it printed
}
