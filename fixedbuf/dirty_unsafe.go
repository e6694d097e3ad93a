package fixedbuf

import (
	"sync/atomic"
	"unsafe"

	"github.com/nvmepass/nvmepass/internal/sys"
)

// Dirty writes to each page of the first n bytes of a slot, bounded by the
// slot, and changes no byte. Call it before a command that makes the kernel
// store into them through pages that it pinned as if only to read from: Linux
// 6.12.92 and later 6.12, and 6.13 to 6.15.2, do so with the metadata of
// passthrough reads (blk_rq_integrity_map_user in block/blk-integrity.c takes
// the directions for each other). What was never written to is backed by the
// page of zeros that all processes share, and the drive's data would go there.
// A slot that does not exist is left alone. The slot has to be the caller's.
func (a *Arena) Dirty(slot, n int) {
	if a.closed || uint(slot) >= uint(a.slots) {
		return
	}
	start := a.offset(slot)
	for at := start; at < start+min(n, a.slotSize); at += sys.PageSize() {
		// Slots begin at page boundaries. Adding 0 is a store that the
		// compiler does not leave out, and no race with a neighbour.
		atomic.AddUint32((*uint32)(unsafe.Pointer(&a.mem[at])), 0)
	}
}
