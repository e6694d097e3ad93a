package faults

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/lab"
)

// Environment of the test binary in the guest.
const (
	EnvShape = "NVMEPASS_FAULT_SHAPE" // the cases of this shape run
	EnvRun   = "NVMEPASS_FAULT_RUN"   // those whose name matches, "" for all
	envCase  = "NVMEPASS_FAULT_CASE"  // this process is the case of that name
	envFile  = "NVMEPASS_FAULT_FILE"  // where it leaves its Result
)

// ToolPath is nvmepass in the guest.
const ToolPath = "/init"

// Guest is what a case has of the machine around it. Its methods are for the
// case's own goroutine unless they say otherwise.
type Guest struct {
	// Kernel is the running kernel's release, such as 6.1.0-50-cloud-amd64.
	Kernel string
	// lastExit is the exit code of the last Tool, LibraryOnly before there is one.
	lastExit int
	lacks    string
}

// Lacks ends a case that this kernel cannot have, with the reason, which goes
// into the table.
func (g *Guest) Lacks(t testing.TB, reason string) {
	t.Helper()
	g.lacks = reason
	t.Skip(reason)
}

// Drive is a drive of the guest.
type Drive struct {
	Serial     string
	Generic    string // /dev/ng0n1
	Block      string // /dev/nvme0n1
	Controller string // nvme0, of /dev and /sys/class/nvme
	PCI        string // folder in /sys/bus/pci/devices
}

// Drive finds a drive by its serial number, and its first namespace or the one
// with an NSID.
func (g *Guest) Drive(t testing.TB, serial string, nsid ...int) Drive {
	t.Helper()
	n := 1
	if len(nsid) > 0 {
		n = nsid[0]
	}
	name, err := lab.FindNamespace(serial, n)
	require.NoError(t, err)
	d := Drive{Serial: serial, Block: "/dev/" + name, Generic: genericOf(name)}
	require.NotEmpty(t, d.Generic, "%s has no generic node", name)
	all, err := filepath.Glob("/sys/class/nvme/nvme*")
	require.NoError(t, err)
	for _, c := range all {
		if b, err := os.ReadFile(filepath.Join(c, "serial")); err == nil && strings.TrimSpace(string(b)) == serial {
			d.Controller = filepath.Base(c)
			d.PCI, err = filepath.EvalSymlinks(filepath.Join(c, "device"))
			require.NoError(t, err)
			return d
		}
	}
	require.Fail(t, "no controller", "serial number %s", serial)
	return d
}

// genericOf is the generic node of the namespace that a block node stands for, ""
// if there is none yet. Of a drive that came back, they may have different
// numbers: the one is called after its subsystem, the other after its controller.
func genericOf(block string) string {
	device, err := filepath.EvalSymlinks("/sys/class/block/" + block + "/device")
	if err != nil {
		return ""
	}
	instance := block[strings.LastIndexByte(block, 'n'):]
	all, _ := filepath.Glob("/sys/class/nvme-generic/ng*" + instance)
	for _, g := range all {
		if of, err := filepath.EvalSymlinks(filepath.Join(g, "device")); err == nil && of == device {
			return "/dev/" + filepath.Base(g)
		}
	}
	return ""
}

// AwaitDrive is Drive for one that is on its way.
func (g *Guest) AwaitDrive(t testing.TB, serial string) Drive {
	t.Helper()
	require.Eventually(t, func() bool {
		name, err := lab.FindNamespace(serial, 1)
		if err != nil || genericOf(name) == "" {
			return false
		}
		_, block := os.Stat("/dev/" + name)
		_, generic := os.Stat(genericOf(name))
		return block == nil && generic == nil
	}, 30*time.Second, 20*time.Millisecond, "drive %s does not come", serial)
	return g.Drive(t, serial)
}

// Write writes a sysfs or sysctl file.
func (g *Guest) Write(t testing.TB, path, value string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(value), 0))
}

