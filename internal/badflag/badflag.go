// Package badflag is the error of a setting that cannot be used, as every command
// reports it.
package badflag

// Error is one setting that cannot be used.
type Error struct {
	// Flag is the command line's name of the setting, with its dashes.
	Flag string
	// Value is what was given; empty when nothing was.
	Value string
	// Problem says what is wrong and names the limit.
	Problem string
	// Remedy says what to give instead.
	Remedy string
}

var _ error = (*Error)(nil)

// Error returns flag, value, problem and remedy in one line.
func (e *Error) Error() string {
	s := e.Flag
	if e.Value != "" {
		s += " " + e.Value
	}
	return s + ": " + e.Problem + "; " + e.Remedy
}
