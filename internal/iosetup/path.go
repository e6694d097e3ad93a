package iosetup

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nvmepass/nvmepass/internal/badflag"
)

// Path is a way to bring a read to the drive, named as in the published table.
type Path string

// The four paths, in the order of the published table.
const (
	// Block reads /dev/nvmeXnY with O_DIRECT and waits for interrupts.
	Block Path = "block"
	// Passthru sends NVMe commands to /dev/ngXnY and waits for interrupts.
	Passthru Path = "passthru"
	// PassthruPoll sends NVMe commands to /dev/ngXnY and polls for completions.
	PassthruPoll Path = "passthru-poll"
	// BlockPoll reads /dev/nvmeXnY with O_DIRECT and polls for completions.
	BlockPoll Path = "block-poll"
)

// AllPaths returns the four paths in the order of the published table.
func AllPaths() []Path { return []Path{Block, Passthru, PassthruPoll, BlockPoll} }

// Polled reports whether completions are polled for (IORING_SETUP_IOPOLL).
func (p Path) Polled() bool { return p == PassthruPoll || p == BlockPoll }

// Passthru reports whether NVMe commands are sent to the character node.
func (p Path) Passthru() bool { return p == Passthru || p == PassthruPoll }

// ParsePaths reads a comma-separated list of paths, keeping its order. Errors are [*badflag.Error].
func ParsePaths(list string) ([]Path, error) {
	var paths []Path
	for name := range strings.SplitSeq(list, ",") {
		paths = append(paths, Path(strings.TrimSpace(name)))
	}
	if err := ValidatePaths(paths); err != nil {
		return nil, err
	}
	return paths, nil
}

// ValidatePaths returns nil for a list without unknown, missing or repeated paths.
func ValidatePaths(paths []Path) error {
	known := make([]string, 0, 4)
	for _, p := range AllPaths() {
		known = append(known, string(p))
	}
	remedy := "give any of " + strings.Join(known, ",")
	if len(paths) == 0 {
		return &badflag.Error{Flag: "--paths", Problem: "at least 1 path is needed", Remedy: remedy}
	}
	for i, p := range paths {
		if !slices.Contains(AllPaths(), p) {
			return &badflag.Error{Flag: "--paths", Value: fmt.Sprintf("%q", p), Problem: "no such path", Remedy: remedy}
		}
		if slices.Contains(paths[:i], p) {
			return &badflag.Error{Flag: "--paths", Value: string(p), Problem: "a path may be given only once", Remedy: "remove the second " + string(p)}
		}
	}
	return nil
}
