package lab

import (
	"bytes"
	"debug/elf"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestFallBackToTCG runs a QEMU that never gets anywhere with KVM, and ends at once without it.
func TestFallBackToTCG(t *testing.T) {
	dir := t.TempDir()
	qemu := writeFile(t, filepath.Join(dir, "qemu"), []byte("#!/bin/sh\ncase \"$*\" in *'-accel kvm'*) exec sleep 600;; esac\necho no such machine >&2\nexit 7\n"))
	var notes bytes.Buffer
	p, err := newPlan(Config{
		Kernel:       writeFile(t, filepath.Join(dir, "vmlinuz"), fakeKernel("6.1.0")),
		Binary:       writeFile(t, filepath.Join(dir, "init"), fakeELF(elf.EM_X86_64, elf.ET_EXEC, elf.PT_LOAD)),
		HelloTimeout: 100 * time.Millisecond,
		Notes:        &notes,
	})
	require.NoError(t, err)

	res, err := p.runOn(t.Context(), qemu, []accelerator{accelKVM, accelTCG})
	require.ErrorIs(t, err, ErrNoAnswer)
	require.ErrorContains(t, err, "no such machine")
	require.Equal(t, "tcg", res.Accel)
	require.Contains(t, notes.String(), "KVM did not work")
	require.Contains(t, notes.String(), "starting again with TCG")

	require.Zero(t, strings.Count(notes.String(), "breakpoint"))

	_, err = p.runOn(t.Context(), qemu, []accelerator{accelKVM})
	require.ErrorIs(t, err, ErrNoAnswer, "without a choice there is nothing to fall back to")
	require.ErrorContains(t, err, "under kvm")
}

// TestStaleBreakpoint runs a QEMU whose guest crashes while it starts, as TCG's guests do on a busy host.
func TestStaleBreakpoint(t *testing.T) {
	dir := t.TempDir()
	count := filepath.Join(dir, "count")
	run := func(log string) (string, error) {
		// The console is the first channel: the initramfs is descriptor 3.
		qemu := writeFile(t, filepath.Join(dir, "qemu"), []byte("#!/bin/sh\necho start >>"+count+"\nprintf '%s\\n' '"+log+"' >&4\n"))
		var notes bytes.Buffer
		c := goodConfig(t)
		c.Notes = &notes
		p, err := newPlan(c)
		require.NoError(t, err)
		require.NoError(t, os.RemoveAll(count))
		_, err = p.runOn(t.Context(), qemu, []accelerator{accelTCG})
		require.ErrorIs(t, err, ErrPanic)
		starts, readErr := os.ReadFile(count)
		require.NoError(t, readErr)
		require.Equal(t, strings.Count(string(starts), "start")-1, strings.Count(notes.String(), "starting again"))
		return string(starts), err
	}
	starts, err := run("[ 2.0] Oops: int3: 0000 [#1] SMP\n[ 2.1] Kernel panic - not syncing: Fatal exception in interrupt")
	require.Equal(t, strings.Repeat("start\n", 1+maxBootCrashes), starts)
	require.ErrorContains(t, err, "newer QEMU")
	starts, err = run("[ 2.1] Kernel panic - not syncing: Attempted to kill init!")
	require.Equal(t, "start\n", starts, "any other panic is the guest's own")
	require.NotContains(t, err.Error(), "newer QEMU")
}
