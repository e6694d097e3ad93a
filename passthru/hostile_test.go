package passthru

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/sysfs"
	"github.com/nvmepass/nvmepass/nvme"
)

// TestHostileLimits: whatever a drive says of its sizes (no blocks, 2^64-1 of
// them, any exponent for MDTS, any format), a Device that opens has limits that
// agree with each other, and no command of it goes beyond them or wraps around.
func TestHostileLimits(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 6))
	edges := []uint64{0, 1, 2, 1<<32 - 1, 1 << 32, 1 << 52, 1<<55 + 1, 1 << 63, math.MaxUint64 - 1, math.MaxUint64}
	usable := 0
	for range 20000 {
		ctrl := &nvme.IdentifyController{MDTS: uint8(rng.Uint32())}
		ns := &nvme.IdentifyNamespace{NSZE: edges[rng.IntN(len(edges))], FLBAS: uint8(rng.Uint32()), DPS: nvme.DPS(rng.UintN(16))}
		for range 1 + rng.IntN(64) {
			ns.Formats = append(ns.Formats, nvme.LBAFormat{MS: []uint16{0, 8, 64, 65535}[rng.IntN(4)], LBADS: uint8(rng.UintN(40)), RP: 3})
		}
		layout, err := ns.CurrentLayout()
		if err != nil {
			require.ErrorContains(t, err, "identify namespace: ")
			continue
		}
		kernel := sysfs.QueueLimits{MaxHWSectorsBytes: []uint64{0, 4096, 128 << 10, 1 << 40}[rng.IntN(4)], MaxSegments: rng.IntN(200)}
		l := findLimits(ctrl, ns, layout, kernel)
		d := nullDevice(layout)
		d.limits, d.nsid = l, 1
		require.GreaterOrEqual(t, d.Size(), int64(0))
		require.LessOrEqual(t, uint64(d.Size())/uint64(d.DataLayout().Unit()), ns.NSZE)
		require.LessOrEqual(t, l.MaxBlocks, uint32(nvme.MaxNLB))
		if l.MaxTransfer != 0 {
			require.LessOrEqual(t, d.DataLayout().DataLen(l.MaxBlocks), l.MaxTransfer)
		}
		require.LessOrEqual(t, d.DataLayout().MetadataLen(l.MaxBlocks), uint64(MaxMetadata))
		if ns.NSZE == 0 || l.MaxBlocks == 0 {
			continue
		}
		usable++
		lim := nvme.Limits{Blocks: l.Blocks, MaxTransfer: l.MaxTransfer}
		for _, slba := range []uint64{0, ns.NSZE - 1, ns.NSZE, math.MaxUint64} {
			n := 1 + rng.Uint32N(l.MaxBlocks)
			c, err := nvme.NewRead(1, layout, slba, n, nvme.IOOptions{Limits: lim, PRACT: layout.PI != nvme.PINone})
			if err != nil {
				continue
			}
			require.True(t, slba < ns.NSZE && uint64(n) <= ns.NSZE-slba, "%d blocks from %d of %d", n, slba, ns.NSZE)
			require.EqualValues(t, d.DataLayout().DataLen(n), c.DataLen)
		}
	}
	require.Greater(t, usable, 500)
}
