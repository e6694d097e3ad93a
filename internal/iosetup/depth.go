package iosetup

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/nvmepass/nvmepass/internal/badflag"
)

// MaxQD is the largest queue depth of a cell, in commands.
const MaxQD = 4096

// Depth is one row of the table: how many commands are kept in flight, and how many are submitted and reaped at once.
// In text and JSON it is written QD_batch, as in "8_2".
type Depth struct {
	// QD is the queue depth in commands, 1 to MaxQD.
	QD int
	// Batch is the number of commands per system call, 1 to QD.
	Batch int
}

// DefaultDepths returns the rows of the published table: 1_1, 8_2, 16_4 and 128_32.
func DefaultDepths() []Depth { return []Depth{{1, 1}, {8, 2}, {16, 4}, {128, 32}} }

// String returns the depth as QD_batch.
func (d Depth) String() string { return strconv.Itoa(d.QD) + "_" + strconv.Itoa(d.Batch) }

// MarshalText writes the depth as QD_batch.
func (d Depth) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads one QD_batch under the rules of [ParseDepths].
func (d *Depth) UnmarshalText(text []byte) error {
	parsed, err := parseDepth(string(text))
	if err != nil {
		return err
	}
	*d = parsed
	return nil
}

// ParseDepths reads a comma-separated list of QD_batch pairs such as "1_1,8_2,16_4", keeping its order. Errors are
// [*badflag.Error].
func ParseDepths(list string) ([]Depth, error) {
	var depths []Depth
	for item := range strings.SplitSeq(list, ",") {
		d, err := parseDepth(strings.TrimSpace(item))
		if err != nil {
			return nil, err
		}
		depths = append(depths, d)
	}
	if err := ValidateDepths(depths); err != nil {
		return nil, err
	}
	return depths, nil
}

func parseDepth(s string) (Depth, error) {
	malformed := &badflag.Error{
		Flag: "--depths", Value: fmt.Sprintf("%q", s), Problem: "not QD_batch, two whole numbers joined by an underscore",
		Remedy: "write it like 8_2: 8 in flight, 2 per call",
	}
	left, right, ok := strings.Cut(s, "_")
	if !ok {
		return Depth{}, malformed
	}
	qd, err := strconv.ParseUint(left, 10, 31)
	if err != nil {
		return Depth{}, malformed
	}
	batch, err := strconv.ParseUint(right, 10, 31)
	if err != nil {
		return Depth{}, malformed
	}
	d := Depth{QD: int(qd), Batch: int(batch)}
	return d, validateDepth(d)
}

func validateDepth(d Depth) error {
	fail := func(problem, remedy string) error {
		return &badflag.Error{Flag: "--depths", Value: d.String(), Problem: problem, Remedy: remedy}
	}
	switch {
	case d.QD < 1 || d.QD > MaxQD:
		return fail(fmt.Sprintf("the queue depth must be 1 to %d", MaxQD), "choose a depth in that range")
	case d.Batch < 1:
		return fail("the batch must be 1 or more", fmt.Sprintf("write %d_1 for one command per call", d.QD))
	case d.Batch > d.QD:
		return fail(fmt.Sprintf("the batch %d is above the queue depth %d, so it can never be filled", d.Batch, d.QD),
			fmt.Sprintf("choose a batch of 1 to %d", d.QD))
	}
	return nil
}

// ValidateDepths returns nil for a list of usable depths without repetition.
func ValidateDepths(depths []Depth) error {
	if len(depths) == 0 {
		return &badflag.Error{Flag: "--depths", Problem: "at least 1 QD_batch is needed", Remedy: "give a list like 1_1,8_2,16_4"}
	}
	for i, d := range depths {
		if err := validateDepth(d); err != nil {
			return err
		}
		if slices.Contains(depths[:i], d) {
			return &badflag.Error{
				Flag: "--depths", Value: d.String(), Problem: "a depth may be given only once",
				Remedy: "remove the second " + d.String(),
			}
		}
	}
	return nil
}
