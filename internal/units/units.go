// Package units reads sizes and times as people write them on a command line:
// the whole string or an error, never a guess. Errors say what is allowed; the
// caller, who knows the option, adds its name and value.
package units

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
)

// ParseSize reads a number of bytes: digits, with k, m, g, t or KiB, MiB, GiB,
// TiB behind them in any case, all powers of 1024. "Ki" alone is refused,
// because fio gives it another meaning.
func ParseSize(s string) (int64, error) {
	digits := strings.TrimRightFunc(s, func(r rune) bool { return r < '0' || r > '9' })
	n, err := strconv.ParseInt(digits, 10, 64)
	shift, known := map[string]uint{"": 0, "b": 0, "k": 10, "kib": 10, "m": 20, "mib": 20, "g": 30, "gib": 30, "t": 40, "tib": 40}[strings.ToLower(s[len(digits):])]
	switch {
	case digits == "" || strings.ContainsAny(digits, "+-_ ") || !known:
		return 0, errors.New("must be a whole number, with nothing or k, m, g, t (KiB, MiB, GiB, TiB) behind it, all powers of 1024")
	case err != nil || n > math.MaxInt64>>shift:
		return 0, errors.New("must be a whole number below 8 EiB")
	}
	return n << shift, nil
}

// FormatSize is the shortest form that ParseSize reads back.
func FormatSize(n int64) string {
	for i, u := range []string{"t", "g", "m", "k"} {
		if unit := int64(1) << (40 - 10*i); n >= unit && n%unit == 0 {
			return strconv.FormatInt(n/unit, 10) + u
		}
	}
	return strconv.FormatInt(n, 10)
}

// ParseDuration reads a time as fio does, where a plain number is seconds, or
// with a unit: us, ms, s, m, h, as in "1.5s".
func ParseDuration(s string) (time.Duration, error) {
	if n, err := strconv.ParseUint(s, 10, 32); err == nil {
		return time.Duration(n) * time.Second, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return 0, errors.New("must be whole seconds, or a number with us, ms, s, m or h behind it, as in 500ms")
	}
	return d, nil
}
