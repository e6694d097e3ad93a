package sweep

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nvmepass/nvmepass/internal/badflag"
	"github.com/nvmepass/nvmepass/internal/blockio"
	"github.com/nvmepass/nvmepass/internal/compare"
	"github.com/nvmepass/nvmepass/internal/units"
)

// MaxSizes bounds the list of block sizes.
const MaxSizes = 100

// ParseSizes reads a comma-separated list of block sizes and sorts it. Errors
// are [*badflag.Error].
func ParseSizes(list string) ([]int, error) {
	var sizes []int
	for text := range strings.SplitSeq(list, ",") {
		text = strings.TrimSpace(text)
		n, err := units.ParseSize(text)
		if err != nil {
			return nil, &badflag.Error{Flag: "--bs-list", Value: fmt.Sprintf("%q", text), Problem: err.Error(), Remedy: "write it like 4k,128k,144k,256k"}
		}
		if n < 1 || n > compare.MaxBlockSize {
			return nil, &badflag.Error{Flag: "--bs-list", Value: text, Problem: fmt.Sprintf("must be 1 to %d bytes", compare.MaxBlockSize), Remedy: "give multiples of the logical block size"}
		}
		sizes = append(sizes, int(n))
	}
	return sizes, validateSizes(sizes)
}

func validateSizes(sizes []int) error {
	if len(sizes) > MaxSizes {
		return &badflag.Error{Flag: "--bs-list", Value: fmt.Sprintf("of %d sizes", len(sizes)), Problem: fmt.Sprintf("at most %d", MaxSizes), Remedy: "give fewer"}
	}
	slices.Sort(sizes)
	for i, n := range sizes {
		if i > 0 && sizes[i-1] == n {
			return &badflag.Error{Flag: "--bs-list", Value: units.FormatSize(int64(n)), Problem: "a size may be given only once", Remedy: "remove the second one"}
		}
	}
	return nil
}

// beyond is how far above the limit the default list first looks, as the
// published figures do: 144 KiB after 128 KiB.
const beyond = 16 << 10

// DefaultSizes are one unit, its doubles from 4 KiB to 1 MiB or twice the limit,
// and the sizes around the limit: one unit less, the limit itself, 16 KiB more.
// unit is the size of a logical block in bytes; limit is the most that one
// command moves, 0 for none.
func DefaultSizes(unit, limit uint64) []int {
	top := max(1<<20, 2*limit)
	sizes := []int{int(unit)}
	for n := 2 * unit; n <= top; n *= 2 {
		if n >= 4096 {
			sizes = append(sizes, int(n))
		}
	}
	if limit > unit {
		whole := limit / unit * unit
		for _, n := range []uint64{whole - unit, whole, whole + max(unit, beyond/unit*unit), 2 * whole} {
			sizes = append(sizes, int(n))
		}
	}
	most := min(blockio.MaxBlocks(unit)*unit, compare.MaxBlockSize)
	sizes = slices.DeleteFunc(sizes, func(n int) bool { return n == 0 || uint64(n) > most }) // 0 is one unit less than a limit of one
	slices.Sort(sizes)
	return slices.Compact(sizes)
}
