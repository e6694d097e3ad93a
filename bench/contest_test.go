package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBouts: each side runs once in each cell and round, the sides of a cell
// directly after each other, and none is favoured by its place.
func TestBouts(t *testing.T) {
	for _, sides := range [][]string{{"a", "b"}, {"a", "b", "c"}} {
		t.Run(fmt.Sprintf("%d sides", len(sides)), func(t *testing.T) {
			rounds := 2 * len(sides)
			c := contest{cells: []string{"x", "y", "z"}, sides: sides, rounds: rounds, seed: 7}
			all := c.bouts()
			require.Len(t, all, rounds*len(c.cells)*len(sides))
			require.Equal(t, all, c.bouts(), "the same seed gives the same order")

			seen := map[bout]bool{}
			first := map[int]int{}
			follows := map[[2]int]int{}
			cellOrders := map[string]bool{}
			for i := 0; i < len(all); i += len(sides) {
				group := all[i : i+len(sides)]
				first[group[0].side]++
				for j, b := range group {
					require.False(t, seen[b])
					seen[b] = true
					require.Equal(t, group[0].cell, b.cell)
					require.Equal(t, i/len(sides)/len(c.cells)+1, b.round)
					if j > 0 {
						follows[[2]int{group[j-1].side, b.side}]++
					}
				}
				if i%(len(sides)*len(c.cells)) == 0 {
					cellOrders[fmt.Sprint(all[i].cell, all[i+len(sides)].cell)] = true
				}
			}
			for side := range sides {
				require.Equal(t, rounds*len(c.cells)/len(sides), first[side], "side %d comes first as often as the others", side)
			}
			for _, n := range follows {
				require.Equal(t, follows[[2]int{0, 1}], n, "each pair of neighbours in both orders alike: %v", follows)
			}
			require.Greater(t, len(cellOrders), 1, "the cells' order changes")
		})
	}
}

func TestHold(t *testing.T) {
	c := contest{cells: []string{"x", "y"}, sides: []string{"a", "b"}, rounds: 3}
	ran := 0.0
	c.run = func(_ context.Context, cell, side string) (Sample, error) {
		ran++
		return Sample{metricIOPS: ran, cell + side: 0}, nil
	}
	var progress bytes.Buffer
	cells, repeated, err := c.hold(t.Context(), &progress)
	require.NoError(t, err)
	require.Empty(t, repeated)
	require.EqualValues(t, 12, ran)
	require.Equal(t, 3, bytes.Count(progress.Bytes(), []byte("\n")))
	for _, cell := range cells {
		require.Len(t, cell.Sides, 2)
		for _, side := range c.sides {
			require.Len(t, values(cell.side(side), metricIOPS), 3)
			require.Len(t, values(cell.side(side), cell.Name+side), 3)
		}
		require.Nil(t, cell.side("c"))
	}
}

// TestHoldRepeats a run that failed or measured nothing, and gives up when that
// goes on.
func TestHoldRepeats(t *testing.T) {
	broken := errors.New("broken")
	for name, tt := range map[string]struct {
		sample Sample
		err    error
		want   string
	}{
		"error":    {nil, broken, "broken"},
		"no rate":  {Sample{}, nil, "nothing was completed"},
		"negative": {Sample{metricIOPS: 1, metricCPU: -1}, nil, "cpu_ns_per_io is -1"},
	} {
		t.Run(name, func(t *testing.T) {
			ran, failures := 0, maxRepeats
			c := contest{cells: []string{"x"}, sides: []string{"a", "b"}, rounds: 3}
			c.run = func(_ context.Context, _, side string) (Sample, error) {
				if ran++; ran > 3 && failures > 0 {
					failures--
					return tt.sample, tt.err
				}
				return Sample{metricIOPS: float64(len(side))}, nil
			}
			cells, repeated, err := c.hold(t.Context(), &bytes.Buffer{})
			require.NoError(t, err)
			require.Len(t, repeated, maxRepeats)
			require.Contains(t, repeated[0], tt.want)
			require.Contains(t, repeated[0], "round 2, cell x, a")
			require.Equal(t, 6+maxRepeats, ran)
			require.Len(t, cells[0].side("a"), 3)
			require.Len(t, cells[0].side("b"), 3)

			ran, failures = 0, maxRepeats+1
			_, _, err = c.hold(t.Context(), &bytes.Buffer{})
			require.ErrorContains(t, err, tt.want)
			require.Equal(t, 3+maxRepeats+1, ran)
		})
	}
}

// TestHoldIsInterrupted at once.
func TestHoldIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := contest{cells: []string{"x"}, sides: []string{"a", "b"}, rounds: 3}
	c.run = func(ctx context.Context, _, _ string) (Sample, error) {
		cancel()
		return nil, ctx.Err()
	}
	_, _, err := c.hold(ctx, &bytes.Buffer{})
	require.ErrorIs(t, err, context.Canceled)
}
