package verify

// order visits the numbers below n, each once.
type order struct {
	n, next      uint64
	step, offset uint64 // 0 for one after the other
}

// newOrder is one after the other, or with random in an order that the seed and
// the pass choose: multiples of a step without a divisor in common with n.
func newOrder(n uint64, random bool, seed uint64) *order {
	o := &order{n: n}
	if !random || n < 3 {
		return o
	}
	o.offset = mix(seed+golden) % n
	// A step near a random part of n, so that neighbours lie far apart.
	o.step = n/4 + mix(seed^golden)%(n/2+1)
	for o.step == 0 || gcd(o.step, n) != 1 {
		o.step++
	}
	o.step %= n
	return o
}

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// take is the next number; ok is false when all were taken.
func (o *order) take() (v uint64, ok bool) {
	if o.next == o.n {
		return 0, false
	}
	v = o.next
	o.next++
	if o.step == 0 {
		return v, true
	}
	v = o.offset
	// Below 2^63, since n counts commands of a namespace in bytes.
	o.offset += o.step
	if o.offset >= o.n {
		o.offset -= o.n
	}
	return v, true
}
