package faults

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/ioqueue"
	"github.com/nvmepass/nvmepass/internal/iosetup"
	"github.com/nvmepass/nvmepass/internal/report"
	"github.com/nvmepass/nvmepass/internal/workload"
	"github.com/nvmepass/nvmepass/passthru"
	"github.com/nvmepass/nvmepass/uringcmd"
)

// opened opens a node for writing until the case ends.
func opened(t *testing.T, node string, cfg passthru.Config) *passthru.Device {
	t.Helper()
	cfg.Writable = true
	d, err := passthru.Open(node, &cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return d
}

// usable requires that a drive takes commands at once, and counts them.
func usable(t *testing.T, node string) Outcome {
	t.Helper()
	d, err := passthru.Open(node, &passthru.Config{Writable: true, Depth: 4, BufferSize: loadBlock})
	require.NoError(t, err)
	_, err = d.ReadAt(make([]byte, 16*loadBlock), 0)
	require.NoError(t, err)
	require.NoError(t, d.Flush(t.Context()))
	require.NoError(t, d.Close())
	return Outcome{Issued: 17, OK: 17} // sixteen reads and the flush
}

// awaitRing waits until nvmepass has a ring mapped, so that it does I/O from now on.
func awaitRing(t *testing.T, p *Tool) {
	t.Helper()
	require.Eventually(t, func() bool {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", p.PID()))
		return err == nil && strings.Contains(string(b), "io_uring")
	}, 20*time.Second, 10*time.Millisecond, "no ring")
}

// member is one member of a JSON object, nil if it is not there.
func member(t *testing.T, text, name string) any {
	t.Helper()
	var m map[string]any
	require.NoError(t, json.Unmarshal([]byte(text), &m), text)
	return m[name]
}

// requireNoResult requires that a command printed nothing but, for who asked for
// JSON, that it failed.
func requireNoResult(t *testing.T, run ToolRun) {
	t.Helper()
	if run.Stdout != "" {
		require.Equal(t, report.FailureSchema, member(t, run.Stdout, "schema"), run.Stdout)
		require.EqualValues(t, run.Exit, member(t, run.Stdout, "exit_code"), run.Stdout)
	}
}

// countsOf are a run's.
func countsOf(c workload.Counts) Outcome {
	return Outcome{Issued: c.Issued, OK: c.OK, Failed: c.Failed, Cancelled: c.Cancelled}
}

// readQueue reads at random through a queue of the calling thread, and holds the
// ring's books against the run's: nothing lost, nothing double, nothing foreign.
func readQueue(t *testing.T, d *passthru.Device, c ioqueue.Config, run workload.Config) (Outcome, uringcmd.Stats) {
	t.Helper()
	c.Mode = iosetup.DefaultMode()
	q, err := ioqueue.Open([]*passthru.Device{d}, c)
	require.NoError(t, err)
	before := q.Stats() // of the reads that proved the buffers
	run.Rule, run.Pattern, run.Blocks, run.NLB = iosetup.RuleFio, workload.RandRead, d.Limits().Blocks, 1
	res, err := workload.Run(t.Context(), q, run)
	require.NoError(t, err)
	s := q.Stats()
	require.NoError(t, q.Close())
	require.Positive(t, res.Total.OK)
	require.Zero(t, res.Total.Failed+res.Total.Cancelled, "%v", res.Errors)
	require.Equal(t, res.Total.Issued, s.Submitted-before.Submitted)
	require.Equal(t, res.Total.OK, s.Reaped-before.Reaped)
	require.Zero(t, s.Stale+uint64(s.Overflow)+uint64(s.Dropped), "%+v", s)
	return countsOf(res.Total), s
}
