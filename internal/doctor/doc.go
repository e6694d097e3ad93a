// Package doctor looks for everything that stands between a user and a valid
// polled passthrough run: the kernel and its known faults, io_uring, nodes and
// rights, poll queues, settings of queues, processors and links that distort
// figures, and the drive's health.
//
// It changes nothing. [Run] makes findings; each has an ID that stays the same
// from version to version, what was found and where, why it matters, and the
// commands that change it and change it back.
//
// # Severity
//
// A problem makes a polled passthrough run impossible; a warning means that
// figures are likely wrong or that the machine may misbehave; a note is worth
// knowing beside the figures; ok is what is as it should be.
//
// # Threading
//
// Run may be called from any goroutine.
package doctor
