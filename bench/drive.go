package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/nvmepass/nvmepass/passthru"
)

// Sides of the drive part.
const (
	sideCompare = "nvmepass"
	sideFio     = "fio"
)

var (
	drivePaths  = []string{"block", "passthru", "passthru-poll", "block-poll"}
	driveDepths = []string{"1_1", "8_2", "16_4", "128_32"}
)

// guestNvmepass is where the program under test stands in the guest.
const guestNvmepass = "/tools/nvmepass"

// driveConfig is what the drive part runs in the guest.
type driveConfig struct {
	Rounds          int
	Seed            uint64
	Warmup, Runtime time.Duration
	CPU             int
	Node            string   // the namespace's generic node
	Nvmepass        string   // the program under test
	Fio             []string // how to call fio
}

// guestDrive runs the drive part where it is called: in the guest.
func guestDrive(ctx context.Context, cfg driveConfig, progress io.Writer) (*Part, error) {
	dev, err := passthru.Open(cfg.Node, nil)
	if err != nil {
		return nil, err
	}
	generic, block := dev.Path(), dev.BlockPath()
	p := &Part{Name: "drive", Title: "Drive: 512 B random reads, nvmepass compare against fio", Rounds: cfg.Rounds, Environment: environment(dev, &cfg.CPU)}
	if err := dev.Close(); err != nil {
		return nil, err
	}
	version, err := output(ctx, cfg.Fio[0], append(cfg.Fio[1:len(cfg.Fio):len(cfg.Fio)], "--version")...)
	if err != nil {
		return nil, err
	}
	c := contest{sides: []string{sideCompare, sideFio}, rounds: cfg.Rounds, seed: cfg.Seed}
	for _, depth := range driveDepths {
		for _, path := range drivePaths {
			c.cells = append(c.cells, depth+" "+path)
		}
	}
	c.run = func(ctx context.Context, cell, side string) (Sample, error) {
		depth, path, _ := strings.Cut(cell, " ")
		if side == sideCompare {
			return runTool(ctx, cfg.Nvmepass, compareArgs(cfg, path, depth), compareSchema, path, depth)
		}
		args := append(cfg.Fio[1:len(cfg.Fio):len(cfg.Fio)], fioArgs(cfg, generic, block, path, depth)...)
		out, err := output(ctx, cfg.Fio[0], args...)
		if err != nil {
			return nil, fmt.Errorf("%w: %s", err, tail(out)) // where fio says some of its errors
		}
		qd, _, _ := strings.Cut(depth, "_")
		most, err := strconv.ParseUint(qd, 10, 32)
		if err != nil {
			return nil, err
		}
		return decodeFio(out, most)
	}
	p.Settings = []string{
		fmt.Sprintf("%d rounds of %v after %v warm-up, pinned to CPU %d, a process for each run", cfg.Rounds, cfg.Runtime, cfg.Warmup, cfg.CPU),
		"both: submit up to the batch, reap 1 to the batch; fixed buffers, registered files",
		"ours: nvmepass " + strings.Join(compareArgs(cfg, "PATH", "QD_BATCH"), " "),
		strings.TrimSpace(string(version)) + ": " + strings.Join(fioArgs(cfg, generic, block, "passthru-poll", "QD_BATCH"), " "),
	}
	if p.Cells, p.Repeated, err = c.hold(ctx, progress); err != nil {
		return nil, err
	}
	p.Comparisons, err = compareAll(p.Cells, sideCompare, []rule{
		{metricIOPS, sideFio, func(string) Target { return Target{Bound: 1, BeyondNoise: true} }},
	})
	if err != nil {
		return nil, err
	}
	mean, err := geometricMean(p.Cells, sideCompare, sideFio, metricIOPS, Target{Bound: 1.05})
	if err != nil {
		return nil, err
	}
	p.Comparisons = append(p.Comparisons, mean)
	return p, nil
}

func compareArgs(cfg driveConfig, path, depth string) []string {
	return []string{
		"compare", cfg.Node, "--paths", path, "--depths", depth, "--bs", strconv.Itoa(blockSize), "--rw", "randread", "--batch-rule", "fio", "--rounds", "1",
		"--runtime", cfg.Runtime.String(), "--warmup", cfg.Warmup.String(), "--cpu", strconv.Itoa(cfg.CPU), "--progress", "none", "-o", "json",
	}
}
