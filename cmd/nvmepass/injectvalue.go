package main

import "github.com/nvmepass/nvmepass/internal/cell"

// injectValue is the hidden flag of a slowdown on purpose, which tests of diff
// use.
type injectValue struct{ in *cell.Injection }

func (v injectValue) String() string {
	if v.in == nil {
		return ""
	}
	return v.in.Flag()
}

func (v injectValue) Set(s string) error {
	in, err := cell.ParseInjection(s)
	if err == nil {
		*v.in = in
	}
	return err
}

func (v injectValue) Type() string { return "DELAY" }
