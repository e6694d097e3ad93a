// Package workload drives a queue: it chooses addresses, keeps the queue as
// full as asked, and accounts for what came back. One run loop serves every
// path, so that a comparison of paths compares nothing else.
//
// # Threading
//
// Run works on the calling goroutine, which must own the queue.
//
// # Accounting
//
// Every command is counted once when it is published and once when it ends, as
// ok, failed or cancelled. Rates are to be taken from Window alone: counts and
// time of it come from the same two moments.
//
// The loop allocates nothing per command and makes no call through an interface,
// no map look-up and no time stamp per command, but only per batch.
package workload
