package passthru

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/ringtest"
	"github.com/nvmepass/nvmepass/internal/sysfs"
	"github.com/nvmepass/nvmepass/nvme"
)

// TestB01ResultKindsKeptApart: what a completion's res means, from the ring to
// the error.
func TestB01ResultKindsKeptApart(t *testing.T) {
	tests := []struct {
		res       int32
		status    nvme.Code // 0 for none
		errno     syscall.Errno
		cancelled bool
		text      []string
	}{
		{res: 0},
		{res: 0x285, status: nvme.CompareFailure, text: []string{"Compare Failure", "sct=2 sc=0x85"}},
		{res: 0x4080, status: nvme.LBAOutOfRange, text: []string{"LBA Out of Range", "dnr=1"}},
		{res: 1, status: nvme.InvalidOpcode, text: []string{"sc=0x01"}},
		{res: -22, errno: syscall.EINVAL, text: []string{"invalid argument (errno 22)", "checked and fine: namespace ID"}},
		{res: -4, errno: syscall.EINTR, cancelled: true, text: []string{"cancelled by the driver"}},
		{res: -125, errno: syscall.ECANCELED, cancelled: true, text: []string{"operation canceled (errno 125)", "send it again"}},
		{res: -95, errno: syscall.EOPNOTSUPP, text: []string{"operation not supported (errno 95)", "nvme.poll_queues"}},
		{res: -13, errno: syscall.EACCES, text: []string{"permission denied (errno 13)", "CAP_SYS_ADMIN"}},
		{res: -11, errno: syscall.EAGAIN, text: []string{"resource temporarily unavailable (errno 11)"}},
		{res: -19, errno: syscall.ENODEV, text: []string{"the drive is gone"}},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("res=%#x", tt.res), func(t *testing.T) {
			q, _ := fakeQueue(t, nullDevice(lba512), QueueConfig{Depth: 2, BufferSize: 4096}, func(ringtest.Entry) (int32, uint64, bool) { return tt.res, 0xabcd, true })
			require.NoError(t, q.Read(1, 0x123456789a, 8))
			done := make([]Completion, 2)
			n, err := q.Reap(1, done)
			require.NoError(t, err)
			require.Equal(t, 1, n)
			require.Equal(t, Completion{Slot: 1, Res: tt.res, Result: 0xabcd}, done[0])
			err = q.Err(done[0])
			require.Equal(t, tt.res == q.OKResult(), err == nil)
			if tt.res == 0 {
				return
			}
			for _, want := range append(tt.text, "read nsid=7 slba=0x123456789a nlb=8") {
				require.ErrorContains(t, err, want)
			}
			var status *nvme.StatusError
			var kernel *KernelError
			require.Equal(t, tt.status != 0, errors.As(err, &status))
			require.Equal(t, tt.errno != 0, errors.As(err, &kernel))
			require.Equal(t, tt.cancelled, errors.Is(err, ErrCancelled))
			var errno syscall.Errno
			require.Equal(t, tt.errno != 0, errors.As(err, &errno), "a status is never an errno")
			require.Equal(t, tt.errno, errno)
			if status != nil {
				require.ErrorIs(t, err, tt.status)
				require.EqualValues(t, 0xabcd, status.Result)
			}
		})
	}
}

// TestB01StrangeResults: res 0 alone is success, whatever a kernel makes up.
func TestB01StrangeResults(t *testing.T) {
	cmd, err := nvme.NewRead(7, lba512, 9, 1, nvme.IOOptions{})
	require.NoError(t, err)
	for _, res := range []int32{0x4000, 0x2000, 0x8000, 0x10000, 0x10002, math.MaxInt32} {
		err := resultError(res, 0, &cmd, nvme.SetNVM)
		require.ErrorContains(t, err, fmt.Sprintf("read nsid=7 slba=0x9 nlb=1: the kernel returned res %#x", res))
	}
	err = resultError(math.MinInt32, 0, &cmd, nvme.SetNVM)
	require.ErrorContains(t, err, "errno 2147483648")
}

// TestB56ErrorTextComesFromTheResult, not from whatever errno came last.
func TestB56ErrorTextComesFromTheResult(t *testing.T) {
	for e := syscall.Errno(1); e < 134; e++ {
		err := &KernelError{Op: "read", Errno: e}
		require.ErrorIs(t, err, e)
		if e == syscall.EINTR {
			require.NotContains(t, err.Error(), "interrupted system call")
			continue
		}
		require.ErrorContains(t, err, fmt.Sprintf("%v (errno %d)", e, int(e)))
	}
}

func TestKernelErrorWithoutChecks(t *testing.T) {
	err := &KernelError{Op: "flush", NSID: 1, Errno: syscall.EINVAL}
	require.NotContains(t, err.Error(), "checked")
}

func TestOpErrorUnwraps(t *testing.T) {
	err := &OpError{Op: "open", Path: "/dev/ng0n1", Err: fmt.Errorf("%w: set Config.Writable", ErrReadOnly)}
	require.ErrorIs(t, err, ErrReadOnly)
	require.EqualError(t, err, "open /dev/ng0n1: device is open for reading only: set Config.Writable")
}

// TestMissingNamespace: where the namespace's node went, EINVAL and EAGAIN mean
// that the drive is gone, and nothing else does.
func TestMissingNamespace(t *testing.T) {
	there := t.TempDir()
	for _, tt := range []struct {
		dir   string
		errno syscall.Errno
		gone  bool
	}{
		{there + "/ng0n1", syscall.EINVAL, true}, {there + "/ng0n1", syscall.EAGAIN, true}, {there + "/ng0n1", syscall.EIO, false},
		{there, syscall.EINVAL, false}, {"", syscall.EINVAL, false},
	} {
		d := &Device{pair: sysfs.Pair{GenericDir: tt.dir}}
		err := d.missing(&KernelError{Op: "read", Errno: tt.errno})
		require.ErrorIs(t, err, tt.errno)
		require.Equal(t, tt.gone, errors.Is(err, syscall.ENODEV), "%+v", tt)
		require.Equal(t, tt.gone, strings.Contains(err.Error(), "the drive is gone"))
	}
	require.NoError(t, (*Device)(nil).missing(nil))
	require.NoError(t, (&Device{pair: sysfs.Pair{GenericDir: there + "/x"}}).missing(nil))
}
