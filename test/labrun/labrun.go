// Package labrun is what the programs that run tests in the lab's guests share.
package labrun

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nvmepass/nvmepass/internal/lab"
)

// Newest names the newest kernel there is, which must be 6.12 or later.
const Newest = "newest"

// FindKernel takes a version prefix, such as 6.1, or Newest.
func FindKernel(name string) (lab.Kernel, error) {
	found, err := lab.FindKernels()
	if err != nil {
		return lab.Kernel{}, err
	}
	for _, k := range found {
		if name == Newest && atLeast612(k.Version) || strings.HasPrefix(k.Version, name+".") {
			return k, nil
		}
	}
	return lab.Kernel{}, fmt.Errorf("no kernel %s here: fetch it with scripts/lab-kernels.sh %s", name, name)
}

// atLeast612 tells whether a kernel release is 6.12 or later.
func atLeast612(version string) bool {
	var major, minor int
	if _, err := fmt.Sscanf(version, "%d.%d", &major, &minor); err != nil {
		return false
	}
	return major > 6 || major == 6 && minor >= 12
}

// Binaries are what goes into a guest, both static.
type Binaries struct {
	Tests string // a package's test binary
	Tool  string // nvmepass
}

// Build makes the test binary of a package, raced if asked, and nvmepass in a
// folder. It runs in the repository's root.
func Build(ctx context.Context, dir, pkg string, race bool) (Binaries, error) {
	b := Binaries{Tests: filepath.Join(dir, "integration.test"), Tool: filepath.Join(dir, "nvmepass")}
	compile, cgo := []string{"test", "-c", "-o", b.Tests, pkg}, "CGO_ENABLED=0"
	if race { // needs C, and the guest has no libraries
		compile, cgo = slices.Insert(compile, 1, "-race", "-ldflags=-linkmode=external -extldflags=-static"), "CGO_ENABLED=1"
	}
	for _, args := range [][]string{compile, {"build", "-o", b.Tool, "./cmd/nvmepass"}} {
		cmd := exec.CommandContext(ctx, "go", args...)
		cmd.Env = append(os.Environ(), cgo)
		cgo = "CGO_ENABLED=0"
		cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
		if err := cmd.Run(); err != nil {
			return b, fmt.Errorf("go %s: %w", strings.Join(args, " "), err)
		}
	}
	return b, nil
}

// Drives reads drives as lab.ParseDrive has them.
func Drives(options []string) ([]lab.Drive, error) {
	drives := make([]lab.Drive, 0, len(options))
	for _, o := range options {
		d, err := lab.ParseDrive(o)
		if err != nil {
			return nil, err
		}
		drives = append(drives, d)
	}
	return drives, nil
}

// PassEnv returns those of the named variables that this process has.
func PassEnv(names ...string) (env []string) {
	for _, name := range names {
		if v := os.Getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	return env
}