// Ask asks the host for an action and requires that it was done. Its shape must
// allow the verb. It may be called from any goroutine of the test that does not
// outlive it.
func (g *Guest) Ask(t testing.TB, a lab.Action) {
	t.Helper()
	require.NoError(t, lab.Ask(a))
}

// Tool is a running nvmepass, or another program.
type Tool struct {
	cmd            *exec.Cmd
	stdout, stderr output
	began          time.Time
	ended          chan error
}

// output is a buffer that is written to and read at the same time.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

// String is what was written so far.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// Stderr is what the tool has said so far.
func (p *Tool) Stderr() string { return p.stderr.String() }

// ToolRun is how one ended.
type ToolRun struct {
	Exit           int // 128 plus the number of a signal that ended it
	Stdout, Stderr string
	Took           time.Duration
}

// Start starts nvmepass. change, which may be nil, adapts the command first, for
// example its user or environment.
func (g *Guest) Start(t testing.TB, change func(*exec.Cmd), args ...string) *Tool {
	t.Helper()
	p := &Tool{cmd: exec.Command(ToolPath, args...), ended: make(chan error, 1), began: time.Now()}
	p.cmd.Args[0] = "nvmepass"
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	p.cmd.WaitDelay = 5 * time.Second // for pipes that its children hold
	if change != nil {
		change(p.cmd)
	}
	require.NoError(t, p.cmd.Start())
	go func() { p.ended <- p.cmd.Wait() }()
	return p
}

// PID is the tool's process.
func (p *Tool) PID() int { return p.cmd.Process.Pid }

// Signal sends the tool a signal; one that has ended already is no error.
func (p *Tool) Signal(t testing.TB, s syscall.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); !errors.Is(err, os.ErrProcessDone) {
		require.NoError(t, err)
	}
}

// Wait waits until the tool has ended. The harness's bound ends one that hangs.
func (g *Guest) Wait(t testing.TB, p *Tool) ToolRun {
	t.Helper()
	err := <-p.ended
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	r := ToolRun{Exit: p.cmd.ProcessState.ExitCode(), Stdout: p.stdout.String(), Stderr: p.stderr.String(), Took: time.Since(p.began)}
	if ws, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		r.Exit = 128 + int(ws.Signal())
	}
	g.lastExit = r.Exit
	t.Logf("nvmepass %s: exit code %d\n%s%s", strings.Join(p.cmd.Args[1:], " "), r.Exit, r.Stdout, r.Stderr)
	return r
}

// Tool runs nvmepass to its end. The last such run of a case must return
// Case.Exit.
func (g *Guest) Tool(t testing.TB, args ...string) ToolRun {
	t.Helper()
	return g.Wait(t, g.Start(t, nil, args...))
}

// AwaitQueue waits until the tool has a node open twice, for itself and for a
// queue, and a ring.
func (g *Guest) AwaitQueue(t testing.TB, p *Tool, node string) {
	t.Helper()
	require.Eventually(t, func() bool {
		fds, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", p.PID()))
		open, ring := 0, false
		for _, fd := range fds {
			target, err := os.Readlink(fd)
			if err == nil && target == node {
				open++
			}
			ring = ring || err == nil && target == "anon_inode:[io_uring]"
		}
		return open >= 2 && ring
	}, 30*time.Second, 10*time.Millisecond, "no queue on %s", node)
}

// StartRun starts `nvmepass run` with a JSON record on standard output, and
// waits until it tells of its I/O.
func (g *Guest) StartRun(t testing.TB, args ...string) *Tool {
	t.Helper()
	p := g.Start(t, nil, append(append([]string{"run"}, args...), "-o", "json", "--progress", "plain")...)
	require.Eventually(t, func() bool { return strings.Contains(p.Stderr(), "IOPS=") }, 30*time.Second, 10*time.Millisecond)
	return p
}

// Owned runs f on a thread of its own, as queues need it.
func Owned(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		f(t)
	}()
	<-done
	if t.Failed() {
		t.FailNow()
	}
}

// Context ends with the test.
func Context(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	return ctx
}
