package compare

import (
	"math/rand/v2"

	"github.com/nvmepass/nvmepass/internal/iosetup"
)

// Cell is one field of the matrix.
type Cell struct {
	// Device is the node as it was given.
	Device string `json:"device"`
	// Path is the column.
	Path iosetup.Path `json:"path"`
	// Depth is the row.
	Depth iosetup.Depth `json:"qd_batch"`
	// Variant is the one switch of the mode that is turned over, written as its flag, such as "--fixedbufs=false"; empty for
	// the mode as it was asked for.
	Variant string `json:"variant"`
}

// String returns depth, path, variant and device, as in "8_2 passthru /dev/ng0n1".
func (c Cell) String() string { return c.short() + " " + c.Device }

// short is String without the device.
func (c Cell) short() string {
	s := c.Depth.String() + " " + string(c.Path)
	if c.Variant != "" {
		s += " " + c.Variant
	}
	return s
}

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
				for _, variant := range c.variants(path) {
					cells = append(cells, Cell{Device: device, Path: path, Depth: depth, Variant: variant})
				}
			}
		}
	}
	return cells
}

// variants are the modes that a path runs in, the mode itself first.
func (c *Config) variants(p iosetup.Path) []string {
	if !c.Ablate {
		return []string{""}
	}
	return iosetup.Variants(c.Mode, p)
}
