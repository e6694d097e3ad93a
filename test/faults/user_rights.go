package faults

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/passthru"
	"github.com/nvmepass/nvmepass/uringcmd"
)

func rightsCases() []Case {
	return []Case{
		{
			Name:  "ring-disabled",
			Fault: "sysctl kernel.io_uring_disabled=2 (since Linux 6.6)",
			Must:  "commands that need a ring are refused with the sysctl's value, doctor finds it, single commands and a Device with AllowIoctl work by ioctl",
			Bound: time.Minute, Shape: userShape, Exit: 2, Run: ringDisabled,
		},
		{
			Name:  "ring-disabled-for-users",
			Fault: "sysctl kernel.io_uring_disabled=1 and an ordinary user who may open the node",
			Must:  "refused with the sysctl's value and the group that may; root is not hit",
			Bound: time.Minute, Shape: userShape, Exit: 2, Run: ringDisabledForUsers,
		},
		{
			Name:  "ring-filtered",
			Fault: "a seccomp filter answers io_uring_setup with EPERM or ENOSYS, as containers do",
			Must:  "refused with the filter among the causes; single commands work by ioctl",
			Bound: time.Minute, Shape: userShape, Exit: 2, Run: ringFiltered,
		},
		{
			Name:  "user-without-rights",
			Fault: "an ordinary user, and a node of mode 0600 or, for writes, 0644",
			Must:  "refused with the node's mode, its owner and the remedy; nothing is sent",
			Bound: time.Minute, Shape: userShape, Exit: 2, Run: userWithoutRights,
		},
		{
			Name:  "user-with-rights",
			Fault: "an ordinary user, and a node of mode 0666 (commands without CAP_SYS_ADMIN: since Linux 6.2)",
			Must:  "reads and writes run, fixed buffers as far as the limit of locked memory allows",
			Bound: time.Minute, Shape: userShape, Exit: 0, Run: userWithRights,
		},
	}
}

const ringSysctl = "/proc/sys/kernel/io_uring_disabled"

// disableRings sets the sysctl, or ends the case where there is none.
func disableRings(t *testing.T, g *Guest, value string) {
	t.Helper()
	if _, err := os.Stat(ringSysctl); errors.Is(err, os.ErrNotExist) {
		g.Lacks(t, "before Linux 6.6 there is no sysctl kernel.io_uring_disabled")
	}
	setting(t, g, ringSysctl, value)
}

// withoutRing requires that commands that need a ring say why there is none, and
// that single commands do without.
func withoutRing(t *testing.T, g *Guest, change func(*exec.Cmd), node string, says ...string) Outcome {
	t.Helper()
	read := g.Wait(t, g.Start(t, change, "io", "read", node, "--blocks", "1", "-o", "json"))
	require.Zero(t, read.Exit)
	for _, args := range [][]string{
		{"run", node, "--runtime", "1"}, {"compare", node, "--runtime", "50ms"}, {"sweep", node, "--runtime", "50ms"}, {"verify", node}, {"nop", "--runtime", "50ms"},
	} {
		run := g.Wait(t, g.Start(t, change, append(args, "-o", "json")...))
		require.Equal(t, 2, run.Exit)
		requireNoResult(t, run)
		for _, s := range says {
			require.Contains(t, run.Stderr, s)
		}
	}
	return Outcome{Issued: 1, OK: 1}
}

func ringDisabled(t *testing.T, g *Guest) Outcome {
	node := g.Drive(t, "fast0").Generic
	disableRings(t, g, "2")
	_, err := passthru.Open(node, nil)
	require.ErrorIs(t, err, uringcmd.ErrDisabled)
	require.ErrorContains(t, err, "Config.AllowIoctl")

	d := opened(t, node, passthru.Config{AllowIoctl: true, Depth: 4, BufferSize: loadBlock})
	l := newLoad(0, 8, 16)
	end := l.start(d)
	l.await(t, 500)
	o := end()
	require.Empty(t, l.errs)
	l.verify(t, d)
	forget(t, d, 8*16)

	o = o.Add(withoutRing(t, g, nil, node, "io_uring is not available", "kernel.io_uring_disabled is 2"))
	doctor := g.Tool(t, "doctor", node)
	require.Contains(t, doctor.Stdout, "io_uring_disabled")
	return o
}

