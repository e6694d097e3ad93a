package workload

import "math/bits"

// random is a 64-bit multiply-mix generator (wyrand): a few nanoseconds a
// number, repeatable by its seed.
type random struct{ state uint64 }

func (r *random) next() uint64 {
	r.state += 0xa0761d6478bd642f
	hi, lo := bits.Mul64(r.state, r.state^0xe7037ed1a0b428db)
	return hi ^ lo
}

// unit is uniform over (0, 1].
func (r *random) unit() float64 { return float64(r.next()>>11+1) / (1 << 53) }
