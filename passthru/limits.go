package passthru

import (
	"github.com/nvmepass/nvmepass/internal/sys"
	"github.com/nvmepass/nvmepass/internal/sysfs"
	"github.com/nvmepass/nvmepass/nvme"
)

// MaxMetadata is the most separate metadata in bytes that this package lets one
// command move. Linux 6.8 to 6.14, 6.12 as of 6.12.117 among them, crash at the
// completion of a read by io_uring whose metadata lies in four pages or more:
// bio_integrity_alloc rounds the number of vectors, pages and bounce buffer, up
// from 5 to 16, and bio_integrity_uncopy_user unpins as many. Three pages make
// four vectors, which are not rounded, but only if they begin at a page
// boundary, as the slots of an arena do. A crash cannot be probed for, and
// distributions move such code, so that the limit holds on every kernel.
const MaxMetadata = 3 * 4096

// blocksPerCommand is the most blocks in one command of a layout as the host
// sees it.
func blocksPerCommand(host nvme.Layout, maxTransfer uint64) uint32 {
	n := host.BlocksPerCommand(maxTransfer)
	if per := host.MetadataLen(1); per > 0 {
		n = uint32(min(uint64(n), MaxMetadata/per))
	}
	return n
}

// Limits are what one command must keep to. Passthrough is never split by the
// kernel: a command above a limit fails.
type Limits struct {
	// Blocks is the size of the namespace in logical blocks.
	Blocks uint64
	// MaxTransfer is the most bytes of data in one command: the smaller of
	// MDTS and MaxHWSectors. 0 means no limit.
	MaxTransfer uint64
	// MaxBlocks is the most logical blocks in one command of a Queue, where
	// PRACT spares the transfer of protection information; 0 if not even one
	// fits MaxTransfer.
	MaxBlocks uint32
	// MaxAppend is the most bytes of data in one zone append (ZASL), 0 if
	// MaxTransfer alone limits it or the namespace is not zoned.
	MaxAppend uint64
	// MDTS is the controller's limit in bytes, 0 for none. The controller's
	// minimum page size is taken as 4 KiB: it is in a register that user
	// space cannot read.
	MDTS uint64
	// MaxHWSectors is the kernel's limit in bytes (queue/max_hw_sectors_kb),
	// 0 if not known. It may be lower than MDTS, for example behind an IOMMU.
	MaxHWSectors uint64
	// MaxSegments is the most scattered pieces of memory in one command, 0 if
	// not known. A buffer of base pages is sure to fit only up to that many
	// pages; above it depends on how the kernel placed them.
	MaxSegments int
}

func findLimits(ctrl *nvme.IdentifyController, ns *nvme.IdentifyNamespace, layout nvme.Layout, q sysfs.QueueLimits) Limits {
	l := Limits{
		Blocks:       ns.NSZE,
		MDTS:         ctrl.MaxDataTransfer(0),
		MaxHWSectors: q.MaxHWSectorsBytes,
		MaxSegments:  q.MaxSegments,
	}
	l.MaxTransfer = l.MDTS
	if l.MaxHWSectors != 0 && (l.MaxTransfer == 0 || l.MaxHWSectors < l.MaxTransfer) {
		l.MaxTransfer = l.MaxHWSectors
	}
	l.MaxBlocks = blocksPerCommand(layout.UnderPRACT(), l.MaxTransfer)
	return l
}

// sureBytes is the longest transfer from base pages that fits for sure.
func (l Limits) sureBytes() uint64 {
	if l.MaxSegments <= 0 {
		return l.MaxTransfer
	}
	return uint64(l.MaxSegments) * uint64(sys.PageSize())
}
