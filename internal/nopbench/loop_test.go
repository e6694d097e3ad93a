package nopbench

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/iosetup"
	"github.com/nvmepass/nvmepass/internal/trial"
)

// BenchmarkLoop is the whole run loop, as the command runs it: the time per
// command is that of one cell of b.N milliseconds.
func BenchmarkLoop(b *testing.B) {
	for _, op := range []Op{NOP, URINGCmd} {
		for _, d := range iosetup.DefaultDepths() {
			b.Run("op="+string(op)+"/depth="+d.String(), func(b *testing.B) {
				cfg := DefaultConfig()
				cfg.Op, cfg.Depths = op, []iosetup.Depth{d}
				cfg.Settings = trial.Settings{Rounds: 1, Runtime: time.Duration(max(b.N, 10)) * time.Millisecond}
				bench, err := Open(cfg)
				require.NoError(b, err)
				res, err := bench.Run(context.Background(), nil)
				require.NoError(b, err)
				require.NoError(b, bench.Close())
				c := res.Cells[0]
				require.Equal(b, 1, c.Measured)
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(*c.NSPerOp.Median, "ns/command")
				b.ReportMetric(*c.IOPS.Median, "IOPS")
				b.ReportMetric(*c.UserCPUNSPerIO, "user-ns/command")
				b.ReportMetric(*c.SystemCPUNSPerIO, "system-ns/command")
			})
		}
	}
}
