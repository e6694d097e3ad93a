package labtest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/lab"
)

// recorder is a testing.TB that notes how a test would have ended.
type recorder struct {
	testing.TB
	end string
}

func (r *recorder) Helper() {}

func (r *recorder) Skip(args ...any) { r.stop("skip: " + fmt.Sprint(args...)) }

func (r *recorder) Fatalf(format string, args ...any) {
	r.stop("fail: " + fmt.Sprintf(format, args...))
}

// stop unwinds the caller, as the end of a test does.
func (r *recorder) stop(end string) {
	r.end = end
	panic(r)
}

func need(t *testing.T) (end string) {
	t.Helper()
	r := &recorder{TB: t}
	defer func() {
		if p := recover(); p != nil && p != any(r) {
			panic(p)
		}
		end = r.end
	}()
	Need(r)
	return r.end
}

func TestNeedSkipsOnlyWhereAllowed(t *testing.T) {
	fake := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(fake, "qemu-system-x86_64"), []byte("#!/bin/sh\n"), 0o755))
	for _, c := range []struct {
		name string
		set  map[string]string
		says string
	}{
		{"no QEMU", map[string]string{"PATH": t.TempDir()}, "QEMU is missing"},
		{"no kernel", map[string]string{"PATH": fake, lab.KernelEnv: filepath.Join(fake, "none")}, "lab: no kernel"},
	} {
		for env, want := range map[string]string{"": "skip: ", "CI": "fail: the lab is required ($CI is set): ", RequiredEnv: "fail: the lab is required ($" + RequiredEnv + " is set): "} {
			t.Run(c.name+" "+env, func(t *testing.T) {
				t.Setenv("CI", "")
				t.Setenv(RequiredEnv, "")
				if env != "" {
					t.Setenv(env, "1")
				}
				for k, v := range c.set {
					t.Setenv(k, v)
				}
				end := need(t)
				require.Contains(t, end, want)
				require.Contains(t, end, c.says)
			})
		}
	}
}
