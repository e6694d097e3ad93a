package sweep

import (
	"fmt"

	"github.com/nvmepass/nvmepass/internal/trial"
	"github.com/nvmepass/nvmepass/internal/units"
)

// CliffShare is the share of the best bandwidth at any smaller size below which
// a larger one is called a cliff, if the intervals of the two are apart as well.
const CliffShare = 0.75

// Cliff is a size at which a path moves much less than at a smaller one.
type Cliff struct {
	// BestSize is the smaller size that did best, in bytes.
	BestSize int `json:"best_block_size_bytes"`
	// Ratio is the bandwidth here divided by the one there.
	Ratio float64 `json:"ratio"`
	// Cause is the likely one.
	Cause string `json:"cause"`
}

// findCliffs marks the cells of one path.
func (r *Result) findCliffs(p Path) {
	var best *CellResult
	for _, size := range r.Config.Sizes {
		c := r.Cell(Cell{size, p})
		if c == nil || c.BytesPerSecond.Median == nil {
			continue
		}
		if best != nil && fell(best, c) {
			c.Cliff = &Cliff{BestSize: best.BlockSize, Ratio: *c.BytesPerSecond.Median / *best.BytesPerSecond.Median, Cause: r.cause(best, c)}
		}
		if best == nil || *c.BytesPerSecond.Median > *best.BytesPerSecond.Median {
			best = c
		}
	}
}

// fell tells whether c is a cliff after best. Without intervals nothing is.
func fell(best, c *CellResult) bool {
	b, e := best.BytesPerSecond, c.BytesPerSecond
	return b.CILow != nil && e.CIHigh != nil && *e.Median < CliffShare**b.Median && *e.CIHigh < *b.CILow
}

func (r *Result) cause(best, c *CellResult) string {
	was, is := trial.Effective(best.Rounds), trial.Effective(c.Rounds)
	split := r.Limits.MaySplit(c.BlockSize) && !r.Limits.MaySplit(best.BlockSize) && !c.Path.Passthru()
	switch {
	case was != nil && is != nil && was.FixedBuffers != is.FixedBuffers:
		return fmt.Sprintf("the ring could not use fixed buffers alike: %s at %s, %s here", was.FixedBuffers, units.FormatSize(int64(best.BlockSize)), is.FixedBuffers)
	case split && c.Path == BlockPoll:
		return "the read no longer fits one command: the block layer splits it and polls for no part of it, so that the ring spins until interrupts complete it"
	case split:
		return "the read no longer fits one command: the block layer splits it"
	case c.Commands > best.Commands:
		return fmt.Sprintf("more commands for each read, %d after %d", c.Commands, best.Commands)
	}
	return fmt.Sprintf("not the transfer limit, since reads of both sizes take as many commands (%d); look at the drive, its link and the machine's memory", c.Commands)
}
