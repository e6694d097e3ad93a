package report

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nvmepass/nvmepass/internal/compare"
)

// significant writes a figure, which is not negative, with three significant digits, whole above 100: 0.0133, 1.33, 13.3, 133, 1333.
func significant(v float64) string {
	if v == 0 {
		return "0"
	}
	for decimals := 5; decimals > 0; decimals-- {
		// The number of digits follows from the rounded value: 99.96 is 100, not 100.0.
		s := strconv.FormatFloat(v, 'f', decimals, 64)
		if rounded, err := strconv.ParseFloat(s, 64); err == nil && decimalsFor(rounded) >= decimals {
			return s
		}
	}
	return strconv.FormatFloat(v, 'f', 0, 64)
}

// decimalsFor returns the digits after the point that give v, which is not negative, three significant ones; at most 5.
func decimalsFor(v float64) int {
	switch {
	case v >= 100:
		return 0
	case v >= 10:
		return 1
	case v >= 1:
		return 2
	case v >= 0.1:
		return 3
	case v >= 0.01:
		return 4
	default:
		return 5
	}
}

// optional writes a figure, or a dash where there is none.
func optional(v *float64) string {
	if v == nil {
		return "-"
	}
	return significant(*v)
}

// halfWidth writes how far the further end of the interval lies from the median, in per cent of the median; a dash where
// there is no interval.
func halfWidth(e compare.Estimate) string {
	if e.Median == nil || e.CILow == nil || e.CIHigh == nil || *e.Median <= 0 {
		return "-"
	}
	percent := 100 * max(*e.CIHigh / *e.Median - 1, 1 - *e.CILow / *e.Median, 0)
	switch {
	case percent > 999:
		return ">999%"
	case percent >= 9.95:
		return strconv.FormatFloat(percent, 'f', 0, 64) + "%"
	default:
		return strconv.FormatFloat(percent, 'f', 1, 64) + "%"
	}
}

// byteSize writes a size in bytes, with the largest binary unit that divides it.
func byteSize(n uint64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	i := 0
	for i < len(units)-1 && n >= 1024 && n%1024 == 0 {
		n /= 1024
		i++
	}
	return strconv.FormatUint(n, 10) + " " + units[i]
}

// duration writes a time to the second, as 1h02m03s, 1m20s or 7s.
func duration(d time.Duration) string {
	s := int64(max(d, 0).Round(time.Second) / time.Second)
	switch {
	case s >= 3600:
		return fmt.Sprintf("%dh%02dm%02ds", s/3600, s/60%60, s%60)
	case s >= 60:
		return fmt.Sprintf("%dm%02ds", s/60, s%60)
	default:
		return fmt.Sprintf("%ds", s)
	}
}

// ascii makes a string that came from a device, the kernel or an error safe for one line of a terminal: line breaks become "; ",
// other control bytes and everything outside ASCII are escaped.
func ascii(s string) string {
	var b strings.Builder
	for _, r := range strings.ReplaceAll(strings.TrimSpace(s), "\n", "; ") {
		switch {
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, "\\x%02x", r)
		case r > 0x7f:
			fmt.Fprintf(&b, "\\u%04x", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
