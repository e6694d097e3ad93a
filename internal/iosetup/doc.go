// Package iosetup is how I/O is issued, as a user asks for it and as a record
// keeps it: path, queue depth and batch, batching rule, and the mode of the
// ring. Pure values that know no device.
//
// # Errors
//
// What cannot be used is a [*badflag.Error] that names the flag.
package iosetup
