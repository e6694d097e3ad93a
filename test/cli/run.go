package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/stretchr/testify/require"
)

// patience is how long a run may take before it is said to hang.
const patience = 2 * time.Minute

// call is what the next run gets.
type call struct {
	stdin string // file
	into  string // file
	uid   uint32 // 0 for our own
	act   func(p *os.Process) error
	after string // what standard error has to contain before act
}

// When has act called during the next run, once its standard error contains the
// text.
func (s *Script) When(text string, act func(p *os.Process) error) {
	require.NotEmpty(s.T, text, "%s: after what?", s.line)
	s.next.act, s.next.after = act, text
}

// outcome is what came of a run.
type outcome struct {
	args     []string
	code     int
	out, err string
}

func (o *outcome) String() string {
	return fmt.Sprintf("standard output:\n%.1500s\nstandard error:\n%.1500s", o.out, o.err)
}

// run runs nvmepass to its end.
func (s *Script) run(binary string, args []string) {
	s.T.Helper()
	ctx, cancel := context.WithTimeout(s.T.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Dir = s.dir
	var out bytes.Buffer
	errs := &watcher{text: s.next.after, seen: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = &out, errs
	if s.next.stdin != "" {
		f, err := os.Open(s.Path(s.next.stdin))
		require.NoError(s.T, err, s.line)
		defer func() { _ = f.Close() }()
		cmd.Stdin = f
	}
	if s.next.into != "" {
		f, err := s.open(s.next.into)
		require.NoError(s.T, err, s.line)
		defer func() { _ = f.Close() }()
		cmd.Stdout = f
	}
	if uid := s.next.uid; uid != 0 {
		cmd.Dir = "/" // the working folder is not theirs
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	}
	require.NoError(s.T, cmd.Start(), s.line)
	if s.next.act != nil {
		select {
		case <-errs.seen:
			require.NoError(s.T, s.next.act(cmd.Process), s.line)
		case <-ctx.Done():
		}
	}
	err := cmd.Wait()
	require.NoError(s.T, ctx.Err(), "%s: hangs\n%s", s.line, errs)
	if _, ok := errors.AsType[*exec.ExitError](err); !ok {
		require.NoError(s.T, err, s.line)
	}
	s.next = call{}
	s.last, s.checked = &outcome{args, shellCode(cmd.ProcessState), out.String(), errs.String()}, false
	s.manners()
}

// open opens a file for standard output, "|" for a pipe that nobody reads.
func (s *Script) open(name string) (*os.File, error) {
	if name != "|" {
		return os.OpenFile(s.Path(name), os.O_WRONLY|os.O_CREATE, 0o600)
	}
	r, w, err := os.Pipe()
	if err == nil {
		err = r.Close()
	}
	return w, err
}

// shellCode is the exit code that a shell shows.
func shellCode(p *os.ProcessState) int {
	if w, ok := p.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return 128 + int(w.Signal())
	}
	return p.ExitCode()
}

// manners checks what holds for every run.
func (s *Script) manners() {
	s.T.Helper()
	o := s.last
	for _, bad := range []string{"panic:", "goroutine ", "runtime error", "%!"} {
		require.NotContains(s.T, o.err+o.out, bad, "%s\n%s", s.line, o)
	}
	for line := range strings.Lines(o.out) {
		require.False(s.T, strings.HasPrefix(line, "nvmepass: "), "%s: a diagnostic on standard output\n%s", s.line, o)
	}
	if o.out != "" && o.wantsJSON() {
		_ = o.document(s)
	}
}

// wantsJSON tells whether the run was asked for JSON.
func (o *outcome) wantsJSON() bool {
	i := slices.IndexFunc(o.args, func(a string) bool { return a == "-o" || a == "--output" })
	return i >= 0 && i+1 < len(o.args) && (o.args[i+1] == "json" || o.args[i+1] == "fio")
}

// document decodes the one JSON document on standard output; numbers keep their
// digits.
func (o *outcome) document(s *Script) any {
	s.T.Helper()
	d := json.NewDecoder(strings.NewReader(o.out))
	d.UseNumber()
	var v any
	require.NoError(s.T, d.Decode(&v), "%s\n%s", s.line, o)
	_, err := d.Token()
	require.ErrorIs(s.T, err, io.EOF, "%s: something follows the document\n%s", s.line, o)
	return v
}

// watcher keeps what is written to it, and says when a text has come.
type watcher struct {
	mu   sync.Mutex
	all  bytes.Buffer
	text string
	seen chan struct{}
	done bool
}

func (w *watcher) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all.Write(p)
	if !w.done && w.text != "" && bytes.Contains(w.all.Bytes(), []byte(w.text)) {
		w.done = true
		close(w.seen)
	}
	return len(p), nil
}

func (w *watcher) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.all.String()
}
