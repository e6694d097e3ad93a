package main

import (
	"fmt"
	"math"
	"time"

	"github.com/nvmepass/nvmepass/internal/compare"
)

// Schema names the form of [Record]. Its number rises when a key changes its
// meaning or goes.
const Schema = "nvmepass.bench/1"

// Record is one run of the benchmark, as written to bench.json.
type Record struct {
	Schema string `json:"schema"`
	// Started and Finished are in UTC.
	Started  time.Time `json:"started"`
	Finished time.Time `json:"finished"`
	// Command is the benchmark's own command line.
	Command []string `json:"command"`
	// Host is the machine that the benchmark was started on.
	Host  compare.Environment `json:"host"`
	Parts []Part              `json:"parts"`
}

// Part is one contest.
type Part struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	// Settings say what was run, one sentence each.
	Settings []string `json:"settings"`
	Rounds   int      `json:"rounds"`
	// LoadBefore and LoadAfter are the host's load averages of one minute: an
	// idle machine has 0 before, and after it what the part itself runs.
	LoadBefore string `json:"load_before"`
	LoadAfter  string `json:"load_after"`
	// Environment is where it was measured: the host, or a guest of the lab.
	Environment compare.Environment `json:"environment"`
	Cells       []Cell              `json:"cells"`
	// Repeated says why runs were repeated, a sentence for each.
	Repeated    []string     `json:"repeated"`
	Comparisons []Comparison `json:"comparisons"`
}

// Cell is one thing that all sides did.
type Cell struct {
	Name  string `json:"name"`
	Sides []Side `json:"sides"`
}

// side returns the samples of a side, nil if it took no part.
func (c *Cell) side(name string) []Sample {
	for _, s := range c.Sides {
		if s.Name == name {
			return s.Samples
		}
	}
	return nil
}

// Side is one contestant in one cell.
type Side struct {
	Name string `json:"name"`
	// Samples has one entry for each round, in order.
	Samples []Sample `json:"samples"`
}

// values is one metric of all samples; nil if any lacks it.
func values(samples []Sample, metric string) []float64 {
	var all []float64
	for _, s := range samples {
		v, ok := s[metric]
		if !ok {
			return nil
		}
		all = append(all, v)
	}
	return all
}

// Sample is what one run gave, by metric.
type Sample map[string]float64

// Metrics. Each sample has IOPS.
const (
	metricIOPS = "iops"          // completed commands per second
	metricCPU  = "cpu_ns_per_io" // user and system time of the process per command, in ns
	metricP50  = "p50_ns"        // latency that half of the commands did not exceed
	metricP99  = "p99_ns"        // latency that 99 % of the commands did not exceed
	// metricPerCall is the number of commands per system call.
	metricPerCall = "commands_per_call"
)

// check refuses a sample that no ratio can be made of.
func (s Sample) check() error {
	if s[metricIOPS] <= 0 {
		return fmt.Errorf("%s is %v: nothing was completed", metricIOPS, s[metricIOPS])
	}
	for name, v := range s {
		if v < 0 || math.IsInf(v, 0) || math.IsNaN(v) {
			return fmt.Errorf("%s is %v: need a number that is not negative", name, v)
		}
	}
	return nil
}
