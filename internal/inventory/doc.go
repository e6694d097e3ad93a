// Package inventory tells what NVMe devices a machine has and what a user of
// passthrough must know of them: every controller and namespace, from sysfs and
// from Identify. It only reads.
//
// [Source.List] is the short form, [Source.Describe] the long one of one device,
// [Source.ReadHealth] the SMART log.
//
// What may not be read stays empty and a note says why: ordinary users see what
// sysfs shows everybody.
//
// # Threading
//
// A Source may be used by several goroutines; what it returns is the caller's.
//
// # Errors
//
// Only a device that cannot be named is an error; it says which could be used
// instead.
package inventory
