package faults

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// envTask makes this binary carry out a childTask instead of running tests.
const envTask = "NVMEPASS_FAULT_TASK"

// childTask is work for a process of its own: one that is killed, stopped or held
// to limits that a test could not live with.
type childTask struct {
	Name string // of tasks
	Node string
	Mode string
	Seed uint64
	Args []string
}

// tasks are what a child can do. What a task returns is printed as one line of
// JSON after the lines that it printed itself.
var tasks = map[string]func(childTask) (any, error){}

// runTask is the life of a child. It is called by TestMain.
func runTask() {
	text := os.Getenv(envTask)
	if text == "" {
		return
	}
	var c childTask
	err := json.Unmarshal([]byte(text), &c)
	if err == nil && tasks[c.Name] == nil {
		err = fmt.Errorf("no task is called %q", c.Name)
	}
	var answer any
	if err == nil {
		answer, err = tasks[c.Name](c)
	}
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(answer)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "task", c.Name+":", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// command is the child that carries out a task.
func (c childTask) command(t testing.TB) *exec.Cmd {
	t.Helper()
	text, err := json.Marshal(c)
	require.NoError(t, err)
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), envTask+"="+string(text))
	cmd.Stderr = os.Stderr
	return cmd
}

// do runs the task to its end and decodes its answer.
func (c childTask) do(t testing.TB, answer any) {
	t.Helper()
	out, err := c.command(t).Output()
	require.NoError(t, err, "%s", out)
	require.NoError(t, json.Unmarshal(out, answer), "%s", out)
}

// nobody is the user ID of somebody without rights.
const nobody = 65534

// asNobody makes a command an ordinary user's, with these capabilities.
func asNobody(capabilities ...uintptr) func(*exec.Cmd) {
	return func(c *exec.Cmd) {
		c.Dir = "/"
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}, AmbientCaps: capabilities}
	}
}

// withLimit runs f under a soft limit of this process, which a child that f starts
// inherits.
func withLimit(t testing.TB, resource int, soft uint64, f func()) {
	t.Helper()
	var was syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(resource, &was))
	require.NoError(t, syscall.Setrlimit(resource, &syscall.Rlimit{Cur: soft, Max: was.Max}))
	defer func() { require.NoError(t, syscall.Setrlimit(resource, &was)) }()
	f()
}

// chmod gives a node a mode until the case ends.
func chmod(t testing.TB, path string, mode os.FileMode) {
	t.Helper()
	st, err := os.Stat(path)
	require.NoError(t, err)
	require.NoError(t, os.Chmod(path, mode))
	t.Cleanup(func() { require.NoError(t, os.Chmod(path, st.Mode().Perm())) })
}

// setting gives a sysctl or sysfs file a value until the case ends.
func setting(t testing.TB, g *Guest, path, value string) {
	t.Helper()
	was, err := os.ReadFile(path)
	require.NoError(t, err)
	g.Write(t, path, value)
	t.Cleanup(func() { require.NoError(t, os.WriteFile(path, was, 0)) })
}
