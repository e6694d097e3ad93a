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
// A queue of depth D costs D buffers of the block size, 64 or 128 bytes of
// submission and 32 or 64 bytes of completion entries each (the latter of each
// pair on passthrough paths), and about 200 bytes of bookkeeping per slot; with
// latencies, about 230 KiB for each direction and device. See docs of package
// passthru for metadata and vectors.
package jobs
