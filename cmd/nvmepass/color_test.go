package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/ringtest"
)

const red = "\x1b[31m"

// TestColorFlag: in a pipe there is colour only where it is asked for, and in other
// formats never.
func TestColorFlag(t *testing.T) {
	before := savedRecord(t, "before.json", nil, 254820, 251174, 250806)
	slow := savedRecord(t, "slow.json", nil, 229820, 226174, 225806)
	for args, want := range map[string]bool{
		"": false, "--color auto": false, "--color never": false, "--color always": true, "--color always -o json": false, "--color=always -o csv": false,
	} {
		code, out, errs := command(t, append([]string{"diff", before, slow}, strings.Fields(args)...)...)
		require.Zero(t, code, errs)
		require.Equal(t, want, strings.Contains(out, red), args)
		require.Contains(t, out, "slower", args)
	}
	t.Setenv("NO_COLOR", "1")
	_, out, _ := command(t, "diff", before, slow, "--color", "always")
	require.Contains(t, out, red, "the flag outweighs the environment")
	code, _, errs := command(t, "diff", before, slow, "--color", "red")
	require.Equal(t, exitUsage, code)
	require.Contains(t, errs, `--color "red": need auto, always or never`)
}

// TestColorOnATerminal: there is colour on one, unless the environment says no.
func TestColorOnATerminal(t *testing.T) {
	script, err := exec.LookPath("script") // gives a program a terminal
	if err != nil {
		ringtest.Missing(t, "script (util-linux)", err)
	}
	bin := t.TempDir() + "/nvmepass"
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", bin, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	before := savedRecord(t, "before.json", nil, 254820, 251174, 250806)
	slow := savedRecord(t, "slow.json", nil, 229820, 226174, 225806)
	for _, tt := range []struct {
		env   []string
		flags string
		want  bool
	}{
		{nil, "", true},
		{[]string{"NO_COLOR="}, "", true}, // set and empty is not set, as no-color.org has it
		{[]string{"NO_COLOR=1"}, "", false},
		{[]string{"NO_COLOR=1"}, " --color always", true},
		{[]string{"TERM=dumb"}, "", false},
		{nil, " --color never", false},
		{nil, " -o json", false},
		{nil, " | cat", false},
	} {
		cmd := exec.CommandContext(t.Context(), script, "-qec", bin+" diff "+before+" "+slow+tt.flags, os.DevNull)
		cmd.Env = append(append(os.Environ(), "TERM=xterm", "NO_COLOR="), tt.env...)
		out, err := cmd.Output()
		require.NoError(t, err)
		require.Contains(t, string(out), "slower")
		require.Equal(t, tt.want, strings.Contains(string(out), red), "%v %s\n%s", tt.env, tt.flags, out)
	}
}
