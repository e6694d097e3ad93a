package jobs

import (
	"fmt"
	"slices"

	"github.com/nvmepass/nvmepass/internal/workload"
)

// checkOldPolling refuses what can crash kernels before 6.6 where passthrough
// polls. Those keep the bio that they poll through in the same word as the
// callback of a completion that was not found by polling (cookie and
// task_work_cb of struct io_uring_cmd), and call bio_poll on the latter. Linux
// 6.1.192 was seen to panic there within seconds of
//
//   - several rings that poll one drive, of which one finds the others'
//     completions;
//   - commands without data, which have no bio and complete by interrupt.
//
// Later kernels poll through the request.
func checkOldPolling(c *Config, devs []Namespace, release string) error {
	var major, minor int
	if _, err := fmt.Sscanf(release, "%d.%d", &major, &minor); err != nil || major > 6 || major == 6 && minor >= 6 {
		return nil
	}
	if !c.Path.Polled() || !c.Path.Passthru() {
		return nil
	}
	if c.RW == workload.Zeroes || c.RW == workload.RandZeroes {
		return fmt.Errorf("--rw %s on %s: on kernel %s, polling for commands without data by passthrough can crash the kernel; use --path passthru, or Linux 6.6 or later", c.RW, c.Path, release)
	}
	rings := map[string]int{}
	for job := range c.Jobs {
		var controllers []string
		for _, i := range c.drives(job) {
			id := devs[i].Controller()
			if name := fmt.Sprintf("%s/%d", id.SN, id.CNTLID); !slices.Contains(controllers, name) {
				controllers = append(controllers, name)
			}
		}
		for _, name := range controllers {
			if rings[name]++; rings[name] > 1 {
				return fmt.Errorf("%s with %d jobs: on kernel %s, several rings that poll one drive by passthrough can crash the kernel; use one job per drive, --path block-poll, or Linux 6.6 or later", c.Path, c.Jobs, release)
			}
		}
	}
	return nil
}
