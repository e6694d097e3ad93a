package lab

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// fakeELF is the header of an executable with one program header and no code.
func fakeELF(machine elf.Machine, kind elf.Type, segment elf.ProgType) []byte {
	var b bytes.Buffer
	h := elf.Header64{Type: uint16(kind), Machine: uint16(machine), Version: 1, Phoff: 64, Ehsize: 64, Phentsize: 56, Phnum: 1, Shentsize: 64}
	copy(h.Ident[:], elf.ELFMAG)
	h.Ident[elf.EI_CLASS], h.Ident[elf.EI_DATA], h.Ident[elf.EI_VERSION] = byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), 1
	text := "/lib64/ld-linux-x86-64.so.2\x00"
	p := elf.Prog64{Type: uint32(segment), Off: 120, Filesz: uint64(len(text)), Memsz: uint64(len(text)), Align: 1}
	for _, v := range []any{h, p, []byte(text)} {
		if err := binary.Write(&b, binary.LittleEndian, v); err != nil {
			panic(err)
		}
	}
	return b.Bytes()
}

func TestCheckExecutable(t *testing.T) {
	dir := t.TempDir()
	static := writeFile(t, filepath.Join(dir, "static"), fakeELF(elf.EM_X86_64, elf.ET_EXEC, elf.PT_LOAD))
	require.NoError(t, checkExecutable(static))

	for _, c := range []struct {
		name string
		data []byte
		says string
	}{
		{"script", []byte("#!/bin/sh\n"), "not an ELF"},
		{"empty", nil, "not an ELF"},
		{"arm", fakeELF(elf.EM_AARCH64, elf.ET_EXEC, elf.PT_LOAD), "GOARCH=amd64"},
		{"object", fakeELF(elf.EM_X86_64, elf.ET_REL, elf.PT_LOAD), "not an executable"},
		{"dynamic", fakeELF(elf.EM_X86_64, elf.ET_DYN, elf.PT_INTERP), "ld-linux-x86-64.so.2"},
		{"and says how", fakeELF(elf.EM_X86_64, elf.ET_DYN, elf.PT_INTERP), "CGO_ENABLED=0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := checkExecutable(writeFile(t, filepath.Join(dir, c.name), c.data))
			require.ErrorIs(t, err, ErrBinary)
			require.ErrorContains(t, err, c.says)
			require.ErrorContains(t, err, c.name)
		})
	}
	require.ErrorIs(t, checkExecutable(filepath.Join(dir, "missing")), os.ErrNotExist)
	require.ErrorIs(t, checkExecutable(dir), ErrBinary)
}
