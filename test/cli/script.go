package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Runner runs scripts on one nvmepass.
type Runner struct {
	// Binary is its path.
	Binary string
	// Do are further kinds of lines, by their first word. They get the others.
	Do map[string]func(s *Script, args []string)
}

// Script is one script as it runs.
type Script struct {
	T    testing.TB
	dir  string
	vars map[string]string
	line string // where it is, for messages
	next call
	last *outcome
	// checked says that the exit code of the last run was.
	checked bool
	stopped bool
}

// Stop leaves out the rest of the script.
func (s *Script) Stop() { s.stopped = true }

// Run runs the script in a file.
func (r *Runner) Run(t testing.TB, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	lines, files := parse(string(text))
	s := &Script{T: t, dir: t.TempDir(), vars: map[string]string{}, checked: true}
	s.Set("WORK", s.dir)
	for name, content := range files {
		require.NoError(t, os.WriteFile(filepath.Join(s.dir, name), []byte(content), 0o600))
	}
	ran := false
	for i, line := range lines {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		s.line = fmt.Sprintf("%s:%d: %s", filepath.Base(path), i+1, line)
		if ran = r.step(s, line) || ran; s.stopped {
			break
		}
	}
	s.line = filepath.Base(path) + ": end"
	s.exited(0)
	require.True(t, ran, "%s runs nothing", path)
}

// Set gives a variable its value.
func (s *Script) Set(name, value string) { s.vars[name] = value }

// step carries out a line and tells whether it was a run of nvmepass.
func (r *Runner) step(s *Script, line string) bool {
	verb, rest, _ := strings.Cut(line, " ")
	rest = s.expand(strings.TrimSpace(rest))
	if verb == "exit" {
		var code int
		_, err := fmt.Sscan(rest, &code)
		require.NoError(s.T, err, s.line)
		require.False(s.T, s.checked, "%s: has to follow the run at once, and once", s.line)
		s.exited(code)
		return false
	}
	s.exited(0)
	if do := r.Do[verb]; do != nil {
		do(s, words(rest))
		return false
	}
	if verb == "nvmepass" {
		s.run(r.Binary, words(rest))
		return true
	}
	check := checks[verb]
	require.NotNil(s.T, check, "%s: no such line", s.line)
	check(s, rest)
	return false
}

// exited checks the last run's exit code, unless that was done.
func (s *Script) exited(code int) {
	s.T.Helper()
	if s.checked {
		return
	}
	s.checked = true
	require.Equal(s.T, code, s.last.code, "%s: exit code of %v\n%s", s.line, s.last.args, s.last)
	if code == 1 {
		if s.last.out != "" { // who asks for JSON gets the error in it
			require.Contains(s.T, s.last.out, `"nvmepass.error/1"`, "%s: a wrong usage has no result: %v", s.line, s.last.args)
			require.Contains(s.T, s.last.out, `"exit_code": 1`)
		}
		require.Contains(s.T, s.last.err, "nvmepass: ", "%s: a wrong usage is explained: %v", s.line, s.last.args)
	}
}

// Path is a file of the working folder.
func (s *Script) Path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(s.dir, name)
}

// expand replaces $NAME.
func (s *Script) expand(text string) string {
	return os.Expand(text, func(name string) string {
		v, ok := s.vars[name]
		require.True(s.T, ok, "%s: no variable %s", s.line, name)
		return v
	})
}

// words splits at spaces; what stands in single quotes is one word.
func words(text string) (all []string) {
	word, quoted, begun := "", false, false
	for _, c := range text {
		switch {
		case c == '\'':
			quoted, begun = !quoted, true
		case c == ' ' && !quoted:
			if begun {
				all = append(all, word)
			}
			word, begun = "", false
		default:
			word, begun = word+string(c), true
		}
	}
	if begun {
		all = append(all, word)
	}
	return all
}

// parse splits a script into its lines and its files.
func parse(text string) (lines []string, files map[string]string) {
	files = map[string]string{}
	name := ""
	for line := range strings.Lines(text) {
		if n, ok := strings.CutPrefix(strings.TrimSpace(line), "-- "); ok && strings.HasSuffix(n, " --") {
			name = strings.TrimSuffix(n, " --")
			files[name] = ""
			continue
		}
		if name == "" {
			lines = append(lines, line)
		} else {
			files[name] += line
		}
	}
	return lines, files
}
