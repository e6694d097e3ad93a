package report

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/compare"
	"github.com/nvmepass/nvmepass/internal/iosetup"
)

// TestAblationGolden: a switch that costs, one that changes nothing that can be
// seen, one that the kernel did not take, and one that cannot run.
func TestAblationGolden(t *testing.T) {
	c := compare.DefaultConfig()
	c.Devices, c.Paths, c.Ablate = []string{"/dev/ng0n1"}, []iosetup.Path{iosetup.Block, iosetup.PassthruPoll}, true
	c.Depths = []iosetup.Depth{{QD: 8, Batch: 2}}
	res, err := compare.Run(t.Context(), c, func(_ context.Context, step compare.Step) (compare.Sample, error) {
		s := sampleOf(compare.Step{Cell: step.Cell, Round: step.Round, Order: step.Round})
		mode, err := iosetup.ModeVariant(c.Mode, step.Variant)
		require.NoError(t, err)
		s.Settings.RegisteredFiles, s.Settings.Vectored = mode.RegisteredFiles, mode.Vectored
		switch step.Variant {
		case "--fixedbufs=false":
			s.OK, s.Settings.FixedBuffers = s.OK*93/100, iosetup.FixedOff
		case "--hugepages=true":
			return compare.Sample{}, errors.New("map 2097152 bytes of huge pages: cannot allocate memory: raise vm.nr_hugepages")
		case "--vectored=true":
			s.OK += uint64(step.Round % 2 * 40)
		}
		return s, nil
	}, nil)
	require.NoError(t, err)
	fixedTimes(res)
	var b strings.Builder
	require.NoError(t, Text(&b, res, TextOptions{Width: 120}))
	_, table, ok := strings.Cut(b.String(), "Ablation")
	require.True(t, ok)
	requireGolden(t, "ablation.txt", "Ablation"+table)
}
