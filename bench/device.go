package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/nvmepass/nvmepass/passthru"
)

// Sides of the device part.
const (
	sideDevice = "Device"
	sideFile   = "os.File"
)

// deviceConfig is what the device part runs in the guest.
type deviceConfig struct {
	Rounds     int
	Seed       uint64
	Goroutines []int
	Warmup     time.Duration
	Runtime    time.Duration
	// Node is the namespace's generic node.
	Node string
	// Depth, Workers and Poll are passthru.Config's; zero is its default.
	Depth, Workers int
	Poll           bool
}

// deviceRun is one bout, in a process of its own: what a side leaves behind in
// the Go runtime (os.File makes a thread for each read) must not meet the other.
type deviceRun struct {
	deviceConfig
	Side  string
	Count int // of goroutines
}

func deviceTargets(metric string) func(cell string) Target {
	return func(cell string) Target {
		switch n, _ := strconv.Atoi(cell); {
		case metric == metricCPU:
			return Target{Bound: 1, AtMost: true}
		case metric != metricIOPS:
			return Target{}
		case n == 1:
			return Target{Bound: 1, BeyondNoise: true}
		case n >= 64:
			return Target{Bound: 1.5}
		}
		return Target{}
	}
}

// guestDevice runs the device part where it is called: in the guest.
func guestDevice(ctx context.Context, cfg deviceConfig, progress io.Writer) (*Part, error) {
	c := contest{sides: []string{sideDevice, sideFile}, rounds: cfg.Rounds, seed: cfg.Seed}
	for _, n := range cfg.Goroutines {
		c.cells = append(c.cells, strconv.Itoa(n))
	}
	c.run = func(ctx context.Context, cell, side string) (Sample, error) {
		n, err := strconv.Atoi(cell)
		if err != nil {
			return nil, err
		}
		var s Sample
		return s, inChild(ctx, "device-run", deviceRun{deviceConfig: cfg, Side: side, Count: n}, &s)
	}
	p := &Part{
		Name: "device", Title: "Device: 4 KiB random reads by goroutines, passthru.Device against os.File with O_DIRECT", Rounds: cfg.Rounds,
		Settings: []string{
			fmt.Sprintf("%d rounds of %v after %v warm-up, a process for each run", cfg.Rounds, cfg.Runtime, cfg.Warmup),
			fmt.Sprintf("Device: depth %s, workers %s, polled %t", orDefault(cfg.Depth), orDefault(cfg.Workers), cfg.Poll),
			"cell: number of goroutines; cpu_ns_per_io: user and system time of the process",
		},
	}
	dev, err := passthru.Open(cfg.Node, nil)
	if err != nil {
		return nil, err
	}
	defer dev.Close()
	p.Environment = environment(dev, nil)
	if p.Cells, p.Repeated, err = c.hold(ctx, progress); err != nil {
		return nil, err
	}
	p.Comparisons, err = compareAll(p.Cells, sideDevice, []rule{
		{metricIOPS, sideFile, deviceTargets(metricIOPS)},
		{metricCPU, sideFile, deviceTargets(metricCPU)},
		{metricP99, sideFile, deviceTargets(metricP99)},
	})
	return p, err
}

func orDefault(n int) string {
	if n == 0 {
		return "default"
	}
	return strconv.Itoa(n)
}

// runDevice is one bout.
func runDevice(cfg deviceRun) (s Sample, err error) {
	dev, err := passthru.Open(cfg.Node, &passthru.Config{Depth: cfg.Depth, Workers: cfg.Workers, Poll: cfg.Poll})
	if err != nil {
		return nil, err
	}
	defer func() {
		if cerr := dev.Close(); err == nil {
			err = cerr
		}
	}()
	l := load{from: dev, size: dev.Size(), goroutines: cfg.Count, warmup: cfg.Warmup, runtime: cfg.Runtime}
	switch cfg.Side {
	case sideDevice:
	case sideFile:
		f, err := os.OpenFile(dev.BlockPath(), os.O_RDONLY|syscall.O_DIRECT, 0)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		l.from = f
	default:
		return nil, fmt.Errorf("side %q: need %s or %s", cfg.Side, sideDevice, sideFile)
	}
	return l.run()
}
