package passthru

import (
	"fmt"
	"sync/atomic"

	"github.com/nvmepass/nvmepass/internal/sys"
	"github.com/nvmepass/nvmepass/nvme"
)

// Kernels before 6.6 can crash in bio_poll where passthrough polls for a command
// without data, or where several rings poll one drive: they keep the bio that
// they poll through in one word with the callback of a completion that was not
// found by polling (cookie and task_work_cb of struct io_uring_cmd). Seen on
// 6.1.176; later kernels poll through the request.
func pollsAnything(release string) bool { return kernelAtLeast(release, 6, 6) }

// running is the kernel's release; tests replace it.
var running = sys.KernelRelease

// fragile counts the queues of this process that poll on such a kernel: it
// crashes as well when a process dies with polled commands in flight, in
// io_ring_exit_work (seen on 6.1.176; block-poll is not hit).
var fragile atomic.Int32

// ExitCrashesKernel tells whether this process has queues open that poll on a
// kernel that crashes when a process ends with polled commands in flight
// (before Linux 6.6). A program that ends on a signal closes them first; SIGKILL
// it cannot hold off.
func ExitCrashesKernel() bool { return fragile.Load() > 0 }

// checkPolled refuses what a polled queue must not send on such a kernel.
func (q *Queue) checkPolled(cmd *nvme.Command) error {
	if !q.onlyData || cmd.DataLen != 0 {
		return nil
	}
	return fmt.Errorf("%s: polling for a command without data can crash kernel %s: send it by a queue without Poll: %w",
		cmd.Opcode.Name(q.dev.set), running(), &UnsupportedError{Feature: "polling for commands without data", MinimumKernel: "6.6"})
}

// checkWorkers refuses several polling workers on such a kernel.
func checkWorkers(cfg *Config) error {
	if !cfg.Poll || cfg.Workers < 2 || pollsAnything(running()) {
		return nil
	}
	return fmt.Errorf("Config.Workers %d with Config.Poll: several rings that poll one drive can crash kernel %s: use 1: %w",
		cfg.Workers, running(), &UnsupportedError{Feature: "polling one drive by several rings", MinimumKernel: "6.6"})
}
