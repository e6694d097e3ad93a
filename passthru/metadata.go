package passthru

import (
	"github.com/nvmepass/nvmepass/fixedbuf"
	"github.com/nvmepass/nvmepass/nvme"
)

// metadataAddr is the address of a slot's metadata buffer for cmd, in pages
// that are the process's own where the drive is going to write; see
// fixedbuf.Arena.Dirty.
func metadataAddr(a *fixedbuf.Arena, slot int, cmd *nvme.Command) uint64 {
	if !cmd.IsWrite() {
		a.Dirty(slot, int(cmd.MetadataLen))
	}
	return a.Addr(slot)
}
