// Package hosttool makes a program of this machine ready for the lab's guest,
// which has no libraries: the program itself, every library that its loader finds
// (ldd), and the loader, by which it is called.
package hosttool

import (
	"errors"
	"fmt"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

// root is where tools stand in the guest, each in a folder of its own.
const root = "/tools"

// Tool is a program with all that it needs.
type Tool struct {
	// Files maps files of the host to the guest's, for lab.Config.InFiles.
	Files map[string]string
	// Command is how to call it in the guest, without its own arguments.
	Command []string
}

// Find collects a program of $PATH. The error wraps exec.ErrNotFound if there is
// no such program.
func Find(name string) (*Tool, error) {
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
	needs, err := parse(string(out))
	if err != nil {
		return nil, fmt.Errorf("list the libraries of %s (ldd): %w", program, err)
	}
	dir := path.Join(root, name)
	inGuest := path.Join(dir, "bin", name)
	t := &Tool{Files: map[string]string{program: inGuest}, Command: []string{inGuest}}
	lib := path.Join(dir, "lib")
	for asked, file := range needs.libraries {
		t.Files[file] = path.Join(lib, asked)
	}
	if needs.loader != "" {
		loader := path.Join(lib, path.Base(needs.loader))
		t.Files[needs.loader] = loader
		t.Command = []string{loader, "--library-path", lib, inGuest}
	}
	return t, nil
}

// dependencies of a program; both are empty for a static one.
type dependencies struct {
	libraries map[string]string // file by the name that the program asks for
	loader    string
}

// parse reads ldd's output, of which three kinds of line matter:
//
//	libc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x...)
//	libgone.so.1 => not found
//	/lib64/ld-linux-x86-64.so.2 (0x...)
func parse(out string) (dependencies, error) {
	d := dependencies{libraries: map[string]string{}}
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		switch {
		case len(f) >= 4 && f[1] == "=>" && f[2] == "not":
			return d, fmt.Errorf("library %s is missing on this machine; install the package that has it", f[0])
		case len(f) == 4 && f[1] == "=>":
			d.libraries[f[0]] = f[2]
		case len(f) == 2 && path.IsAbs(f[0]):
			d.loader = f[0]
		}
	}
	if len(d.libraries) > 0 && d.loader == "" {
		return d, errors.New("there are libraries but no loader among its lines")
	}
	return d, nil
}
