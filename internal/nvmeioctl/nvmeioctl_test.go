package nvmeioctl

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/sys"
	"github.com/nvmepass/nvmepass/nvme"
)

func identify(t *testing.T) nvme.Command {
	cmd, err := nvme.NewIdentify(nvme.CNSController, nvme.IdentifyOptions{})
	require.NoError(t, err)
	return cmd
}

// TestB45NodesThatAreNoDrive: a clean error that names command, cause and
// remedy, and the caller's memory as it was. The collector runs all the time,
// so that memory that nothing kept alive would go.
func TestB45NodesThatAreNoDrive(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(1))
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for _, path := range []string{os.DevNull, "/dev/zero", file} {
		fd, err := sys.OpenDevice(path, false, false)
		require.NoError(t, err)
		defer func() { require.NoError(t, sys.Close(fd)) }()
		for range 20 {
			data := make([]byte, nvme.IdentifySize)
			data[0], data[4095] = 1, 2
			_, err = Admin(fd, identify(t), data)
			require.ErrorIs(t, err, syscall.ENOTTY)
			require.ErrorContains(t, err, "identify by ioctl: inappropriate ioctl for device")
			require.ErrorContains(t, err, "/dev/ngXnY")
			require.Equal(t, []byte{1, 2}, []byte{data[0], data[4095]})
			_, err = Admin(fd, identify(t), nil)
			require.ErrorIs(t, err, syscall.ENOTTY)
		}
		write, err := nvme.NewWrite(1, nvme.Layout{LBASize: 512}, 0, 1, nvme.IOOptions{})
		require.NoError(t, err)
		_, err = IO(fd, write, nvme.SetNVM, make([]byte, 512))
		require.ErrorIs(t, err, syscall.ENOTTY)
		require.ErrorContains(t, err, "write by ioctl")
		_, err = NSID(fd)
		require.ErrorIs(t, err, syscall.ENOTTY)
		require.ErrorContains(t, err, "NVME_IOCTL_ID")
		_, err = NSIDOf(path)
		require.ErrorIs(t, err, syscall.ENOTTY)
		require.ErrorContains(t, err, path)
	}
	_, err := NSIDOf("/dev/null/x")
	require.ErrorIs(t, err, syscall.ENOTDIR)
	require.ErrorContains(t, err, "open /dev/null/x")
	_, err = Admin(-1, identify(t), nil)
	require.ErrorIs(t, err, syscall.EBADF)
}

func TestMaxData(t *testing.T) {
	_, err := Admin(-1, identify(t), make([]byte, MaxData+1))
	require.ErrorContains(t, err, "identify by ioctl: 8388609 bytes of data: the limit is 8388608; split the command")
	_, err = Admin(-1, identify(t), make([]byte, MaxData))
	require.ErrorIs(t, err, syscall.EBADF, "the limit itself is fine")
}

// TestB45LeavesNoMapping of the copies that the kernel is given.
func TestB45LeavesNoMapping(t *testing.T) {
	pages := func() (n int64) {
		b, err := os.ReadFile("/proc/self/statm")
		require.NoError(t, err)
		_, err = fmt.Sscan(string(b), &n)
		require.NoError(t, err)
		return n
	}
	data := make([]byte, MaxData)
	before := pages()
	const rounds = 50
	for range rounds {
		_, err := Admin(-1, identify(t), data)
		require.ErrorIs(t, err, syscall.EBADF)
	}
	require.Less(t, (pages()-before)*int64(sys.PageSize()), int64(rounds/4*MaxData))
}

func TestAdviceFitsTheErrno(t *testing.T) {
	require.Empty(t, advice(syscall.EACCES), "which rule said no is found by who knows the command")
	require.Contains(t, advice(syscall.ENOTTY), "/dev/nvmeX")
	require.Empty(t, advice(syscall.EINVAL))
}
