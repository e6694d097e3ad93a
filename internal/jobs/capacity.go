package jobs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/nvmepass/nvmepass/internal/sysfs"
)

// hardware is what a namespace's queues hold. Numbers are 0 where sysfs does
// not tell.
type hardware struct {
	queues   int // hardware queues of all types
	requests int // of each
	polled   int // poll queues, -1 if not known
}

// readHardware asks sysfs about the queues below a block node.
func readHardware(block string, polled int) hardware {
	h := hardware{polled: polled}
	if block == "" {
		return h
	}
	node, err := sysfs.System.Identify(block)
	if err != nil {
		return h
	}
	pair := sysfs.Pair{Block: block, BlockDir: node.Dir}
	h.requests = pair.Limits().NrRequests
	h.queues = countQueues(pair)
	return h
}

// countQueues counts hardware queues; with native multipath those of the first
// path that has any.
func countQueues(p sysfs.Pair) int {
	nsid, _ := os.ReadFile(filepath.Join(p.BlockDir, "nsid"))
	dirs := []string{p.BlockDir}
	for _, ctrl := range p.Controllers() {
		below, _ := filepath.Glob(filepath.Join(ctrl, "nvme*"))
		for _, dir := range below {
			if b, err := os.ReadFile(filepath.Join(dir, "nsid")); err == nil && strings.TrimSpace(string(b)) == strings.TrimSpace(string(nsid)) {
				dirs = append(dirs, dir)
			}
		}
	}
	for _, dir := range dirs {
		if entries, err := os.ReadDir(filepath.Join(dir, "mq")); err == nil && len(entries) > 0 {
			return len(entries)
		}
	}
	return 0
}

// warnings say where what is asked of a device is more than its queues serve:
// rings jobs, and depth commands in flight of them all.
func (h hardware) warnings(device string, polled bool, rings, depth int) (out []string) {
	queues := h.queues
	if h.polled > 0 && queues > h.polled {
		if queues -= h.polled; polled {
			queues = h.polled
		}
	}
	if polled && h.polled > 0 && rings > h.polled {
		out = append(out, fmt.Sprintf("%d jobs poll %s, which has %s: jobs that share a queue poll for each other's commands; boot with nvme.poll_queues=%d or use --numjobs",
			rings, device, plural(h.polled, "poll queue"), rings))
	}
	switch {
	case h.requests == 0 || queues == 0:
	case depth > queues*h.requests:
		out = append(out, fmt.Sprintf("%d commands in flight are asked of %s, which has %s for %d each: the rest waits in the kernel; use a lower --qd", depth, device, plural(queues, "queue"), h.requests))
	case rings > 0 && depth/rings > h.requests:
		out = append(out, fmt.Sprintf("one job asks %d commands in flight of %s, and a queue holds %d: the rest waits in the kernel; use a lower --qd and more --numjobs", depth/rings, device, h.requests))
	}
	return out
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
