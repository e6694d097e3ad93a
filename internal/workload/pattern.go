package workload

import (
	"fmt"
	"slices"
	"strings"
)

// Pattern is what a run does and in which order of addresses, in fio's words
// where fio has one.
type Pattern string

// Patterns. Those without Rand go through the region from its start and begin
// again at its end, but for Append, which ends there.
const (
	RandRead   Pattern = "randread"
	Read       Pattern = "read"
	RandWrite  Pattern = "randwrite"
	Write      Pattern = "write"
	RandRW     Pattern = "randrw" // reads and writes, mixed by Config.ReadShare
	ReadWrite  Pattern = "rw"
	RandTrim   Pattern = "randtrim" // Dataset Management, deallocate
	Trim       Pattern = "trim"
	RandZeroes Pattern = "randzeroes" // Write Zeroes
	Zeroes     Pattern = "zeroes"
	Append     Pattern = "append" // Zone Append
)

// Patterns are all patterns.
func Patterns() []Pattern {
	return []Pattern{RandRead, Read, RandWrite, Write, RandRW, ReadWrite, RandTrim, Trim, RandZeroes, Zeroes, Append}
}

// ParsePattern reads a pattern, with fio's "readwrite" for rw.
func ParsePattern(s string) (Pattern, error) {
	if s == "readwrite" {
		return ReadWrite, nil
	}
	if p := Pattern(s); slices.Contains(Patterns(), p) {
		return p, nil
	}
	return "", fmt.Errorf("pattern %q: need one of %s", s, list(Patterns()))
}

func list(patterns []Pattern) string {
	var b strings.Builder
	for i, p := range patterns {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(string(p))
	}
	return b.String()
}

// Random tells whether addresses are drawn.
func (p Pattern) Random() bool { return strings.HasPrefix(string(p), "rand") }

// Mixed tells whether some commands read and some write.
func (p Pattern) Mixed() bool { return p == RandRW || p == ReadWrite }

// Writes tells whether the drive's data is changed.
func (p Pattern) Writes() bool { return p != RandRead && p != Read }

// Commands tells whether the pattern consists of commands that only
// passthrough has: all but reads and writes.
func (p Pattern) Commands() bool {
	return slices.Contains([]Pattern{RandTrim, Trim, RandZeroes, Zeroes, Append}, p)
}

// Direction is fio's data direction.
type Direction uint8

// Directions. Append and Write Zeroes count as writes.
const (
	DirRead Direction = iota
	DirWrite
	DirTrim
)

// String is fio's word.
func (d Direction) String() string { return [...]string{"read", "write", "trim"}[d] }

// Directions are those of the pattern's commands: one, or read and write.
func (p Pattern) Directions() []Direction {
	switch {
	case p.Mixed():
		return []Direction{DirRead, DirWrite}
	case p == RandTrim || p == Trim:
		return []Direction{DirTrim}
	case p.Writes():
		return []Direction{DirWrite}
	}
	return []Direction{DirRead}
}
