package compare

import "math/rand/v2"

// Cell is one field of the matrix.
type Cell struct {
	// Device is the node as it was given.
	Device string `json:"device"`
	// Path is the column.
	Path Path `json:"path"`
	// Depth is the row.
	Depth Depth `json:"qd_batch"`
}

// String returns depth, path and device, as in "8_2 passthru /dev/ng0n1".
func (c Cell) String() string { return c.Depth.String() + " " + string(c.Path) + " " + c.Device }

// Step is one run of one cell.
type Step struct {
	Cell
	// Round counts from 1.
	Round int
	// Order is the place in the whole plan, from 1.
	Order int
}

// Plan returns the steps in the order in which they are to run: round by round, every cell once per round, shuffled by the
// seed anew for each round. The same configuration always gives the same plan.
func Plan(cfg Config) []Step {
	cells := cfg.cells()
	steps := make([]Step, 0, len(cells)*max(cfg.Rounds, 0))
	for round := 1; round <= cfg.Rounds; round++ {
		rng := rand.New(rand.NewPCG(cfg.Seed, uint64(round)))
		for _, i := range rng.Perm(len(cells)) {
			steps = append(steps, Step{Cell: cells[i], Round: round, Order: len(steps) + 1})
		}
	}
	return steps
}

// cells returns the matrix in the order of the table: by device, then row, then column.
func (c *Config) cells() []Cell {
	cells := make([]Cell, 0, len(c.Devices)*len(c.Depths)*len(c.Paths))
	for _, device := range c.Devices {
		for _, depth := range c.Depths {
			for _, path := range c.Paths {
				cells = append(cells, Cell{Device: device, Path: path, Depth: depth})
			}
		}
	}
	return cells
}
