package main

import (
	"bufio"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/lab/labtest"
)

// TestStatusOfARunInTheLab: SIGUSR1 reaches the run in the guest, which writes a line
// of status that nothing else brings, and goes on.
func TestStatusOfARunInTheLab(t *testing.T) {
	kernels := labtest.Need(t)
	bin := labtest.Build(t, "github.com/nvmepass/nvmepass/cmd/nvmepass")
	cmd := exec.CommandContext(t.Context(), bin, "run", "--lab", "--kernel", kernels[0].Path, "--runtime", "500", "-o", "csv", "--progress", "none")
	var out strings.Builder
	cmd.Stdout = &out
	errs, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	said := make(chan string)
	go func() {
		defer close(said)
		for lines := bufio.NewScanner(errs); lines.Scan(); {
			said <- lines.Text()
		}
	}()
	status := regexp.MustCompile(`^IOPS=`)
	again := time.NewTicker(100 * time.Millisecond) // it may not run yet
	defer again.Stop()
	for statuses := 0; statuses < 3; {
		select {
		case line, ok := <-said:
			require.True(t, ok, "the run ended")
			if status.MatchString(line) {
				statuses++
			}
		case <-again.C:
			require.NoError(t, cmd.Process.Signal(syscall.SIGUSR1))
		}
	}
	require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
	for range said { // to the end
	}
	require.Error(t, cmd.Wait())
	require.Equal(t, exitInterrupted, cmd.ProcessState.ExitCode())
	require.Contains(t, out.String(), "total,")
}
