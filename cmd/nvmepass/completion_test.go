package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/ringtest"
)

// completed are the words that the shell would offer after args.
func completed(t *testing.T, args ...string) []string {
	t.Helper()
	code, out, errs := command(t, append([]string{"__completeNoDesc"}, args...)...)
	require.Zero(t, code, errs)
	return strings.Fields(out)
}

// TestCompletionOffersEveryCommand and every long flag of it, and nothing hidden.
func TestCompletionOffersEveryCommand(t *testing.T) {
	for _, c := range visible(testRoot(t)) {
		path := strings.Fields(c.CommandPath())[1:]
		if len(path) > 0 {
			above := path[:len(path)-1]
			require.Contains(t, completed(t, append(slices.Clip(above), "")...), c.Name())
		}
		offered := completed(t, append(slices.Clip(path), "--")...)
		c.Flags().VisitAll(func(f *pflag.Flag) {
			require.Equal(t, !f.Hidden, slices.Contains(offered, "--"+f.Name), "%s --%s", c.CommandPath(), f.Name)
		})
	}
	require.NotContains(t, completed(t, ""), "man")
}

// TestCompletionScripts: each shell's script asks this program, and the shell, if
// it is here, can read it.
func TestCompletionScripts(t *testing.T) {
	for shell, check := range map[string][]string{"bash": {"bash", "-n"}, "zsh": {"zsh", "-n"}, "fish": {"fish", "--no-execute"}} {
		t.Run(shell, func(t *testing.T) {
			code, out, errs := command(t, "completion", shell)
			require.Zero(t, code, errs)
			require.Contains(t, out, "__complete")
			if _, err := exec.LookPath(shell); err != nil && shell == "bash" {
				ringtest.Missing(t, shell, err)
			} else if err != nil {
				return
			}
			cmd := exec.Command(check[0], check[1:]...)
			cmd.Stdin = strings.NewReader(out)
			said, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", said)
		})
	}
}
