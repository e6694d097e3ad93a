// Package faults is the fault laboratory: cases in which the drive, the kernel
// or the user misbehaves, each with what must happen then and within what time.
//
// A case runs in a guest of the lab, in a process of its own: `go run
// ./test/faults/run` builds this package's test binary, boots every shape of
// guest that the cases ask for, on the oldest and on the newest kernel, and
// writes docs/reliability.md from what it saw. For each case, the binary in the
// guest starts itself again, holds that process to the case's bound, and looks
// at what it left behind.
package faults
