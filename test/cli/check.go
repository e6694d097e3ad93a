package cli

import (
	"encoding/json"
	"math/big"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/stretchr/testify/require"
)

// checks are the kinds of lines but runs and exit codes. They get what follows the
// first word.
var checks map[string]func(s *Script, rest string)

func init() {
	checks = map[string]func(s *Script, rest string){
		"out":  func(s *Script, text string) { s.contains(s.last.out, text) },
		"err":  func(s *Script, text string) { s.contains(s.last.err, text) },
		"!out": func(s *Script, text string) { s.lacks(s.last.out, text) },
		"!err": func(s *Script, text string) { s.lacks(s.last.err, text) },
		"has": func(s *Script, rest string) {
			name, text, _ := strings.Cut(rest, " ")
			b, err := os.ReadFile(s.Path(name))
			require.NoError(s.T, err, s.line)
			s.contains(string(b), text)
		},
		"absent": func(s *Script, name string) { require.NoFileExists(s.T, s.Path(name), s.line) },
		"save": func(s *Script, name string) {
			require.NoError(s.T, os.WriteFile(s.Path(name), []byte(s.last.out), 0o600), s.line)
		},
		"stdin": func(s *Script, name string) { s.next.stdin = name },
		"into":  func(s *Script, name string) { s.next.into = name },
		"send":  send,
		"as": func(s *Script, uid string) {
			n, err := strconv.ParseUint(uid, 10, 32)
			require.NoError(s.T, err, s.line)
			s.next.uid = uint32(n)
		},
		"json": compareJSON,
	}
}

func (s *Script) contains(all, text string) {
	s.T.Helper()
	require.NotEmpty(s.T, text, "%s: contains what?", s.line)
	require.Contains(s.T, all, text, "%s\n%s", s.line, s.last)
}

func (s *Script) lacks(all, text string) {
	s.T.Helper()
	if text == "" {
		require.Empty(s.T, all, s.line)
		return
	}
	require.NotContains(s.T, all, text, s.line)
}

func send(s *Script, rest string) {
	name, text, _ := strings.Cut(rest, " ")
	signal := map[string]syscall.Signal{"INT": syscall.SIGINT, "TERM": syscall.SIGTERM}[name]
	require.NotZero(s.T, signal, "%s: no such signal", s.line)
	s.When(text, func(p *os.Process) error { return p.Signal(signal) })
}

// compareJSON holds a value of the last run's document against another.
func compareJSON(s *Script, rest string) {
	parts := strings.SplitN(rest, " ", 3)
	require.Len(s.T, parts, 3, "%s: need a path, an operator and a value", s.line)
	got := s.last.document(s)
	for key := range strings.SplitSeq(parts[0], ".") {
		switch v := got.(type) {
		case map[string]any:
			var ok bool
			got, ok = v[key]
			require.True(s.T, ok, "%s: no key %s\n%s", s.line, key, s.last)
		case []any:
			i, err := strconv.Atoi(key)
			require.NoError(s.T, err, s.line)
			require.Less(s.T, i, len(v), s.line)
			got = v[i]
		default:
			require.Fail(s.T, "nothing below", "%s: %v has no %s", s.line, v, key)
		}
	}
	var want any
	d := json.NewDecoder(strings.NewReader(parts[2]))
	d.UseNumber()
	require.NoError(s.T, d.Decode(&want), "%s: the value is not JSON", s.line)
	switch parts[1] {
	case "=":
		require.Equal(s.T, want, got, "%s\n%s", s.line, s.last)
	case "!=":
		require.NotEqual(s.T, want, got, "%s\n%s", s.line, s.last)
	case "<", ">":
		a, b := s.number(got), s.number(want)
		require.Equal(s.T, map[string]int{"<": -1, ">": 1}[parts[1]], a.Cmp(b), "%s: it is %v\n%s", s.line, got, s.last)
	default:
		require.Fail(s.T, "no such operator", s.line)
	}
}

func (s *Script) number(v any) *big.Rat {
	s.T.Helper()
	n, ok := v.(json.Number)
	require.True(s.T, ok, "%s: %v is no number", s.line, v)
	r, ok := new(big.Rat).SetString(n.String())
	require.True(s.T, ok, "%s: %v is no number", s.line, v)
	return r
}
