package passthru

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/fixedbuf"
	"github.com/nvmepass/nvmepass/internal/ringtest"
	"github.com/nvmepass/nvmepass/internal/uapi"
)

// TestVectorsInFixedBuffers are not tried on kernels that forget the request of a
// command that they refuse.
func TestVectorsInFixedBuffers(t *testing.T) {
	defer func(f func() string) { running = f }(running)
	for _, c := range []struct {
		release  string
		vectored bool
		fixed    bool
	}{
		{"6.1.0-50-cloud-amd64", true, false},
		{"6.15.9", true, false},
		{"6.16.1", true, true},
		{"6.1.0-50-cloud-amd64", false, true},
	} {
		running = func() string { return c.release }
		k := &ringtest.Kernel{}
		d := nullDevice(lba512)
		d.kernel = k
		q, err := d.NewQueue(QueueConfig{Depth: 2, Vectored: c.vectored})
		require.NoError(t, err)
		require.NotEmpty(t, k.Consumed)
		for _, e := range k.Consumed {
			require.Equal(t, c.fixed, e.SQE().OpFlags&uapi.URingCmdFixed != 0, "%+v", c)
		}
		s := q.Settings()
		require.Equal(t, c.fixed, s.FixedBuffers != fixedbuf.Plain, "%+v", c)
		require.Equal(t, c.vectored && !c.fixed, s.FixedReason == noFixedVectors)
		require.NoError(t, q.Close())
	}
}
