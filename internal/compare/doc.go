// Package compare measures how the four ways to read an NVMe drive through io_uring compare: the block device and NVMe
// passthrough, each waiting for interrupts or polling. It plans the matrix of cells, runs them interleaved, and turns the
// rounds into medians, intervals and ratios. It knows no device: the caller supplies the function that runs one cell.
//
// # Method
//
// Every round runs every cell (device, path, depth) once, in an order shuffled anew for each round from a seed, so that drift
// of the drive's temperature or the processor's clock hits all paths alike. A cell's figure is the median over rounds, with
// the 95 % interval of package stats. Ratios are taken between cells of the same round, device and depth.
//
// # Accounting
//
// Rates come from commands that ended well inside the measured window; nothing else counts. A sample must satisfy
// issued = ok + failed + cancelled over its whole run, warm-up and drain included. One that does not is
// recorded with that as its error and enters no median.
//
// Figures that cannot be had are null in JSON, never NaN and never a zero that looks measured.
//
// # Errors
//
// A wrong configuration gives one [*badflag.Error] per wrong setting. A cell that fails is an entry in the result, not an error
// of [Run]; Run returns an error only when it ends early, together with everything measured so far.
//
// # Threading
//
// Run calls its functions from the calling goroutine, one at a time. All other functions and types are plain values.
package compare
