// Package nvme is the wire layer: it builds NVMe commands, and decodes
// statuses, Identify data structures and log pages. It makes no system call,
// knows no device and uses no unsafe code.
//
//	c, err := nvme.NewRead(nsid, layout, slba, nlb, nvme.IOOptions{})
//
// # Lengths
//
// One number of logical blocks and one [Layout] yield the zero-based NLB
// field, the data length and the metadata length of a command. Nothing below
// this package compares them: neither Linux nor many a drive does, and a drive
// that transfers more than the buffer holds overwrites memory. Commands that
// are made or changed by hand go through [Check].
//
// # Byte order
//
// [Command] is in the byte order of the host, because the driver converts it
// when it fills the submission queue entry. Everything else, from Identify to
// the ranges of dataset management, is little-endian on every host and
// decoded as such; identifiers (EUI64, NGUID, UUID) are byte strings, and
// protection information is big-endian.
//
// # Errors
//
// [CommandError] says why a command was not built; [StatusError] what a
// controller answered; [SizeError] that a buffer is too short. A [Code] is an
// error value to compare with:
//
//	if errors.Is(err, nvme.LBAOutOfRange) { ... }
//
// Decoders take any bytes and never panic.
//
// # Threading
//
// All types are plain values. Functions may be called from any goroutine, as
// long as nobody changes their arguments meanwhile. Builders do not allocate
// unless they fail.
//
// # Sources
//
// NVM Express base specification 2.2, NVM, zoned namespace and key value
// command set specifications; linux/nvme_ioctl.h for the command structure.
package nvme
