package sysfs

import (
	"path/filepath"
	"time"
)

// defaultIOTimeout is the NVMe driver's limit for a command where sysfs does not
// tell it (NVME_IO_TIMEOUT, drivers/nvme/host/nvme.h).
const defaultIOTimeout = 30 * time.Second

// IOTimeout is the NVMe driver's own limit for an I/O command, after which it
// aborts it: nvme_core.io_timeout.
func (f FS) IOTimeout() time.Duration {
	n, ok := number(filepath.Join(f.Root, "module", "nvme_core", "parameters"), "io_timeout")
	if !ok || n <= 0 {
		return defaultIOTimeout
	}
	return time.Duration(n) * time.Second
}
