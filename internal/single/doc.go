// Package single is one NVMe command as a user asks for it by name: it turns
// options into a [Request], takes the data that goes with it from files and
// pipes, encodes and decodes it for people, and renders what came of it.
//
// A [Verb] is one subcommand of nvmepass io or nvmepass admin. Prepare needs no
// device: a [Target] says what the command is for, and may come from a device or
// from options. Sending is the caller's.
//
// # Errors
//
// Options that cannot be used are *badflag.Error, commands that disagree with
// the target are *nvme.CommandError. Nothing was sent then.
//
// # Threading
//
// Values of this package belong to one goroutine.
package single
