// Package passthru sends NVMe commands to a drive through the kernel's NVMe
// driver and io_uring: IORING_OP_URING_CMD on a namespace's generic node,
// /dev/ngXnY, without file system or block layer in between.
//
// Open a Device to learn what the namespace is and can do. A Queue is the
// fastest way to use it: a fixed number of slots, each with a page-aligned
// buffer of its own, commands submitted and reaped in batches by one owner.
//
// # Threading
//
// A Device may be used by any goroutine. A Queue belongs to the goroutine that
// made it, which stays locked to its OS thread until Queue.Close. Submit, Reap
// and Close from elsewhere return uringcmd.ErrWrongThread; the other methods do
// not look, and must not be called from elsewhere.
//
// # Memory ownership
//
// Queue.Buffer lies outside the Go heap. It belongs to the caller while the
// slot is free, and to the kernel and the drive from the publishing of the
// slot's command until its completion was reaped.
//
// # Errors
//
// Three kinds of failure never mix. Before a command is sent: *OpError,
// *nvme.CommandError and the errors of the packages below. The kernel refused
// it: *KernelError with the errno; ErrCancelled if the driver cancelled it (a
// reset, a removal, a time-out). The drive refused it: *nvme.StatusError, to be
// matched with the codes of package nvme, as in
// errors.Is(err, nvme.LBAOutOfRange).
//
// # Kernel support
//
//	passthrough by io_uring        5.19
//	polling, fixed buffers         6.1
//	without CAP_SYS_ADMIN          6.2, if the node's mode and the drive's
//	                               effects log allow the command
package passthru
