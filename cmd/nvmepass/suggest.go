package main

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// flagHint names the flags of cmd that an unknown one may have meant: "" if err is
// about something else, or none comes near.
func flagHint(cmd *cobra.Command, err error) string {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return ""
	}
	near := nearFlags(cmd.Flags(), unknown)
	if len(near) == 0 {
		return ""
	}
	return "did you mean --" + strings.Join(near, " or --") + "? "
}

// mostHints is how many flags a hint names.
const mostHints = 3

func nearFlags(fl *pflag.FlagSet, unknown *pflag.NotExistError) []string {
	name := unknown.GetSpecifiedName()
	short := unknown.GetSpecifiedShortnames()
	if short != "" {
		name, _, _ = strings.Cut(short, "=") // -rw=read is --rw=read with a dash too few
	}
	name = strings.ToLower(string(fl.GetNormalizeFunc()(fl, name)))
	if len(name) < 2 {
		return nil // near everything
	}
	var nearest, parts []string
	best := max(1, len(name)/3)
	fl.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		d := distance(name, f.Name)
		switch {
		case short != "" && d > 0: // a bundle of letters is no misspelt name
		case d < best:
			best, nearest = d, []string{f.Name}
		case d == best:
			nearest = append(nearest, f.Name)
		case strings.HasPrefix(f.Name, name) || slices.Contains(strings.Split(f.Name, "-"), name):
			parts = append(parts, f.Name)
		}
	})
	if len(nearest) == 0 {
		nearest = parts
	}
	return nearest[:min(mostHints, len(nearest))]
}

// distance is how many letters have to be added, dropped, replaced or swapped with
// their neighbour to make b of a.
func distance(a, b string) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			replace := last[j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			row[j] = min(replace, last[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
