package jobs

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/nvme"
	"github.com/nvmepass/nvmepass/passthru"
)

// TestHostileSize: of a drive that claims more bytes than 64 bits count, the
// region is what can be counted, and never wraps around.
func TestHostileSize(t *testing.T) {
	for _, claimed := range []uint64{1 << 52, 1<<55 + 3, math.MaxUint64} {
		d, err := passthru.OpenNull(passthru.NullConfig{Layout: nvme.Layout{LBASize: 4096}, Blocks: claimed, Config: passthru.Config{AllowIoctl: true}})
		require.NoError(t, err)
		const all = math.MaxUint64 / 4096
		for _, offset := range []uint64{0, 4096, (all - 1) * 4096} {
			cfg := DefaultConfig()
			cfg.BlockSize, cfg.Offset = 4096, offset
			require.NoError(t, cfg.checkRegion(d), "%d blocks from offset %d", claimed, offset)
			first, blocks := cfg.region(d)
			require.Equal(t, offset/4096, first)
			require.Equal(t, claimed-first, blocks)
		}
		cfg := DefaultConfig()
		cfg.BlockSize, cfg.Offset, cfg.Size = 4096, 4096, all*4096
		require.ErrorContains(t, cfg.checkRegion(d), "--size")
		require.NoError(t, d.Close())
	}
}
