package blockio

import (
	"fmt"

	"github.com/nvmepass/nvmepass/internal/sys"
)

// SplitPolled returns nil if polled reads that the block layer splits are known
// to complete on the running kernel; see NewSplitQueue.
func SplitPolled() error { return splitPolledOn(sys.KernelRelease()) }

// splitPolledOn goes by the releases on which it was tried, with fixed and with
// plain buffers, one and four reads in flight: 6.12.117 and 7.3.4 complete
// them, by interrupt and slowly; on 6.1.176 none ever completes.
func splitPolledOn(release string) error {
	var major, minor int
	if _, err := fmt.Sscanf(release, "%d.%d", &major, &minor); err == nil && (major > 6 || major == 6 && minor >= 12) {
		return nil
	}
	return fmt.Errorf("a polled read that the block layer splits may never complete on Linux %s: it does not on 6.1, and does from 6.12 on", release)
}
