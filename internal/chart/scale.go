package chart

import (
	"math"
	"strconv"
)

// Point is a value with its interval; nil means that there is none.
type Point struct {
	Value, Low, High *float64
}

func finite(v *float64) bool { return v != nil && !math.IsNaN(*v) && !math.IsInf(*v, 0) }

// room is how far above the highest value an axis goes for the sake of
// intervals: one that is wider is cut off, so that it does not flatten all else.
const room = 1.6

// highest is the top of an axis for some points: the highest value, or interval
// within the room for it. It is 0 if there is none.
func highest(lists ...[]Point) float64 {
	value, high := 0.0, 0.0
	for _, list := range lists {
		for _, p := range list {
			if finite(p.Value) {
				value = max(value, *p.Value)
				if finite(p.High) {
					high = max(high, *p.High)
				}
			}
		}
	}
	return max(value, min(high, room*value))
}

// ticks are round numbers from 0 to at least top, at most count steps apart.
func ticks(top float64, count int) []float64 {
	if !(top > 0) || math.IsInf(top, 0) {
		return []float64{0, 1}
	}
	step := math.Pow(10, math.Floor(math.Log10(top/float64(count))))
	for _, m := range []float64{1, 2, 2.5, 5, 10} {
		if step*m*float64(count) >= top*(1-1e-9) {
			step *= m
			break
		}
	}
	var out []float64
	for i := 0; i <= count; i++ {
		out = append(out, float64(i)*step)
		if out[i] >= top*(1-1e-9) {
			break
		}
	}
	return out
}

// Figure writes a number with three significant digits, whole ones from 100.
func Figure(v float64) string {
	a := math.Abs(v)
	switch {
	case a == 0:
		return "0"
	case a >= 99.95:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case a >= 9.995:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case a >= 0.9995:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// tick writes a number of an axis without needless zeros.
func tick(v float64) string {
	if v >= 1e6 && v < 1e15 {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return strconv.FormatFloat(v, 'g', 6, 64)
}
