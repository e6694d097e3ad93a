package memory

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/fixedbuf"
	"github.com/nvmepass/nvmepass/internal/ringtest"
	"github.com/nvmepass/nvmepass/passthru"
	"github.com/nvmepass/nvmepass/uringcmd"
)

// asChild tells the child of TestOrdinaryUserRounds that it is one.
const asChild = "NVMEPASS_TEST_CHILD"

// nobody is a user without rights.
const nobody = 65534

// rlimitMemlock is RLIMIT_MEMLOCK, which package syscall does not name.
const rlimitMemlock = 8

// TestOrdinaryUserRounds: an ordinary user may lock 8 MiB by default. Each queue
// of 2 MiB gets registered buffers, however many came and went just before, whose
// memory the kernel gives back some time later.
func TestOrdinaryUserRounds(t *testing.T) {
	if err := uringcmd.Usable(); err != nil {
		missing(t, "io_uring", err)
	}
	if os.Getenv(asChild) != "" {
		ordinaryRounds(t)
		return
	}
	dir, err := os.MkdirTemp("", "nvmepass")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	require.NoError(t, os.Chmod(dir, 0o755))
	self, err := os.ReadFile("/proc/self/exe")
	require.NoError(t, err)
	program := filepath.Join(dir, "test")
	require.NoError(t, os.WriteFile(program, self, 0o755))
	cmd := exec.Command(program, "-test.run=^TestOrdinaryUserRounds$", "-test.v")
	cmd.Dir, cmd.Env = "/", append(os.Environ(), asChild+"=1")
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "PASS: TestOrdinaryUserRounds")
}

func ordinaryRounds(t *testing.T) {
	var limit syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(rlimitMemlock, &limit))
	limit.Cur = min(limit.Cur, 8<<20)
	if limit.Cur < 8<<20 {
		ringtest.Missing(t, "Linux's default of locked memory, 8 MiB", fmt.Errorf("RLIMIT_MEMLOCK is %d bytes", limit.Cur))
	}
	require.NoError(t, syscall.Setrlimit(rlimitMemlock, &limit))
	for i := range 60 {
		d, err := passthru.OpenNull(passthru.NullConfig{})
		require.NoError(t, err)
		q, err := d.NewQueue(passthru.QueueConfig{Depth: 32, BufferSize: 64 << 10})
		require.NoError(t, err, "round %d", i)
		require.NotEqual(t, fixedbuf.Plain, q.Settings().FixedBuffers, "round %d: %s", i, q.Settings().FixedReason)
		require.NoError(t, q.Close())
		require.NoError(t, d.Close())
	}
}
