package passthru

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/uringcmd"
)

// TestConfigIsChecked before a device is touched, with field, value and limit.
func TestConfigIsChecked(t *testing.T) {
	for text, cfg := range map[string]Config{
		"Config.Workers -1: need 1 to 64":                             {Workers: -1},
		"Config.Workers 65: need 1 to 64":                             {Workers: maxWorkers + 1},
		"Config.Depth -1: need 1 to 32767":                            {Depth: -1},
		"Config.Depth 1000000000: need 1 to 32767":                    {Depth: 1e9},
		"Config.Depth 2: need 3 to 32765":                             {Depth: 2, Workers: 3},
		"Config.BufferSize -512 is negative":                          {BufferSize: -512},
		"time-out -1s: need 0":                                        {Timeout: -time.Second},
		"time-out 1µs: need 0":                                        {Timeout: time.Microsecond},
		"time-out 1200h0m0s: need 0":                                  {Timeout: 50 * 24 * time.Hour},
		"stall limit -1ns: need at least the time-out":                {StallLimit: -1},
		"stall limit 1s: need at least the time-out of a command, 2s": {StallLimit: time.Second, Timeout: 2 * time.Second},
	} {
		_, err := Open(os.DevNull, &cfg)
		require.ErrorContains(t, err, "open /dev/null: "+text)
	}
}

func TestConfigDefaults(t *testing.T) {
	c, err := Config{}.check()
	require.NoError(t, err)
	require.Equal(t, Config{Depth: DefaultDepth, Workers: 1, StallLimit: uringcmd.DefaultStallLimit}, c)
	c, err = Config{Timeout: 10 * time.Minute}.check()
	require.NoError(t, err)
	require.Equal(t, 10*time.Minute+stallSlack, c.StallLimit, "the driver's verdict comes first")
}
