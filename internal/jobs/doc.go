// Package jobs runs one workload as several jobs at once, each a ring on an OS
// thread of its own, on one or several devices; it samples them while they run,
// adds up what they did, and is the form in which that is recorded.
//
// # Threading
//
// Run returns when every job has ended. Its callback runs on one goroutine of
// its own making. Records are plain values.
//
// # Accounting
//
// All jobs begin and end their window by one control word. A device's or the
// total's rate is its commands that ended well over the time from the first
// job's begin to the last one's end, so that count and time belong together.
// Garbage is not collected while they run.
//
// # Memory
//
// What a job costs grows with its depth: for each command in flight a buffer of
// the block size, 96 bytes of ring (192 on passthrough paths, whose entries are
// twice as long; the completion queue has twice as many as the submission queue)
// and about 100 bytes of bookkeeping. Separate metadata adds its size, and
// vectors 4 KiB on passthrough paths. With latencies, each direction on each
// device of the job has a histogram of about 230 KiB. A run at depth 128 of
// 4 KiB commands peaks at 12 to 15 MiB of resident memory, program and all, in the lab.
package jobs
