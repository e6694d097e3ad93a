package passthru

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/ringtest"
	"github.com/nvmepass/nvmepass/nvme"
)

// TestAppendLimits: what the drive's append limit or the block size forbids is
// refused with both, by every way to append, and nothing is sent.
func TestAppendLimits(t *testing.T) {
	const at = 0x8000
	k := &ringtest.Kernel{}
	k.Answer = func(e ringtest.Entry) (int32, uint64, bool) { return 0, uint64(e.Command().CDW10) + 7, true }
	d := engineDevice(t, Config{Depth: 2, BufferSize: 4096, Poll: true}, k)
	d.set, d.limits.MaxAppend = nvme.SetZNS, 8192
	slba, err := d.Append(t.Context(), at, make([]byte, 8192)) // beyond the bounce buffer
	require.NoError(t, err)
	require.EqualValues(t, at+7, slba, "where the drive put it")
	sent := len(k.Consumed)
	for n, text := range map[int]string{
		0:    "append to /dev/null: no data: give at least one block of 512 bytes",
		511:  "append to /dev/null: block size 511 is not a multiple of 512",
		8704: "8704 bytes exceed the limit of 8192 bytes per command",
	} {
		_, err = d.Append(t.Context(), at, make([]byte, n))
		require.ErrorContains(t, err, text)
	}
	cmd, err := nvme.NewZoneAppend(d.nsid, d.layout, at, 17, nvme.IOOptions{})
	require.NoError(t, err)
	_, err = d.Do(t.Context(), cmd, make([]byte, cmd.DataLen))
	require.ErrorContains(t, err, "exceed the limit of 8192")
	d.writable = false
	_, err = d.Append(t.Context(), at, make([]byte, 512))
	require.ErrorIs(t, err, ErrReadOnly)
	d.set = nvme.SetNVM
	_, err = d.Append(t.Context(), at, make([]byte, 512))
	require.ErrorContains(t, err, "not zoned: use WriteAt")
	require.NoError(t, d.Close())
	require.Len(t, k.Consumed, sent)
}

// TestLimitsOfCommandsWithoutData: what the drive may skip without a word is
// split as it asks.
func TestLimitsOfCommandsWithoutData(t *testing.T) {
	k := &ringtest.Kernel{}
	d := engineDevice(t, Config{Depth: 2, BufferSize: 4096, Poll: true}, k)
	_, err := d.ReadAt(make([]byte, 512), 0)
	require.NoError(t, err)
	k.Consumed = nil
	d.nvm = nvme.IdentifyNVMController{DMRL: 3, DMRSL: 100, DMSL: 250, WZSL: 3, WZDSL: 1}
	require.NoError(t, d.Deallocate(t.Context(), Range{SLBA: 0, Blocks: 450}, Range{SLBA: 1000, Blocks: 10}))
	counts := []uint32{}
	for _, e := range k.Consumed {
		counts = append(counts, e.Command().CDW10+1)
	}
	require.Equal(t, []uint32{2, 3, 1}, counts, "ranges of 100 blocks, 250 blocks and 3 ranges a command")

	for deallocate, want := range map[bool][]uint32{false: {64, 36}, true: {16, 16, 16, 16, 16, 16, 4}} {
		k.Consumed = nil
		require.NoError(t, d.WriteZeroes(t.Context(), Range{SLBA: 7, Blocks: 100}, deallocate))
		got := []uint32{}
		for _, e := range k.Consumed {
			got = append(got, e.Command().CDW12&0xffff+1)
		}
		require.Equal(t, want, got)
	}
	d.nvm = nvme.IdentifyNVMController{}
	k.Consumed = nil
	require.NoError(t, d.Deallocate(t.Context(), Range{SLBA: 0, Blocks: 1 << 33}))
	require.Len(t, k.Consumed, 1)
	require.EqualValues(t, 3, k.Consumed[0].Command().CDW10+1)
	require.NoError(t, d.Close())
}
