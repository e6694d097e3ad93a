package diff

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/nvmepass/nvmepass/internal/badflag"
)

// FailOn is a verdict that makes a comparison fail.
type FailOn struct {
	// Kind is "slower", "faster", "changed" for either, or "noisy".
	Kind string
	// Least is the smallest change that counts, as a share; 0 for any.
	Least float64
}

// ParseFailOn reads a comma-separated list such as "slower:3%,noisy". Errors are
// [*badflag.Error].
func ParseFailOn(list string) ([]FailOn, error) {
	var out []FailOn
	for item := range strings.SplitSeq(list, ",") {
		f, problem := parseFailOn(strings.TrimSpace(item))
		if problem != "" {
			return nil, &badflag.Error{Flag: "--fail-on", Value: strconv.Quote(item), Problem: problem, Remedy: "give slower, faster, changed or noisy, the first three with a size if it matters, as in slower:3%"}
		}
		out = append(out, f)
	}
	return out, nil
}

func parseFailOn(item string) (f FailOn, problem string) {
	kind, size, sized := strings.Cut(item, ":")
	switch kind {
	case "slower", "faster", "changed":
	case "noisy":
		if sized {
			return f, "noisy takes no size"
		}
	default:
		return f, "no such verdict"
	}
	f.Kind = kind
	if sized {
		var err error
		if f.Least, err = ParseShare(size); err != nil {
			return f, err.Error()
		}
	}
	return f, ""
}

// ParseShare reads a share above 0% and below 100%, written with its sign, such as "3%".
func ParseShare(s string) (float64, error) {
	number, ok := strings.CutSuffix(s, "%")
	v, err := strconv.ParseFloat(number, 64)
	if !ok || err != nil || !(v > 0 && v < 100) {
		return 0, fmt.Errorf("%q: need a share above 0%% and below 100%%, such as 3%%", s)
	}
	return v / 100, nil
}

// Failing returns the cells that f names.
func (r *Result) Failing(f FailOn) []CellDiff {
	var out []CellDiff
	for i := range r.Cells {
		c := &r.Cells[i]
		var named bool
		switch f.Kind {
		case "slower":
			named = c.Verdict == Slower
		case "faster":
			named = c.Verdict == Faster
		case "changed":
			named = c.Verdict == Slower || c.Verdict == Faster
		case "noisy":
			named = c.Verdict == TooNoisy || c.Verdict == NoFigure
		}
		if named && (f.Least == 0 || c.Change != nil && math.Abs(*c.Change) >= f.Least) {
			out = append(out, *c)
		}
	}
	return out
}

// String writes f as [ParseFailOn] reads it.
func (f FailOn) String() string {
	if f.Least == 0 {
		return f.Kind
	}
	return f.Kind + ":" + strconv.FormatFloat(100*f.Least, 'g', -1, 64) + "%"
}
