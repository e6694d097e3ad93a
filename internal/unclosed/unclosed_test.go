package unclosed

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

type thing struct{ mark *Mark }

var things = NewKind("Thing")

//go:noinline
func makeThing(what string) *thing {
	x := &thing{}
	if On() {
		x.mark = Opened(things, x, what)
	}
	return x
}

// locked is a buffer that the runtime's goroutine of cleanups may write to.
type locked struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *locked) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// TestOffCostsNothing: no allocation, no profile, no mark.
func TestOffCostsNothing(t *testing.T) {
	if On() {
		t.Fatal(Environment + " is set")
	}
	x, unused := &thing{}, NewKind("Unused")
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if On() {
			x.mark = Opened(unused, x, "never")
		}
		x.mark.Closed()
	}))
	require.Nil(t, pprof.Lookup("nvmepass.Unused"))
}

// TestAccount: what is open is listed with where it was made, and what was
// dropped is reported once, with its name.
func TestAccount(t *testing.T) {
	var out locked
	Output = &out
	Enable()
	defer func() { enabled.Store(false); Output = os.Stderr }()

	a, b := makeThing("first"), makeThing("second")
	var list bytes.Buffer
	n, err := Write(&list)
	require.NoError(t, err)
	require.Equal(t, 2, n)
	require.Contains(t, list.String(), "nvmepass.Thing profile: total 2")
	require.Contains(t, list.String(), "makeThing")
	require.Contains(t, list.String(), "unclosed_test.go")
	a.mark.Closed()
	a.mark.Closed()
	n, err = Write(io.Discard)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	runtime.KeepAlive(a)
	runtime.KeepAlive(b) // and no longer

	for deadline := time.Now().Add(time.Minute); out.String() == "" && time.Now().Before(deadline); {
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
	require.Contains(t, out.String(), "nvmepass: dropped without Close: Thing (second), made by\n")
	require.Contains(t, out.String(), "makeThing\n\t")
	require.NotContains(t, out.String(), "first")
	n, err = Write(io.Discard)
	require.NoError(t, err)
	require.Equal(t, 1, n, "what it held of the kernel is still there")
}

// TestEnvironment: the variable turns the account on, "0" does not.
func TestEnvironment(t *testing.T) {
	if os.Getenv("NVMEPASS_TEST_CHILD") != "" {
		t.Logf("on=%v", On())
		return
	}
	self, err := os.Executable()
	require.NoError(t, err)
	for value, want := range map[string]string{"": "on=false", "0": "on=false", "1": "on=true"} {
		cmd := exec.Command(self, "-test.run=^TestEnvironment$", "-test.v")
		cmd.Env = append(os.Environ(), "NVMEPASS_TEST_CHILD=1", Environment+"="+value)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err)
		require.True(t, strings.Contains(string(out), want), "%q: %s", value, out)
	}
}
