// Package fixedbuf holds I/O memory that lives outside the Go heap: an arena of
// equal slots, each at a page boundary, and its registration with a ring as
// fixed buffers.
//
// Registered buffers spare the kernel from pinning and unpinning pages for each
// command. Kernels from 6.1 to 6.11 have a fault in that path for passthrough: a
// command shorter than its registered buffer, or a buffer of merged pages,
// fails with EINVAL. Distributions fixed it at different times, so Bind finds
// out by a real read instead of asking for a version, and falls back: first to
// one registration per slot, of exactly the slot's size, then to plain buffers.
//
// # Threading
//
// An Arena is plain memory: any goroutine may use a slot that it owns. Bind and
// Close call the ring and belong to the ring's owner.
//
// # Memory ownership
//
// A slot's bytes belong to the kernel from the publishing of a command until
// its completion. Close unmaps the arena; it must come after the ring is
// closed. Leak keeps it mapped for ever, for the case that the kernel still
// holds it.
//
// # Errors
//
// Errors name size and limit. That registration was impossible, for want of
// RLIMIT_MEMLOCK or by the kernel's fault, is no error of Bind: Buffers.Mode and
// Buffers.Reason tell. CheckGuards needs Config.Guard.
//
// # Kernel support
//
// Fixed buffers in passthrough need Linux 6.1; whole arenas need 6.12 or a
// kernel that has the fix of it.
package fixedbuf
