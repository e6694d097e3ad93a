// Package iopoll is about waiting for completions: by interrupt, or by polling.
//
// Polling needs queues that the driver made for it (nvme.poll_queues). Find
// looks for them in sysfs, and Support.Check refuses with the exact remedy.
//
// # Threading
//
// Support is a plain value. A Waiter belongs to the owner of its ring.
//
// # Errors
//
// ErrNoPollQueues is found with errors.Is.
//
// # Kernel support
//
// Polled passthrough needs Linux 6.1. Without poll queues a polled ring fails
// each command with EOPNOTSUPP or, on some kernels, quietly runs on interrupts
// while a CPU spins.
package iopoll
