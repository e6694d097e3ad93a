// Package passthru sends NVMe commands to a drive through the kernel's NVMe
// driver and io_uring: IORING_OP_URING_CMD on a namespace's generic node,
// /dev/ngXnY, without file system or block layer in between.
//
// A Device is a namespace for any number of goroutines: an io.ReaderAt and
// io.WriterAt of any length, any command by Do, with contexts. A Queue is the
// fastest way for a single owner: a fixed number of slots, each with a
// page-aligned buffer of its own, commands submitted and reaped in batches. A
// Controller takes admin commands.
//
// # Threading
//
// A Device and a Controller may be used by any goroutine. The Device's first
// command starts its engine: Config.Workers threads, each with a ring of its
// own, which carry the commands of all goroutines, many in one system call when
// many wait. Where io_uring is not available, the first command fails with
// uringcmd.ErrDisabled, or with Config.AllowIoctl commands go through
// synchronous ioctls.
//
// A Queue belongs to the goroutine that made it, which stays locked to its OS
// thread until Queue.Close. Submit, Reap and Close from elsewhere return
// uringcmd.ErrWrongThread; the other methods do not look, and must not be
// called from elsewhere.
//
// # Memory ownership
//
// A Device copies between the caller's memory and its own, which lies outside
// the Go heap: what a method was given may be any memory, and is not touched
// any more once the method has returned, also if it returned early because its
// context was done. The command then goes on with the Device's memory, which
// comes back to it when the command has ended.
//
// Queue.Buffer lies outside the Go heap. It belongs to the caller while the
// slot is free, and to the kernel and the drive from the publishing of the
// slot's command until its completion was reaped.
//
// Close waits for commands in flight. If some do not come back, their memory
// stays mapped on purpose, and the error says so.
//
// # Errors
//
// Three kinds of failure never mix. Before a command is sent: *OpError,
// *nvme.CommandError and the errors of the packages below. The kernel refused
// it: *KernelError with the errno, in a *PermissionError that names the rule if
// it is one of permission; ErrCancelled if the driver cancelled it (a reset, a
// removal, a time-out). The drive refused it: *nvme.StatusError, to be matched
// with the codes of package nvme, as in errors.Is(err, nvme.LBAOutOfRange).
// What the running kernel lacks is ErrNotSupported, with the version that has
// it in an *UnsupportedError.
//
// After a failure of a ring itself the Device is broken for good: every later
// command returns that failure.
//
// # Kernel support
//
//	generic nodes                  5.13
//	passthrough by io_uring        5.19
//	polling, fixed buffers         6.1
//	without CAP_SYS_ADMIN          6.2, if the node's mode and the drive's
//	                               effects log allow the command
package passthru
