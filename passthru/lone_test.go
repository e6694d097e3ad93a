package passthru

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/nvme"
)

// TestLoneCommands are those that the builders make.
func TestLoneCommands(t *testing.T) {
	for _, l := range []nvme.Layout{
		{LBASize: 512}, {LBASize: 4096}, {LBASize: 512, MetadataSize: 8, PI: nvme.PIType1}, {LBASize: 4096, MetadataSize: 64, Extended: true},
	} {
		d := &Device{nsid: 7, layout: l, limits: Limits{Blocks: 1 << 40, MaxTransfer: 128 << 10}}
		e := newSlots(4, nvme.SetNVM, 0, time.Hour)
		e.dev, e.blocks = d, 64
		e.findLone(&Config{Timeout: time.Second})
		require.Equal(t, l.MetadataSize == 0, e.plain[0].DataLen > 0)
		for range 1000 {
			slba, nlb := rand.Uint64N(d.limits.Blocks-64), 1+rand.Uint32N(128<<10/l.Unit())
			want, err := nvme.NewRead(d.nsid, l, slba, nlb, e.options())
			require.NoError(t, err)
			got, err := e.loneCommand(nvme.OpRead, slba, nlb)
			require.NoError(t, err)
			require.Equal(t, want, got)
			want, err = nvme.NewWrite(d.nsid, l, slba, nlb, e.options())
			require.NoError(t, err)
			got, err = e.loneCommand(nvme.OpWrite, slba, nlb)
			require.NoError(t, err)
			require.Equal(t, want, got)
		}
	}
}
