package test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/ringtest"
	"github.com/nvmepass/nvmepass/nvme"
	"github.com/nvmepass/nvmepass/passthru"
)

// envOrdinary makes this binary carry out an ordinaryTask and print what came
// of it, instead of running tests.
const envOrdinary = "NVMEPASS_TEST_ORDINARY"

func init() {
	if task := os.Getenv(envOrdinary); task != "" {
		os.Exit(ordinaryMain(task))
	}
}

// nobody is the user ID of somebody without rights.
const nobody = 65534

// ordinaryTask is what to do to a namespace.
type ordinaryTask struct {
	Path     string
	Writable bool
	// Memlock is the limit of locked memory in bytes, -1 to leave it.
	Memlock    int64
	Depth      int
	BufferSize int
}

// ordinaryOutcome is how each step went.
type ordinaryOutcome struct {
	Open, Read, Write, Compare, SMART, Queue step
	Settings                                 passthru.Settings
}

// step is an error that came through a pipe.
type step struct {
	Done     bool // it was tried
	Text     string
	Rule     passthru.PermissionRule
	ReadOnly bool
	Errno    syscall.Errno
}

func stepOf(err error) step {
	s := step{Done: true}
	if err == nil {
		return s
	}
	s.Text, s.ReadOnly = err.Error(), errors.Is(err, passthru.ErrReadOnly)
	if p, ok := errors.AsType[*passthru.PermissionError](err); ok {
		s.Rule = p.Rule
	}
	errors.As(err, &s.Errno)
	return s
}

func (s step) ok() bool { return s.Done && s.Text == "" }

func ordinaryMain(task string) int {
	var o ordinaryTask
	err := json.Unmarshal([]byte(task), &o)
	if err == nil && o.Memlock >= 0 {
		const rlimitMemlock = 8 // RLIMIT_MEMLOCK
		err = syscall.Setrlimit(rlimitMemlock, &syscall.Rlimit{Cur: uint64(o.Memlock), Max: uint64(o.Memlock)})
	}
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(o.run())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func (o ordinaryTask) run() (out ordinaryOutcome) {
	d, err := passthru.Open(o.Path, &passthru.Config{Writable: o.Writable, Depth: 2, BufferSize: 4096})
	if out.Open = stepOf(err); err != nil {
		return out
	}
	defer d.Close()
	block := make([]byte, d.Layout().LBASize)
	_, err = d.SMART()
	out.SMART = stepOf(err)
	_, err = d.ReadAt(block, 0)
	out.Read = stepOf(err)
	_, err = d.WriteAt(block, 0)
	out.Write = stepOf(err)
	compare, err := nvme.NewCompare(d.NSID(), d.Layout(), 0, 1, nvme.IOOptions{})
	if err == nil {
		_, err = d.Do(context.Background(), compare, block)
	}
	out.Compare = stepOf(err)
	q, err := d.NewQueue(passthru.QueueConfig{Depth: max(1, o.Depth), BufferSize: o.BufferSize})
	if out.Queue = stepOf(err); err == nil {
		out.Settings = q.Settings()
		out.Queue = stepOf(q.Close())
	}
	return out
}

// ordinary carries out a task as nobody.
func ordinary(t *testing.T, o ordinaryTask) ordinaryOutcome {
	t.Helper()
	if os.Geteuid() != 0 {
		ringtest.Missing(t, "root, to become somebody else", fmt.Errorf("this is user %d", os.Geteuid()))
	}
	task, err := json.Marshal(o)
	require.NoError(t, err)
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), envOrdinary+"="+string(task))
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	var errs strings.Builder
	cmd.Stderr = &errs
	printed, err := cmd.Output()
	if errors.Is(err, os.ErrPermission) {
		ringtest.Missing(t, "a test binary that everybody may run (go test -c)", err)
	}
	require.NoError(t, err, errs.String())
	var out ordinaryOutcome
	require.NoError(t, json.Unmarshal(printed, &out), "%s", printed)
	return out
}

// withMode gives a node a mode until the test ends.
func withMode(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	st, err := os.Stat(path)
	require.NoError(t, err)
	require.NoError(t, os.Chmod(path, mode))
	t.Cleanup(func() { require.NoError(t, os.Chmod(path, st.Mode().Perm())) })
}
