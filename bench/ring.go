package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Sides of the ring part. The loops' names are those of their programs.
const (
	sideQueue    = "nvmepass"
	sideLiburing = "liburing"
	sideFloor    = "floor"
)

// Operations of the ring part, as `nvmepass nop` and the loops name them.
const (
	opURINGCmd = "uring-cmd"
	opNOP      = "nop"
)

var ringDepths = []string{"1_1", "8_2", "16_4", "128_32"}

// ringConfig is what the ring part runs.
type ringConfig struct {
	Rounds          int
	Seed            uint64
	Warmup, Runtime time.Duration
	CPU             int
	Nvmepass        string // the program under test
	Loops           string // folder of the C programs
}

// ringTargets are held against the liburing loop and the floor for both
// operations alike.
func ringTargets(against string) func(cell string) Target {
	bounds := map[string]map[string]float64{
		sideLiburing: {"1_1": 0.97, "8_2": 1, "16_4": 1, "128_32": 1.03},
		sideFloor:    {"128_32": 0.95},
	}
	return func(cell string) Target {
		_, depth, _ := strings.Cut(cell, " ")
		return Target{Bound: bounds[against][depth]}
	}
}

func ringPart(ctx context.Context, cfg ringConfig, progress io.Writer) (*Part, error) {
	c := contest{sides: []string{sideQueue, sideLiburing, sideFloor}, rounds: cfg.Rounds, seed: cfg.Seed}
	for _, op := range []string{opURINGCmd, opNOP} {
		for _, depth := range ringDepths {
			c.cells = append(c.cells, op+" "+depth)
		}
	}
	c.run = func(ctx context.Context, cell, side string) (Sample, error) {
		op, depth, _ := strings.Cut(cell, " ")
		if side == sideQueue {
			return runTool(ctx, cfg.Nvmepass, nopArgs(cfg, op, depth), nopSchema, op, depth)
		}
		qd, batch, _ := strings.Cut(depth, "_")
		out, err := output(ctx, filepath.Join(cfg.Loops, side), qd, batch, fmt.Sprint(cfg.Runtime.Seconds()), op, strconv.Itoa(cfg.CPU))
		if err != nil {
			return nil, err
		}
		return decodeLoop(out, side, op, depth)
	}
	p := &Part{
		Name: "ring", Title: "Ring: commands per second on /dev/null (uring-cmd) and NOP, the queue's loop against C loops", Rounds: cfg.Rounds,
		Settings: []string{
			fmt.Sprintf("%d rounds of %v after a warm-up, pinned to CPU %d, a process for each run", cfg.Rounds, cfg.Runtime, cfg.CPU),
			"all: submit up to the batch, wait for a batch only when the queue is full; single issuer, deferred task work, registered file and ring",
			"cpu_ns_per_io: user and system time of the submitting thread, which a busy neighbour does not add to",
			"ours: nvmepass " + strings.Join(nopArgs(cfg, "OP", "QD_BATCH"), " "),
		},
		Environment: environment(nil, &cfg.CPU),
	}
	var err error
	if p.Cells, p.Repeated, err = c.hold(ctx, progress); err != nil {
		return nil, err
	}
	p.Comparisons, err = compareAll(p.Cells, sideQueue, []rule{
		{metricIOPS, sideLiburing, ringTargets(sideLiburing)},
		{metricIOPS, sideFloor, ringTargets(sideFloor)},
		{metricCPU, sideLiburing, noTarget},
		{metricCPU, sideFloor, noTarget},
	})
	return p, err
}

func nopArgs(cfg ringConfig, op, depth string) []string {
	return []string{
		"nop", "--op", op, "--depths", depth, "--rounds", "1", "--runtime", cfg.Runtime.String(), "--warmup", cfg.Warmup.String(),
		"--cpu", strconv.Itoa(cfg.CPU), "--progress", "none", "-o", "json",
	}
}

// decodeLoop reads the line of a C loop. Unknown keys are refused, since the
// loops belong to this program.
func decodeLoop(out []byte, loop, op, depth string) (Sample, error) {
	var r struct {
		Loop     string  `json:"loop"`
		Op       string  `json:"op"`
		QD       int     `json:"qd"`
		Batch    int     `json:"batch"`
		Seconds  float64 `json:"seconds"`
		Commands uint64  `json:"commands"`
		Calls    uint64  `json:"calls"`
		IOPS     float64 `json:"iops"`
		CPU      float64 `json:"cpu_seconds"`
	}
	d := json.NewDecoder(bytes.NewReader(out))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return nil, fmt.Errorf("output of the loop %s: %w: %s", loop, err, tail(out))
	}
	if got := fmt.Sprintf("%s %s %d_%d", r.Loop, r.Op, r.QD, r.Batch); got != loop+" "+op+" "+depth {
		return nil, fmt.Errorf("output of the loop %s: it ran %s: need %s %s %s", loop, got, loop, op, depth)
	}
	if r.Calls == 0 || r.Commands == 0 {
		return nil, fmt.Errorf("output of the loop %s: %d commands by %d system calls in %v s", loop, r.Commands, r.Calls, r.Seconds)
	}
	n := float64(r.Commands)
	return Sample{metricIOPS: r.IOPS, metricCPU: r.CPU * 1e9 / n, metricPerCall: n / float64(r.Calls)}, nil
}
