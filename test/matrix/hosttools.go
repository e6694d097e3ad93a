package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"sync"
)

// guestTools is where programs of the host stand in the guest, each in a
// folder of its own.
const guestTools = "/tools"

// hostTool is a program of the host, made ready for the guest, which has no
// libraries.
type hostTool struct {
	// files maps the host's to the guest's, for lab.Config.InFiles.
	files map[string]string
	// command is how to call it there: the host's loader with the libraries
	// that came along, then the program.
	command []string
}

// findHostTool collects a program of $PATH with all libraries that its loader
// finds (ldd). It wraps exec.ErrNotFound if there is no such program.
func findHostTool(name string) (*hostTool, error) {
	program, err := exec.LookPath(name)
	if err != nil {
		return nil, fmt.Errorf("find %s on this machine: %w", name, err)
	}
	if program, err = filepath.EvalSymlinks(program); err != nil {
		return nil, err
	}
	out, err := exec.Command("ldd", program).CombinedOutput()
	if err != nil && !strings.Contains(string(out), "not a dynamic executable") {
		return nil, fmt.Errorf("list the libraries of %s (ldd): %w: %s", program, err, strings.TrimSpace(string(out)))
	}
	libraries, loader, err := parseLdd(string(out))
	if err != nil {
		return nil, fmt.Errorf("list the libraries of %s (ldd): %w", program, err)
	}
	dir := path.Join(guestTools, name)
	t := &hostTool{files: map[string]string{program: path.Join(dir, "bin", name)}}
	for soname, file := range libraries {
		t.files[file] = path.Join(dir, "lib", soname)
	}
	if loader != "" {
		guest := path.Join(dir, "lib", filepath.Base(loader))
		t.files[loader] = guest
		t.command = []string{guest, "--library-path", path.Join(dir, "lib")}
	}
	t.command = append(t.command, path.Join(dir, "bin", name))
	return t, nil
}

// parseLdd reads ldd's output: libraries by the name that the program asks for,
// and the loader; neither for a static program.
func parseLdd(out string) (libraries map[string]string, loader string, err error) {
	libraries = map[string]string{}
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		name, rest, arrow := strings.Cut(line, " => ")
		file, _, mapped := strings.Cut(rest, " (0x")
		switch {
		case arrow && strings.HasPrefix(rest, "not found"):
			return nil, "", fmt.Errorf("library %s is missing on this machine", name)
		case arrow && mapped:
			libraries[name] = file
		case !arrow && strings.HasPrefix(line, "/"):
			if loader, _, mapped = strings.Cut(line, " (0x"); !mapped {
				return nil, "", fmt.Errorf("line %q is not understood", line)
			}
		}
	}
	if len(libraries) > 0 && loader == "" {
		return nil, "", errors.New("no loader among the libraries")
	}
	return libraries, loader, nil
}

// envNVMeCLI tells the tests how to call nvme-cli.
const envNVMeCLI = "NVMEPASS_TEST_NVMECLI"

// nvmeCLI collects nvme-cli. Where the machine has none, files and env are
// empty, and the tests that need it are skipped with the reason.
var nvmeCLI = sync.OnceValues(func() (files map[string]string, env []string) {
	t, err := findHostTool("nvme")
	if err != nil {
		fmt.Fprintf(os.Stderr, "matrix: without nvme-cli: %v: install the package nvme-cli (make lab-packages)\n", err)
		return nil, nil
	}
	return t.files, []string{envNVMeCLI + "=" + strings.Join(t.command, " ")}
})