func ringDisabledForUsers(t *testing.T, g *Guest) Outcome {
	d := g.Drive(t, "fast0")
	chmod(t, d.Generic, 0o666)
	disableRings(t, g, "1")
	o := recordOf(t, g.Tool(t, "run", d.Generic, "--number-ios", "1000", "-o", "json", "--progress", "none"))
	require.EqualValues(t, 1000, o.OK)
	return o.Add(withoutRing(t, g, asNobody(), d.Generic, "kernel.io_uring_disabled is 1", "kernel.io_uring_group"))
}

func init() { tasks["filtered"] = filteredTask }

// filteredTask becomes nvmepass, under a filter that refuses rings.
func filteredTask(c childTask) (any, error) {
	runtime.LockOSThread()
	errno := map[string]syscall.Errno{"EPERM": syscall.EPERM, "ENOSYS": syscall.ENOSYS}[c.Mode]
	if err := refuseCall(sysIOURingSetup, errno); err != nil {
		return nil, err
	}
	return nil, syscall.Exec(ToolPath, append([]string{"nvmepass"}, c.Args...), os.Environ())
}

func ringFiltered(t *testing.T, g *Guest) (o Outcome) {
	node := g.Drive(t, "fast0").Generic
	for mode, says := range map[string]string{"EPERM": "forbids io_uring_setup", "ENOSYS": "hides io_uring"} {
		o = o.Add(withoutRing(t, g, func(c *exec.Cmd) {
			child := childTask{Name: "filtered", Mode: mode, Args: c.Args[1:]}.command(t)
			c.Path, c.Args, c.Env = child.Path, child.Args, child.Env
		}, node, "io_uring is not available", "seccomp", says))
	}
	return o
}

func userWithoutRights(t *testing.T, g *Guest) Outcome {
	d := g.Drive(t, "fast0")
	for _, tt := range []struct {
		mode os.FileMode
		args []string
	}{
		{0o600, []string{"run", d.Generic}}, {0o600, []string{"io", "read", d.Generic}},
		{0o644, []string{"run", d.Generic, "--rw", "randwrite", "--allow-write"}},
		{0o644, []string{"verify", d.Generic, "--do", "both", "--allow-write"}},
	} {
		require.NoError(t, os.Chmod(d.Generic, tt.mode))
		run := g.Wait(t, g.Start(t, asNobody(), tt.args...))
		require.Equal(t, 2, run.Exit)
		requireNoResult(t, run)
		for _, says := range []string{d.Generic, fmt.Sprintf("mode of the node is %04o", tt.mode), "user 65534", "MODE="} {
			require.Contains(t, run.Stderr, says)
		}
	}
	require.NoError(t, os.Chmod(d.Generic, 0o600))
	return Outcome{Nothing: true}
}

func userWithRights(t *testing.T, g *Guest) Outcome {
	if strings.HasPrefix(g.Kernel, "6.1.") {
		g.Lacks(t, "before Linux 6.2 every command needs CAP_SYS_ADMIN")
	}
	d := g.Drive(t, "fast0")
	chmod(t, d.Generic, 0o666)
	chmod(t, d.Block, 0o666) // which a run that writes holds
	var o Outcome
	for _, args := range [][]string{nil, {"--rw", "randwrite", "--size", "1m", "--allow-write", "--force-overwrite"}, {"--path", "passthru-poll", "--bs", "4k"}} {
		args = append([]string{"run", d.Generic, "--number-ios", "2000", "-o", "json", "--progress", "none"}, args...)
		run := g.Wait(t, g.Start(t, asNobody(), args...))
		require.Zero(t, run.Exit)
		o = o.Add(recordOf(t, run))
	}
	require.Equal(t, o.Issued, o.OK)
	forget(t, opened(t, d.Generic, passthru.Config{}), 256)
	return o
}
