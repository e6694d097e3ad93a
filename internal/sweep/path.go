package sweep

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nvmepass/nvmepass/internal/badflag"
	"github.com/nvmepass/nvmepass/internal/iosetup"
)

// Path is a way to read the drive: one of iosetup's, through a ring, or one of
// the two synchronous ones.
type Path string

// The paths, in the order of the default table.
const (
	Block        = Path(iosetup.Block)
	Passthru     = Path(iosetup.Passthru)
	PassthruPoll = Path(iosetup.PassthruPoll)
	BlockPoll    = Path(iosetup.BlockPoll)
	// SyncPoll is preadv2 with RWF_HIPRI on the block node, with O_DIRECT.
	SyncPoll Path = "sync-poll"
	// Sync is preadv2 without it.
	Sync Path = "sync"
)

// AllPaths returns all paths in the order of the default table.
func AllPaths() []Path { return []Path{Block, Passthru, PassthruPoll, BlockPoll, SyncPoll, Sync} }

// RingPaths are those that have more than one read in flight.
func RingPaths() []Path { return AllPaths()[:4] }

// Synchronous tells whether the path does one read after another.
func (p Path) Synchronous() bool { return p == SyncPoll || p == Sync }

// Ring is the path as a ring knows it. It means nothing of a synchronous one.
func (p Path) Ring() iosetup.Path { return iosetup.Path(p) }

// Passthru tells whether the path sends NVMe commands itself.
func (p Path) Passthru() bool { return p.Ring().Passthru() }

// PolledRing tells whether the path is a ring that polls.
func (p Path) PolledRing() bool { return p.Ring().Polled() }

// ParsePaths reads a comma-separated list, keeping its order. Errors are
// [*badflag.Error].
func ParsePaths(list string) ([]Path, error) {
	var paths []Path
	for name := range strings.SplitSeq(list, ",") {
		paths = append(paths, Path(strings.TrimSpace(name)))
	}
	return paths, validatePaths(paths)
}

func validatePaths(paths []Path) error {
	known := make([]string, 0, 6)
	for _, p := range AllPaths() {
		known = append(known, string(p))
	}
	remedy := "give any of " + strings.Join(known, ",")
	if len(paths) == 0 {
		return &badflag.Error{Flag: "--paths", Problem: "at least 1 path is needed", Remedy: remedy}
	}
	for i, p := range paths {
		if !slices.Contains(AllPaths(), p) {
			return &badflag.Error{Flag: "--paths", Value: fmt.Sprintf("%q", p), Problem: "no such path", Remedy: remedy}
		}
		if slices.Contains(paths[:i], p) {
			return &badflag.Error{Flag: "--paths", Value: string(p), Problem: "a path may be given only once", Remedy: "remove the second " + string(p)}
		}
	}
	return nil
}
