package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/nvmepass/nvmepass/internal/compare"
	"github.com/nvmepass/nvmepass/internal/jobs"
	"github.com/nvmepass/nvmepass/internal/nopbench"
	"github.com/nvmepass/nvmepass/internal/sweep"
)

// MaxBytes bounds a record that is read into memory.
const MaxBytes = 1 << 30

// reader makes a record's own part of a view; the rest is alike for all.
type reader struct {
	kind, schema string
	read         func(doc []byte, r *Record) error
}

var readers = []reader{
	{"compare", compare.Schema, readCompare},
	{"run", jobs.Schema, readRun},
	{"nop", nopbench.Schema, readNop},
	{"sweep", sweep.Schema, readSweep},
}

// Schemas are the forms that [Read] knows.
func Schemas() []string {
	var out []string
	for _, k := range readers {
		out = append(out, k.schema)
	}
	return out
}

// Read reads a record of any command that name is said to hold.
func Read(name string, in io.Reader) (*Record, error) {
	doc, err := io.ReadAll(Limited(in))
	if err != nil {
		return nil, fmt.Errorf("read record %s: %w", name, err)
	}
	r, err := parse(doc)
	if err != nil {
		return nil, fmt.Errorf("read record %s: %w", name, err)
	}
	r.Name = name
	return r, nil
}

// Limited reads in, and fails where it is larger than a record can be.
func Limited(in io.Reader) io.Reader { return &limited{in, MaxBytes} }

type limited struct {
	in   io.Reader
	left int64
}

func (l *limited) Read(p []byte) (int, error) {
	n, err := l.in.Read(p)
	if l.left -= int64(n); l.left < 0 {
		return 0, fmt.Errorf("larger than %d bytes; give a file written with --save", MaxBytes)
	}
	return n, err
}

func parse(doc []byte) (*Record, error) {
	var head struct {
		Schema      string          `json:"schema"`
		Config      json.RawMessage `json:"config"`
		Environment json.RawMessage `json:"environment"`
	}
	if err := json.Unmarshal(doc, &head); err != nil {
		return nil, fmt.Errorf("not one JSON document: %w; give a file written with --save or -o json", err)
	}
	i := slices.IndexFunc(readers, func(k reader) bool { return k.schema == head.Schema })
	if i < 0 {
		return nil, fmt.Errorf("schema %q: this version reads %s; give a file written with --save or -o json", head.Schema, strings.Join(Schemas(), ", "))
	}
	r := &Record{Kind: readers[i].kind, Schema: head.Schema}
	if err := readers[i].read(doc, r); err != nil {
		return nil, err
	}
	var errs [2]error
	r.Config, errs[0] = flatten(head.Config)
	r.Environment, errs[1] = flatten(head.Environment)
	return r, errors.Join(errs[:]...)
}
