package sweep

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/nvmepass/nvmepass/internal/blockio"
	"github.com/nvmepass/nvmepass/passthru"
)

// Limits say up to which size one read is one command.
type Limits struct {
	// OneCommand is the most bytes of data that one NVMe command moves here: the
	// smaller of MDTS and max_hw_sectors. 0 is no limit.
	OneCommand uint64 `json:"one_command_bytes"`
	// MDTS and MaxHWSectors are what OneCommand comes from; 0 is no limit or
	// not known.
	MDTS         uint64 `json:"mdts_bytes"`
	MaxHWSectors uint64 `json:"max_hw_sectors_bytes"`
	// MaxSectors is the block layer's own limit (max_sectors_kb), which an
	// administrator can lower; 0 is not known.
	MaxSectors uint64 `json:"max_sectors_bytes"`
	// Chunk is what reads on the block node are split at the multiples of
	// (chunk_sectors, from NOIOB); 0 is nowhere.
	Chunk uint64 `json:"chunk_bytes"`
	// Unsplit is the longest read in bytes that the block layer sends in one
	// piece however its memory lies; 0 is no limit.
	Unsplit uint64 `json:"unsplit_bytes"`
}

// findLimits asks the device and, for what it does not tell, sysfs: dir is the
// folder queue/ of the block node.
func findLimits(l passthru.Limits, dir string) Limits {
	out := Limits{OneCommand: l.MaxTransfer, MDTS: l.MDTS, MaxHWSectors: l.MaxHWSectors}
	out.MaxSectors = attribute(dir, "max_sectors_kb") * 1024
	out.Chunk = attribute(dir, "chunk_sectors") * 512
	most := blockio.Unsplit(l)
	if out.MaxSectors > 0 {
		most = min(most, out.MaxSectors)
	}
	if most < 1<<63 {
		out.Unsplit = most
	}
	return out
}

// queueDir is the folder with a block node's limits.
func queueDir(blockNode string) string {
	return filepath.Join("/sys/class/block", filepath.Base(blockNode), "queue")
}

func attribute(dir, name string) uint64 {
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return 0
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 40)
	if err != nil {
		return 0
	}
	return n
}

// MaySplit tells whether the block layer may split a read of n bytes at a
// multiple of n.
func (l *Limits) MaySplit(n int) bool {
	if n <= 0 {
		return false
	}
	return l.Unsplit > 0 && uint64(n) > l.Unsplit || l.Chunk > 0 && l.Chunk%uint64(n) != 0
}

// Pieces is the least number of commands that a read of n bytes takes through
// the block layer.
func (l *Limits) Pieces(n int) int {
	size := uint64(n)
	pieces := uint64(1)
	for _, most := range []uint64{l.OneCommand, l.MaxSectors} {
		if most > 0 {
			pieces = max(pieces, (size+most-1)/most)
		}
	}
	if l.Chunk > 0 && size > l.Chunk {
		pieces = max(pieces, (size+l.Chunk-1)/l.Chunk)
	}
	return int(pieces)
}
