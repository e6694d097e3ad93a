package faults

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/sys"
)

// TestCasesAreSound: every case says what it has to, once.
func TestCasesAreSound(t *testing.T) {
	require.NotEmpty(t, Cases())
	require.NoError(t, Validate(Cases()))
}

func TestOutcomeCheck(t *testing.T) {
	require.NoError(t, Outcome{Issued: 6, OK: 1, Failed: 2, Cancelled: 3}.Check())
	require.ErrorContains(t, Outcome{Issued: 7, OK: 1, Failed: 2, Cancelled: 3}.Check(), "issued 7 is not")
	require.ErrorContains(t, Outcome{}.Check(), "no command was issued")
	require.NoError(t, Outcome{Nothing: true}.Check())
	require.ErrorContains(t, Outcome{Issued: 1, OK: 1, Nothing: true}.Check(), "though none may be")
	sum := Outcome{Issued: 1, OK: 1, Note: "a"}.Add(Outcome{Issued: 2, Failed: 1, Cancelled: 1, Note: "b"}).Add(Outcome{Note: "b"})
	require.Equal(t, Outcome{Issued: 3, OK: 1, Failed: 1, Cancelled: 1, Note: "a"}, sum)
}

// TestFaults runs the cases of one shape, each in a process of its own, and
// prints one line with the Result of each.
func TestFaults(t *testing.T) {
	shape := os.Getenv(EnvShape)
	if shape == "" {
		t.Skipf("needs a guest of the lab: go run ./test/faults/run sets %s", EnvShape)
	}
	wanted, err := regexp.Compile(os.Getenv(EnvRun))
	require.NoError(t, err)
	for _, c := range Cases() {
		if c.Shape.Name != shape || !wanted.MatchString(c.Name) {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			r := runCase(t, c)
			line, err := json.Marshal(r)
			require.NoError(t, err)
			fmt.Printf("\n%s%s\n", ResultPrefix, line)
			if r.Result == Fail {
				t.Error(r.Reason)
			}
		})
	}
}

// killLimit bounds the end of a case's process after SIGKILL.
const killLimit = 20 * time.Second

// runCase runs a case in a process of its own and holds it to its bound.
func runCase(t *testing.T, c Case) (r Result) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "result")
	cmd := exec.Command(self, "-test.run=^TestCase$", "-test.v", "-test.timeout=0")
	cmd.Env = append(os.Environ(), envCase+"="+c.Name, envFile+"="+file)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = 10 * time.Second
	began := time.Now()
	require.NoError(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	var problem error
	select {
	case <-ended:
	case <-time.After(c.Bound):
		problem = fmt.Errorf("it did not end within its bound of %v", c.Bound)
		_ = syscall.Kill(cmd.Process.Pid, syscall.SIGQUIT) // prints its goroutines
		select {
		case <-ended:
		case <-time.After(5 * time.Second):
		}
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		select {
		case <-ended:
		case <-time.After(killLimit):
			problem = fmt.Errorf("%w, and its process is still there %v after SIGKILL", problem, killLimit)
		}
	}
	r = Result{Name: c.Name, Exit: LibraryOnly, Result: Fail}
	if b, err := os.ReadFile(file); err == nil {
		if err := json.Unmarshal(b, &r); err != nil {
			problem = errors.Join(problem, err)
		}
	} else {
		problem = errors.Join(problem, errors.New("its process ended without a result"))
	}
	r.Seconds = time.Since(began).Seconds()
	// What belongs to its group is gone, or is killed and counts as left behind.
	if err := syscall.Kill(-cmd.Process.Pid, 0); !errors.Is(err, syscall.ESRCH) {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		problem = errors.Join(problem, errors.New("it left processes behind"))
	}
	if problem != nil {
		r.Result, r.Reason = Fail, strings.TrimSpace(problem.Error()+"\n"+r.Reason)
	}
	if r.Result == Fail || testing.Verbose() {
		fmt.Printf("%s", out.Bytes())
	}
	return r
}

// TestCase is the case that the environment names, in its own process.
func TestCase(t *testing.T) {
	name := os.Getenv(envCase)
	if name == "" {
		t.Skipf("needs a case: TestFaults starts this test for each of them and names it in %s", envCase)
	}
	for _, c := range Cases() {
		if c.Name != name {
			continue
		}
		g := &Guest{Kernel: sys.KernelRelease(), lastExit: LibraryOnly}
		r := Result{Name: name, Result: Fail}
		before, err := held()
		require.NoError(t, err)
		passed := t.Run("case", func(t *testing.T) { r.Outcome = c.Run(t, g) })
		r.Exit = g.lastExit
		if g.lacks != "" {
			r.Result, r.Reason = Skip, g.lacks
		} else if !passed {
			r.Reason = "see the output"
		} else if err := c.judge(r, before); err != nil {
			r.Reason = err.Error()
			t.Error(err)
		} else {
			r.Result = Pass
		}
		b, err := json.Marshal(r)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(os.Getenv(envFile), b, 0o600))
		return
	}
	t.Fatalf("no case is called %s", name)
}

// judge says what is wrong with a case that ran to its end.
func (c *Case) judge(r Result, before holdings) error {
	err := r.Outcome.Check()
	if c.Exit != r.Exit {
		err = errors.Join(err, fmt.Errorf("exit code %d, must be %d (%d: the tool does not run)", r.Exit, c.Exit, LibraryOnly))
	}
	switch {
	case r.Outcome.Lost > 0 && !c.Leaks:
		err = errors.Join(err, fmt.Errorf("%d commands never came back", r.Outcome.Lost))
	case !c.Leaks:
		err = errors.Join(err, leftover(before))
	}
	return err
}
