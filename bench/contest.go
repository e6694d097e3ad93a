package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"time"
)

// contest runs the sides of each cell against each other.
type contest struct {
	cells, sides []string
	rounds       int
	seed         uint64
	run          func(ctx context.Context, cell, side string) (Sample, error)
}

// bout is one run of one side of one cell.
type bout struct {
	round      int // from 1
	cell, side int // indexes
}

// bouts is the order of all runs. A round runs each cell once, shuffled; the
// sides of a cell follow each other directly, because a ratio is made of
// neighbours. Their order rotates from round to round and is reversed in every
// other turn of the rotation, so that no side always comes first or always
// follows the same other one.
func (c *contest) bouts() []bout {
	var all []bout
	for round := range c.rounds {
		order := make([]int, len(c.sides))
		for i := range order {
			order[i] = (i + round) % len(order)
		}
		if len(order) > 2 && round/len(order)%2 == 1 {
			slices.Reverse(order)
		}
		rng := rand.New(rand.NewPCG(c.seed, uint64(round)))
		for _, cell := range rng.Perm(len(c.cells)) {
			for _, side := range order {
				all = append(all, bout{round: round + 1, cell: cell, side: side})
			}
		}
	}
	return all
}

// maxRepeats is how many failed runs a contest puts up with. On a busy machine a
// run may fail for want of processor time; what fails more often is broken.
const maxRepeats = 3

// hold runs the contest. A run that fails is repeated at once, and repeated says
// so; more than maxRepeats of them end the contest, because figures with holes
// in them prove nothing. progress receives a line for each round.
func (c *contest) hold(ctx context.Context, progress io.Writer) (cells []Cell, repeated []string, err error) {
	cells = make([]Cell, len(c.cells))
	for i, name := range c.cells {
		cells[i].Name = name
		for _, side := range c.sides {
			cells[i].Sides = append(cells[i].Sides, Side{Name: side})
		}
	}
	began, round := time.Now(), 0
	for _, b := range c.bouts() {
		if b.round != round {
			round = b.round
			fmt.Fprintf(progress, "bench: round %d of %d after %.0fs\n", round, c.rounds, time.Since(began).Seconds())
		}
		for {
			s, err := c.run(ctx, c.cells[b.cell], c.sides[b.side])
			if err == nil {
				err = s.check()
			}
			if err == nil {
				side := &cells[b.cell].Sides[b.side]
				side.Samples = append(side.Samples, s)
				break
			}
			err = fmt.Errorf("round %d, cell %s, %s: %w", round, c.cells[b.cell], c.sides[b.side], err)
			if len(repeated) == maxRepeats || ctx.Err() != nil {
				return nil, repeated, err
			}
			fmt.Fprintln(progress, "bench: repeated:", err)
			repeated = append(repeated, err.Error())
		}
	}
	return cells, repeated, nil
}
