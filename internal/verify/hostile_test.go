package verify

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/nvme"
	"github.com/nvmepass/nvmepass/passthru"
)

// TestHostileSize: of a drive that claims more bytes than 64 bits count, the
// range is what can be counted, and never wraps around.
func TestHostileSize(t *testing.T) {
	for _, layout := range []nvme.Layout{{LBASize: 512}, {LBASize: 4096, MetadataSize: 64, Extended: true}} {
		for _, blocks := range []uint64{1 << 52, 1<<55 + 3, math.MaxUint64} {
			d, err := passthru.OpenNull(passthru.NullConfig{Layout: layout, Blocks: blocks, Config: passthru.Config{AllowIoctl: true}})
			require.NoError(t, err)
			unit := uint64(layout.Unit())
			all := min(blocks, math.MaxUint64/unit)
			for _, offset := range []uint64{0, unit, (all - 1) * unit} {
				cfg := DefaultConfig()
				cfg.Offset = offset
				p, err := cfg.plan(d)
				require.NoError(t, err)
				require.Equal(t, offset/unit, p.first)
				require.Equal(t, all-offset/unit, p.blocks)
			}
			cfg := DefaultConfig()
			cfg.Size = math.MaxUint64 / unit * unit
			cfg.Offset = unit
			if _, err := cfg.plan(d); blocks < math.MaxUint64 {
				require.ErrorContains(t, err, "--size")
			}
			require.NoError(t, d.Close())
		}
	}
}
