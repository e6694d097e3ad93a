package passthru

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/sysfs"
	"github.com/nvmepass/nvmepass/uringcmd"
)

// TestDriverAnswers: the driver's verdict takes two time-outs, its own where the
// caller names none.
func TestDriverAnswers(t *testing.T) {
	own := sysfs.System.IOTimeout()
	require.Equal(t, 2*own <= uringcmd.DefaultStallLimit, driverAnswers(0, uringcmd.DefaultStallLimit))
	require.True(t, driverAnswers(0, 2*own))
	require.False(t, driverAnswers(0, 2*own-1))
	require.True(t, driverAnswers(time.Second, 2*time.Second))
	require.False(t, driverAnswers(time.Second, 2*time.Second-1))
}
