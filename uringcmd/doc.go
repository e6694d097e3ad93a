// Package uringcmd is an io_uring for commands that live in fixed slots: the
// shape of a queue in a storage engine. It knows the ring (128-byte submission
// entries, 32-byte completion entries, set-up flags, registration, waiting) and
// nothing of NVMe.
//
// A Ring has a number of slots, each with a submission entry of its own that
// keeps its content from command to command. A command is: change what differs
// in the slot's entry, Publish the slot, Submit, and Reap its Completion. One
// io_uring_enter serves a whole batch, and nothing is allocated on the way.
//
// # Threading
//
// A Ring is made by New on any thread and belongs to the OS thread that calls
// Enable until that thread calls Close. Enable locks the calling goroutine to
// its thread. Every method but New, the Register methods before Enable, and
// Stats belongs to the owner; a call from elsewhere that reaches the kernel is
// ErrWrongThread, never a hang.
//
// # Memory ownership
//
// Whatever a published entry points to must stay in place, outside the Go heap
// or pinned, until the command's Completion was reaped. Close drains the ring
// before anything is unmapped; if a command does not come back in time, Close
// leaves the ring's memory mapped on purpose and returns a *LeakError, and the
// caller must leave its buffers alone, too.
//
// # Errors
//
// ErrDisabled, ErrNotSupported, ErrWrongThread, ErrNotEnabled, ErrClosed,
// ErrSlotBusy and ErrStalled are found with errors.Is. A kernel errno stays
// reachable through errors.Is(err, syscall.EINVAL) and the like.
//
// # Kernel support
//
//	SQE128, CQE32, IORING_OP_URING_CMD   5.19   needed for Config.Big
//	R_DISABLED                           5.10   needed
//	SUBMIT_ALL                           5.18   used if there
//	registered ring descriptor           5.18   used if there
//	COOP_TASKRUN                         5.19   used if there
//	SINGLE_ISSUER                        6.0    used if there
//	DEFER_TASKRUN                        6.1    used if there
//	NO_SQARRAY                           6.6    only on demand
//	SQ_REWIND                            7.0    only on demand
package uringcmd
