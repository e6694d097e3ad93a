// Package blockio is the block path to the same namespace: io_uring reads and
// writes of /dev/nvmeXnY with O_DIRECT. It mirrors passthru.Queue call for
// call, so that a comparison of the two differs in the path alone.
//
// A Queue belongs to the goroutine that made it, as passthru.Queue does.
package blockio
