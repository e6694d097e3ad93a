// Package workload drives a queue: it chooses addresses, keeps the queue as
// full as asked, and accounts for what came back. One run loop serves every
// path, so that a comparison of paths compares nothing else.
//
// # Threading
//
// Run and RunLed work on the calling goroutine, which must own the queue. A
// Control and a Meter may be used by any goroutine: the loop reads the Control's
// one word between two batches, and that is all a sample costs it.
//
// # Accounting
//
// Every command is counted once when it is published and once when it ends, as
// ok, failed or cancelled; where several devices share the queue or reads and
// writes mix, by device and direction as well. Rates are to be taken from Window
// alone: counts and time of it come from the same two moments.
//
// The loop allocates nothing per command and makes no call through an interface,
// no map look-up and no time stamp per command, but only per batch. Patterns of
// other commands than reads and writes call Config.Build for each.
//
// # Rates
//
// With a rate, commands are due at times that do not depend on the drive, and
// latencies count from those: a drive that stalls is charged for all that would
// have been sent meanwhile. The last half millisecond before a command is due is
// spent spinning, as is all time with commands in flight, so that neither start
// nor end is noticed late; CPU time per I/O then says little.
package workload
