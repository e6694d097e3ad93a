package workload

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
)

// Distribution says how random addresses spread over the region. The zero value
// is uniform.
type Distribution struct {
	// Zipf is the exponent theta of a Zipf distribution: the k-th most popular
	// place is taken in proportion to 1/k^theta. 0 means none.
	Zipf float64
	// Pareto is h of fio's Pareto distribution, 0 < h < 1: a share h of the
	// places takes 1-h of the commands. 0 means none.
	Pareto float64
}

// maxTheta keeps the exponent where a second place is ever drawn.
const maxTheta = 10

// ParseDistribution reads fio's random_distribution: "random", "zipf:THETA" or
// "pareto:H".
func ParseDistribution(s string) (Distribution, error) {
	name, arg, given := strings.Cut(s, ":")
	v, err := strconv.ParseFloat(arg, 64)
	switch {
	case name == "random" && !given:
		return Distribution{}, nil
	case name == "zipf" && given && err == nil && v > 0 && v <= maxTheta:
		return Distribution{Zipf: v}, nil
	case name == "pareto" && given && err == nil && v > 0 && v < 1:
		return Distribution{Pareto: v}, nil
	}
	return Distribution{}, fmt.Errorf("distribution %q: need random, zipf:THETA with THETA above 0 up to %d such as zipf:1.2, or pareto:H with H between 0 and 1 such as pareto:0.2", s, maxTheta)
}

// String is the form that ParseDistribution reads.
func (d Distribution) String() string {
	switch {
	case d.Zipf != 0:
		return "zipf:" + strconv.FormatFloat(d.Zipf, 'g', -1, 64)
	case d.Pareto != 0:
		return "pareto:" + strconv.FormatFloat(d.Pareto, 'g', -1, 64)
	}
	return "random"
}

// ranks draws ranks of a skewed distribution, 0 the most popular.
type ranks struct {
	count  float64
	places uint64
	theta  float64 // of Zipf, 0 for Pareto
	power  float64 // of Pareto
	// Bounds of the area below 1/x^theta from which Zipf ranks are drawn.
	low, high, shift float64
	step             uint64 // coprime to places: scatters the ranks
}

func newRanks(d Distribution, places uint64) *ranks {
	r := &ranks{count: float64(places), places: places, theta: d.Zipf}
	if d.Pareto != 0 {
		r.power = math.Log(d.Pareto) / math.Log(1-d.Pareto)
	} else {
		r.low, r.high = r.area(1.5)-1, r.area(r.count+0.5)
		r.shift = 2 - r.areaInverse(r.area(2.5)-math.Pow(2, -r.theta))
	}
	// Near the golden section, neighbours in rank come to lie far apart.
	r.step = uint64(r.count*0.6180339887498949) | 1
	for r.step > 1 && gcd(r.step, places) != 1 {
		r.step -= 2
	}
	return r
}

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// area is the integral of 1/x^theta.
func (r *ranks) area(x float64) float64 {
	l := math.Log(x)
	return ratioExpm1((1-r.theta)*l) * l
}

func (r *ranks) areaInverse(x float64) float64 {
	t := max(x*(1-r.theta), -1)
	return math.Exp(ratioLog1p(t) * x)
}

// ratioExpm1 is (e^x - 1)/x and ratioLog1p is log(1+x)/x, also at 0.
func ratioExpm1(x float64) float64 {
	if math.Abs(x) < 1e-8 {
		return 1 + x/2
	}
	return math.Expm1(x) / x
}

func ratioLog1p(x float64) float64 {
	if math.Abs(x) < 1e-8 {
		return 1 - x/2
	}
	return math.Log1p(x) / x
}

// draw is one place. Zipf ranks come by rejection-inversion (Hörmann and
// Derflinger, 1996), which takes the same time for every size of region.
func (r *ranks) draw(g *random) uint64 {
	rank := uint64(0)
	if r.theta == 0 {
		rank = uint64(math.Pow(g.unit(), r.power) * r.count)
	} else {
		for {
			u := r.high + g.unit()*(r.low-r.high)
			x := r.areaInverse(u)
			k := min(max(math.Floor(x+0.5), 1), r.count)
			if k-x <= r.shift || u >= r.area(k+0.5)-math.Pow(k, -r.theta) {
				rank = uint64(k) - 1
				break
			}
		}
	}
	rank = min(rank, r.places-1)
	hi, lo := bits.Mul64(rank, r.step)
	return bits.Rem64(hi, lo, r.places)
}
