package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// Forms of the program under test's JSON that are understood here.
const (
	nopSchema     = "nvmepass.nop/1"
	compareSchema = "nvmepass.compare/1"
)

// runTool runs the program under test and reads the one cell that it was asked
// for. If it failed, its record says why where its messages do not.
func runTool(ctx context.Context, program string, args []string, schema, name, depth string) (Sample, error) {
	out, err := output(ctx, program, args...)
	if err != nil && len(out) == 0 {
		return nil, err
	}
	s, derr := decodeTool(out, schema, name, depth)
	if err := errors.Join(err, derr); err != nil {
		return nil, err
	}
	return s, nil
}

// decodeTool reads what `nvmepass nop` or `nvmepass compare` says of the one cell
// and round that was asked for. name is the cell's operation or path.
func decodeTool(out []byte, schema, name, depth string) (Sample, error) {
	var r struct {
		Schema string `json:"schema"`
		Cells  []struct {
			Op      string `json:"op"`   // of nop
			Path    string `json:"path"` // of compare
			QDBatch string `json:"qd_batch"`
			Rounds  []struct {
				Error string `json:"error"`
			} `json:"rounds"`
			IOPS struct {
				Median *float64 `json:"median"`
			} `json:"iops"`
			SubmitPerCall *float64 `json:"submit_per_call"`
			UserCPU       *float64 `json:"user_cpu_ns_per_io"`
			SystemCPU     *float64 `json:"system_cpu_ns_per_io"`
		} `json:"cells"`
	}
	bad := func(format string, args ...any) (Sample, error) {
		return nil, fmt.Errorf("output of nvmepass: "+format, args...)
	}
	if err := json.Unmarshal(out, &r); err != nil {
		return bad("%w: %s", err, tail(out))
	}
	if r.Schema != schema {
		return bad("schema %q: need %s", r.Schema, schema)
	}
	if len(r.Cells) != 1 || len(r.Cells[0].Rounds) != 1 {
		return bad("%d cells: need one with one round", len(r.Cells))
	}
	c := &r.Cells[0]
	switch {
	case c.Op+c.Path != name || c.QDBatch != depth:
		return bad("cell %s %s: need %s %s", c.QDBatch, c.Op+c.Path, depth, name)
	case c.Rounds[0].Error != "":
		return bad("the round failed: %s", c.Rounds[0].Error)
	case c.IOPS.Median == nil:
		return bad("cell %s %s has no rate", depth, name)
	case c.UserCPU == nil || c.SystemCPU == nil:
		return bad("cell %s %s has no processor time", depth, name)
	}
	s := Sample{metricIOPS: *c.IOPS.Median, metricCPU: *c.UserCPU + *c.SystemCPU}
	if c.SubmitPerCall != nil {
		s[metricPerCall] = *c.SubmitPerCall
	}
	return s, nil
}
