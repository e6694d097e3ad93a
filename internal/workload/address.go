package workload

import (
	"fmt"
	"math/bits"
)

// Pattern is the order of addresses, in fio's words.
type Pattern string

// Patterns.
const (
	RandRead Pattern = "randread"
	Read     Pattern = "read"
)

// addresses yields the SLBA of each command: whole multiples of the command's
// block count from the start of the region, never beyond its end.
type addresses struct {
	first  uint64 // SLBA of the region
	count  uint64 // commands that fit it
	nlb    uint64
	random bool
	next   uint64
	state  uint64
}

func newAddresses(p Pattern, first, blocks uint64, nlb uint32, seed uint64) (*addresses, error) {
	if nlb == 0 || blocks < uint64(nlb) {
		return nil, fmt.Errorf("region of %d blocks holds no whole command of %d blocks: use a larger region or a smaller block size", blocks, nlb)
	}
	if first+blocks < first {
		return nil, fmt.Errorf("region of %d blocks from %d ends beyond the last address of 64 bits: use a lower start", blocks, first)
	}
	if p != RandRead && p != Read {
		return nil, fmt.Errorf("pattern %q: need %q or %q", p, RandRead, Read)
	}
	return &addresses{first: first, count: blocks / uint64(nlb), nlb: uint64(nlb), random: p == RandRead, state: seed}, nil
}

// fill sets dst to the next addresses. The random ones come from a 64-bit
// multiply-mix generator (wyrand), and multiply-high maps them to the region:
// no division.
func (a *addresses) fill(dst []uint64) {
	if !a.random {
		for i := range dst {
			dst[i] = a.first + a.next*a.nlb
			if a.next++; a.next == a.count {
				a.next = 0
			}
		}
		return
	}
	for i := range dst {
		a.state += 0xa0761d6478bd642f
		hi, lo := bits.Mul64(a.state, a.state^0xe7037ed1a0b428db)
		n, _ := bits.Mul64(hi^lo, a.count)
		dst[i] = a.first + n*a.nlb
	}
}
