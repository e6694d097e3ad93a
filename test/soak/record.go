package main

import (
	"encoding/json"
	"fmt"
	"os"
	"time"
)

// Schema is the version of a Record.
const Schema = "nvmepass.soak/1"

// Record is what a soak leaves.
type Record struct {
	Schema  string   `json:"schema"`
	Command []string `json:"command"` // its arguments
	Runs    []Run    `json:"runs"`
}

// Run is one machine's part of it.
type Run struct {
	Kernel   string    `json:"kernel"`
	Machine  string    `json:"machine"`
	Emulated bool      `json:"emulated"`
	Seed     uint64    `json:"seed"`
	Started  time.Time `json:"started"`
	Seconds  float64   `json:"seconds"`
	Rounds   int       `json:"rounds"`
	Drives   []string  `json:"drives"`

	// Verified blocks were read and judged, Mixed among them while they were
	// written; Written were acknowledged.
	Verified uint64 `json:"blocks_verified"`
	Mixed    uint64 `json:"blocks_mixed"`
	Written  uint64 `json:"blocks_written"`

	Paths  []PathResult      `json:"paths"`
	Faults map[string]uint64 `json:"faults"`

	// Mismatched and Unexplained count all; Mismatches and Failures are the first.
	Mismatched  uint64     `json:"blocks_mismatched"`
	Mismatches  []Mismatch `json:"mismatches"`
	Unexplained uint64     `json:"unexplained"`
	Failures    []Failure  `json:"failures"`
	Leaks       []string   `json:"leaks"`
	Usage       []Usage    `json:"usage"`
	// Hang names what did not end, Error why there is no whole result.
	Hang        string `json:"hang,omitempty"`
	Error       string `json:"error,omitempty"`
	Interrupted bool   `json:"interrupted"`
}

// PathResult is what one path did: Issued is OK + Failed + Cancelled.
type PathResult struct {
	Path      string `json:"path"`
	Opened    uint64 `json:"opened"` // queues, devices, files, processes
	Issued    uint64 `json:"issued"`
	OK        uint64 `json:"ok"`
	Failed    uint64 `json:"failed"`
	Cancelled uint64 `json:"cancelled"`
	Written   uint64 `json:"blocks_written"`
	Verified  uint64 `json:"blocks_verified"`
}

// result is the run so far.
func (e *engine) result() Run {
	samples := e.usage.all()
	r := Run{
		Kernel: e.kernel, Machine: machine(), Emulated: e.o.lab, Seed: e.o.seed, Started: e.tally.began.UTC().Truncate(time.Second),
		Seconds: e.tally.since(), Rounds: len(samples), Faults: e.tally.faults.snapshot(), Usage: samples, Leaks: leaks(samples),
	}
	for _, t := range e.targets {
		r.Drives = append(r.Drives, t.name)
	}
	for p := byQueue; p < pathCount; p++ {
		c := &e.tally.paths[p]
		x := PathResult{
			Path: p.String(), Opened: c.opened.Load(), Issued: c.issued.Load(), OK: c.ok.Load(), Failed: c.failed.Load(), Cancelled: c.cancelled.Load(),
			Written: c.written.Load(), Verified: c.verified.Load(),
		}
		r.Paths = append(r.Paths, x)
		r.Verified += x.Verified
		r.Written += x.Written
		r.Mixed += c.mixed.Load()
	}
	e.tally.mu.Lock()
	defer e.tally.mu.Unlock()
	r.Mismatched, r.Mismatches = e.tally.badCount, e.tally.mismatches
	r.Unexplained, r.Failures = e.tally.oddCount, e.tally.failures
	return r
}

// account returns what does not add up.
func (r *Run) account() (wrong []string) {
	for _, p := range r.Paths {
		if sum := p.OK + p.Failed + p.Cancelled; p.Issued != sum {
			wrong = append(wrong, fmt.Sprintf("%s: %d operations issued, %d ended (%d ok, %d failed, %d cancelled)", p.Path, p.Issued, sum, p.OK, p.Failed, p.Cancelled))
		}
	}
	return wrong
}

// code is the exit code of a run.
func (r *Run) code() int {
	switch {
	case r.Mismatched > 0:
		return exitMismatch
	case r.Hang != "":
		return exitHang
	case r.Error != "" || r.Unexplained > 0 || len(r.Leaks) > 0:
		return exitFailed
	case r.Interrupted:
		return exitInterrupted
	}
	return exitOK
}

// verdict is the run in a line.
func (r *Run) verdict() string {
	text := fmt.Sprintf("%d blocks verified, %d mismatches, %d unexplained failures, %d leaks", r.Verified, r.Mismatched, r.Unexplained, len(r.Leaks))
	if r.Hang != "" {
		return text + ", HUNG: " + r.Hang // how the guest ended after that says nothing
	}
	if r.Error != "" {
		return text + ", NO RESULT: " + r.Error
	}
	if r.Interrupted {
		return text + ", interrupted"
	}
	return text + ", 0 hangs"
}

func (r *Record) code() (worst int) {
	for i := range r.Runs {
		worst = max(worst, r.Runs[i].code())
	}
	return worst
}

func writeJSON(path string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(b, '\n'), 0o644)
}

func readRecord(path string) (*Record, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var r Record
	if err := json.Unmarshal(b, &r); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if r.Schema != Schema {
		return nil, fmt.Errorf("%s: schema %q: need %s", path, r.Schema, Schema)
	}
	return &r, nil
}
