package passthru

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/ringtest"
	"github.com/nvmepass/nvmepass/nvme"
	"github.com/nvmepass/nvmepass/uringcmd"
)

func onKernel(t *testing.T, release string) {
	before := running
	running = func() string { return release }
	t.Cleanup(func() { running = before })
}

// TestPollingOnOldKernels: what can crash them is refused, or goes by ioctl, and
// never reaches a polled ring.
func TestPollingOnOldKernels(t *testing.T) {
	for release, old := range map[string]bool{"6.1.0-50-amd64": true, "6.5.13": true, "6.6.0": false, "7.3.4": false} {
		onKernel(t, release)
		_, err := Config{Poll: true, Workers: 2}.check()
		if old {
			require.ErrorIs(t, err, uringcmd.ErrNotSupported)
			require.ErrorContains(t, err, release)
		} else {
			require.NoError(t, err)
		}
		_, err = Config{Workers: 2}.check()
		require.NoError(t, err)

		k := &ringtest.Kernel{}
		d := engineDevice(t, Config{Depth: 2, BufferSize: 4096, Poll: true}, k)
		require.False(t, ExitCrashesKernel())
		e, err := newEngine(d, &d.cfg)
		require.NoError(t, err)
		require.Equal(t, old, ExitCrashesKernel())
		k.Consumed = nil
		slot, err := e.acquire(t.Context())
		require.NoError(t, err)
		e.slots[slot].cmd = nvme.NewFlush(d.nsid)
		e.start(slot)
		held, err := e.wait(t.Context(), slot)
		require.True(t, held)
		e.release(slot)
		if old {
			require.ErrorContains(t, err, "inappropriate ioctl", "it went by ioctl, which /dev/null does not have")
			require.Empty(t, k.Consumed)
		} else {
			require.NoError(t, err)
			require.Len(t, k.Consumed, 1)
		}
		require.NoError(t, e.close())
		require.False(t, ExitCrashesKernel())

		q, err := nullDevice(lba512).newQueue(&QueueConfig{Depth: 1}, []*Device{nullDevice(lba512)})
		require.NoError(t, err)
		q.onlyData = old
		err = q.Do(0, nvme.NewFlush(7))
		if old {
			require.ErrorContains(t, err, "send it by a queue without Poll")
		}
		require.NoError(t, q.Close())
	}
}
