// Package uapi holds the kernel structures and constants that io_uring and the
// NVMe passthrough interface use, as plain data. Nothing here makes a system call.
//
// Every size and offset is asserted against the values of a C compiler in
// uapi_test.go; sizes are also asserted at compile time.
package uapi
