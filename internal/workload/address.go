package workload

import (
	"fmt"
	"math/bits"
)

// addresses yields the SLBA of each command: whole multiples of the command's
// block count from the start of the region, never beyond its end.
type addresses struct {
	first  uint64 // SLBA of the region
	count  uint64 // commands that fit it
	nlb    uint64
	random bool
	next   uint64
	gen    random
	skewed *ranks // nil where random addresses are uniform
}

func newAddresses(cfg *Config, seed uint64) (*addresses, error) {
	nlb, blocks, first := cfg.NLB, cfg.Blocks, cfg.First
	if nlb == 0 || blocks < uint64(nlb) {
		return nil, fmt.Errorf("region of %d blocks holds no whole command of %d blocks: use a larger region or a smaller block size", blocks, nlb)
	}
	if first+blocks < first {
		return nil, fmt.Errorf("region of %d blocks from %d ends beyond the last address of 64 bits: use a lower start", blocks, first)
	}
	a := &addresses{first: first, count: blocks / uint64(nlb), nlb: uint64(nlb), random: cfg.Pattern.Random(), gen: random{seed}}
	if cfg.Start < 0 || cfg.Start >= 1 {
		return nil, fmt.Errorf("start at %v of the region: need 0 or more and less than 1", cfg.Start)
	}
	a.next = min(uint64(cfg.Start*float64(a.count)), a.count-1)
	if d := cfg.Distribution; d != (Distribution{}) {
		a.skewed = newRanks(d, a.count)
	}
	return a, nil
}

// fill sets dst to the next addresses. Uniform ones are mapped to the region by
// multiply-high: no division.
func (a *addresses) fill(dst []uint64) {
	switch {
	case a.count == 1:
		for i := range dst {
			dst[i] = a.first
		}
	case !a.random:
		next := a.next // in a register
		for i := range dst {
			dst[i] = a.first + next*a.nlb
			if next++; next == a.count {
				next = 0
			}
		}
		a.next = next
	case a.skewed != nil:
		for i := range dst {
			dst[i] = a.first + a.skewed.draw(&a.gen)*a.nlb
		}
	default:
		state := a.gen.state
		for i := range dst {
			var gen random
			gen.state = state
			n, _ := bits.Mul64(gen.next(), a.count)
			state = gen.state
			dst[i] = a.first + n*a.nlb
		}
		a.gen.state = state
	}
}
