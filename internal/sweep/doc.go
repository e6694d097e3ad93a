// Package sweep measures the bandwidth of random reads by block size, below and
// above the size that one NVMe command can move, over several paths to the same
// drive: io_uring and passthrough, polled and by interrupt, and synchronous reads.
//
// # Method
//
// Every block size on every path is a cell; cells run in interleaved rounds (see
// package trial). A cell that cannot run says why, such as passthrough above the
// limit of one command, which the kernel never splits.
//
// A cliff is a size at which a path moves much less than at a smaller one; the
// result names the likely cause.
//
// # Threading
//
// A Set runs each cell on an OS thread of its own. Everything else is plain
// values.
//
// # Errors
//
// A wrong configuration gives one badflag.Error per wrong setting.
package sweep
