package report

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/jobs"
)

func TestRunBaseline(t *testing.T) {
	p, err := jobs.Baseline("series-2021")
	require.NoError(t, err)
	r := &jobs.Result{}
	r.Total.IOPS = new(12345.6)
	r.Environment.Emulated = true
	var b strings.Builder
	require.NoError(t, RunBaseline(&b, r, p))
	require.Contains(t, b.String(), "io-uring mailing list, Aug 2021")
	require.Regexp(t, `run 1 +3111520 +3417120 +\+9\.8% +12346`, b.String())
	require.Contains(t, b.String(), "EMULATED")

	p, err = jobs.Baseline("series-2021b")
	require.NoError(t, err)
	b.Reset()
	require.NoError(t, RunBaseline(&b, &jobs.Result{}, p))
	require.Regexp(t, `run 3 +250806 +251794 +\+0\.4%`, b.String())
	_, err = jobs.Baseline("x")
	require.ErrorContains(t, err, "series-2021b")
}
