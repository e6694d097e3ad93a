// Package trial repeats measurements: it runs a set of cells in interleaved,
// shuffled rounds, drives a queue for one of them, and turns the rounds into
// medians with intervals. What a cell is, and how a result looks as a whole, is
// the caller's: see packages nopbench and sweep.
//
// # Method
//
// Every round runs every cell once, in an order shuffled anew for each round
// from a seed, so that drift hits all cells alike. A figure is the median over
// rounds with the 95 % interval of package stats.
//
// # Accounting
//
// Rates come from commands that ended well inside the measured window. A sample
// whose counts do not add up is recorded with that as its error and enters no
// median.
//
// # Errors
//
// A cell that fails is an entry in the outcome, not an error of Task.Execute, which
// returns one only when it ends early, beside everything measured so far.
//
// # Threading
//
// Task.Execute calls its functions from the calling goroutine, one at a time. Measure
// works on the calling goroutine, which must own the queue; OnThread makes one.
package trial
