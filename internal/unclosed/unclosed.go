// Package unclosed keeps account of what was made and not closed: devices,
// queues, rings, arenas. Each kind is a profile of runtime/pprof, named
// "nvmepass." and the kind, with the stacks by which its members were made.
//
// It is off, and then costs one look at a flag for each thing that is made,
// unless NVMEPASS_LEAKS is set in the environment or Enable was called. On, it
// also says on standard error what the garbage collector found to be dropped
// without Close.
//
// # Threading
//
// Everything is safe for use by any goroutine.
package unclosed

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"sync/atomic"
)

// Environment turns the account on, with any value but "" and "0".
const Environment = "NVMEPASS_LEAKS"

// prefix of all profiles.
const prefix = "nvmepass."

var enabled atomic.Bool

func init() {
	if v := os.Getenv(Environment); v != "" && v != "0" {
		enabled.Store(true)
	}
}

// Enable turns the account on for what is made from now on.
func Enable() { enabled.Store(true) }

// On tells whether the account is kept.
func On() bool { return enabled.Load() }

// Kind is a type whose values have to be closed.
type Kind struct {
	name    string
	profile func() *pprof.Profile
}

// NewKind makes a Kind. The name is unique in the program.
func NewKind(name string) *Kind {
	return &Kind{name, sync.OnceValue(func() *pprof.Profile { return pprof.NewProfile(prefix + name) })}
}

// Mark stands for one thing that is open; nil for one that is not accounted for.
type Mark struct {
	kind  *Kind
	what  string
	stack []uintptr
	once  sync.Once
}

// depth of a stack that is kept, as in a profile.
const depth = 32

// Opened notes that thing, called what, is open. Its maker calls it if the
// account is On, so that nothing is spent otherwise and the stack begins with the
// maker.
func Opened[T any](k *Kind, thing *T, what string) *Mark {
	m := &Mark{kind: k, what: what, stack: make([]uintptr, depth)}
	m.stack = m.stack[:runtime.Callers(2, m.stack)]
	k.profile().Add(m, 1)
	runtime.AddCleanup(thing, report, m)
	return m
}

// Closed notes that the thing is closed, or kept for good on purpose.
func (m *Mark) Closed() {
	if m == nil {
		return
	}
	m.once.Do(func() { m.kind.profile().Remove(m) })
}

// Output is where report writes; tests replace it.
var Output io.Writer = os.Stderr

// report runs when the thing is gone. It stays in the profile: what it held of
// the kernel stays, too.
func report(m *Mark) {
	left := false
	m.once.Do(func() { left = true })
	if !left {
		return
	}
	var b strings.Builder
	fmt.Fprintf(&b, "nvmepass: dropped without Close: %s (%s), made by\n", m.kind.name, m.what)
	for frames := runtime.CallersFrames(m.stack); ; {
		f, more := frames.Next()
		fmt.Fprintf(&b, "%s\n\t%s:%d\n", f.Function, f.File, f.Line)
		if !more {
			break
		}
	}
	_, _ = io.WriteString(Output, b.String()) // there is nobody to tell
}

// Write lists everything that is open with the stacks of its making, and returns
// how many there are.
func Write(w io.Writer) (n int, err error) {
	for _, p := range pprof.Profiles() {
		if !strings.HasPrefix(p.Name(), prefix) || p.Count() == 0 {
			continue
		}
		n += p.Count()
		if err := p.WriteTo(w, 1); err != nil {
			return n, err
		}
	}
	return n, nil
}
