package passthru

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/nvmepass/nvmepass/internal/sysfs"
	"github.com/nvmepass/nvmepass/uringcmd"
)

// stallSlack is what a stall limit leaves the driver beyond a time-out.
const stallSlack = 15 * time.Second

// checkTimes returns the stall limit that goes with the time-out of commands:
// the driver's verdict has to come first.
func checkTimes(timeout, stall time.Duration) (time.Duration, error) {
	if timeout < 0 || timeout.Milliseconds() > math.MaxUint32 || timeout%time.Millisecond != 0 {
		return 0, fmt.Errorf("time-out %v: need 0 (the driver's own) to %d ms, in whole milliseconds", timeout, uint32(math.MaxUint32))
	}
	if stall < 0 || stall > 0 && stall < timeout {
		return 0, fmt.Errorf("stall limit %v: need at least the time-out of a command, %v, so that the driver's verdict comes first, or 0 for the default", stall, timeout)
	}
	if stall == 0 {
		stall = max(uringcmd.DefaultStallLimit, timeout+stallSlack)
	}
	return stall, nil
}

// driverAnswers tells whether the driver ends a command within a stall limit
// whatever the drive does: after its time-out (0 for its own) it aborts the
// command, and after another it resets the controller. An ioctl ends with that
// alone.
func driverAnswers(timeout, limit time.Duration) bool {
	if timeout == 0 {
		timeout = sysfs.System.IOTimeout()
	}
	return 2*timeout <= limit
}

// stop says whether and why a caller must not begin: its context is done, or
// there is none.
func stop(ctx context.Context) error {
	if ctx == nil {
		return errors.New("the context is nil: pass context.Background() if nothing is to end the wait early")
	}
	return ctx.Err()
}
