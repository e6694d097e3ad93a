package jobs

import "math"

// Spread is how a rate varied from second to second.
type Spread struct {
	Count  int     `json:"count"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
	Mean   float64 `json:"mean"`
	Stddev float64 `json:"stddev"`

	squares float64 // sum of squared distances from the mean
}

// add takes one more sample in, by Welford's method.
func (s *Spread) add(v float64) {
	if s.Count++; s.Count == 1 {
		s.Min, s.Max = v, v
	}
	s.Min, s.Max = min(s.Min, v), max(s.Max, v)
	d := v - s.Mean
	s.Mean += d / float64(s.Count)
	s.squares += d * (v - s.Mean)
	s.Stddev = math.Sqrt(s.squares / float64(s.Count))
}

// orNil is s, nil if it is empty.
func (s *Spread) orNil() *Spread {
	if s.Count == 0 {
		return nil
	}
	return s
}
