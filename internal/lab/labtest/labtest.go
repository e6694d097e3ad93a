// Package labtest helps tests that run programs in the lab's guest.
//
// # Skips
//
// A test is skipped only when QEMU or a kernel is missing. Where $CI or $NVMEPASS_LAB_REQUIRED is set, that is a failure: a
// test that never runs proves nothing.
package labtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nvmepass/nvmepass/internal/lab"
)

// RequiredEnv names the environment variable that turns skipped lab tests into failures.
const RequiredEnv = "NVMEPASS_LAB_REQUIRED"

// Need returns the kernels that a guest can be booted with, newest first and one of each version, or skips the test.
func Need(tb testing.TB) []lab.Kernel {
	tb.Helper()
	if _, err := exec.LookPath("qemu-system-x86_64"); err != nil {
		missing(tb, "QEMU is missing: "+err.Error())
	}
	found, err := lab.FindKernels()
	if err != nil {
		missing(tb, err.Error())
	}
	var kernels []lab.Kernel
	seen := map[string]bool{}
	for _, k := range found {
		if !seen[k.Version] {
			seen[k.Version] = true
			kernels = append(kernels, k)
		}
	}
	return kernels
}

func missing(tb testing.TB, why string) {
	tb.Helper()
	for _, name := range []string{"CI", RequiredEnv} {
		if os.Getenv(name) != "" {
			tb.Fatalf("the lab is required ($%s is set): %s", name, why)
		}
	}
	tb.Skip(why)
}

// Build makes a static executable of a Go package in a folder that goes with the test. args are arguments of `go build`, or of `go
// test -c` when the first is "test".
func Build(tb testing.TB, pkg string, args ...string) string {
	tb.Helper()
	out := filepath.Join(tb.TempDir(), filepath.Base(pkg))
	command := []string{"build"}
	if len(args) > 0 && args[0] == "test" {
		command, args = []string{"test", "-c"}, args[1:]
	}
	command = append(append(append(command, "-o", out), args...), pkg)
	cmd := exec.Command("go", command...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64", "GOFLAGS=")
	if b, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("go %s: %v\n%s", strings.Join(command, " "), err, b)
	}
	return out
}
