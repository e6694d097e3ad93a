package lab

import (
	"debug/elf"
	"fmt"
	"os"
)

// checkExecutable returns an error that wraps ErrBinary unless path is a static x86-64 Linux executable.
func checkExecutable(path string) error {
	st, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrBinary, err)
	}
	if !st.Mode().IsRegular() {
		return fmt.Errorf("%w: %s is not a regular file", ErrBinary, path)
	}
	f, err := elf.Open(path)
	if err != nil {
		return fmt.Errorf("%w: %s is not an ELF executable: %w; scripts cannot run in the guest, which has no shell", ErrBinary, path, err)
	}
	defer f.Close()
	if f.Machine != elf.EM_X86_64 || f.Class != elf.ELFCLASS64 {
		return fmt.Errorf("%w: %s is built for %v, the guest is x86-64; build it with GOOS=linux GOARCH=amd64 CGO_ENABLED=0", ErrBinary, path, f.Machine)
	}
	if f.Type != elf.ET_EXEC && f.Type != elf.ET_DYN {
		return fmt.Errorf("%w: %s is of ELF type %v, not an executable", ErrBinary, path, f.Type)
	}
	for _, p := range f.Progs {
		if p.Type != elf.PT_INTERP {
			continue
		}
		interp := make([]byte, min(p.Filesz, 128))
		n, _ := p.ReadAt(interp, 0)
		return fmt.Errorf("%w: %s is dynamically linked (needs %q), and the guest has no libraries; build it with CGO_ENABLED=0 and without -race",
			ErrBinary, path, cString(interp[:n]))
	}
	return nil
}
