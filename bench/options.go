package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nvmepass/nvmepass/internal/lab"
	"github.com/nvmepass/nvmepass/internal/lab/hosttool"
	"github.com/nvmepass/nvmepass/internal/sys"
)

// partDefaults are the times of a run in each part, so that the whole takes
// about a quarter of an hour with ten rounds.
var partDefaults = map[string]struct{ warmup, runtime time.Duration }{
	"ring":   {50 * time.Millisecond, 500 * time.Millisecond},
	"drive":  {200 * time.Millisecond, 800 * time.Millisecond},
	"device": {200 * time.Millisecond, time.Second},
}

// partOrder is the order in which parts run.
var partOrder = []string{"ring", "drive", "device"}

// options are the command line.
type options struct {
	parts           []string
	rounds          int
	seed            uint64
	runtime, warmup time.Duration // 0 for the part's own
	cpu             int
	nvmepass, loops string
	out             string
	guest           guest
	device          deviceConfig
}

func parseOptions(args []string, stderr io.Writer) (*options, error) {
	o := &options{}
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	fs.SetOutput(stderr)
	parts := fs.String("parts", strings.Join(partOrder, ","), "what to measure")
	fs.IntVar(&o.rounds, "rounds", 10, "runs of each side of each cell")
	fs.Uint64Var(&o.seed, "seed", 1, "of the order of the cells")
	fs.DurationVar(&o.runtime, "runtime", 0, "measured time of one run (default: ring 500ms, drive 800ms, device 1s)")
	fs.DurationVar(&o.warmup, "warmup", 0, "time before it (default: ring 50ms, drive and device 200ms; the C loops take a tenth of the run time)")
	fs.IntVar(&o.cpu, "cpu", -1, "pin the ring part to this CPU (default the last that is allowed)")
	fs.StringVar(&o.nvmepass, "nvmepass", "./nvmepass", "program under test")
	fs.StringVar(&o.loops, "loops", "dist/bench", "folder of the compiled C loops")
	fs.StringVar(&o.out, "save", "bench.json", "where to write all samples; empty for nowhere")
	fs.StringVar(&o.guest.kernel, "kernel", "", "lab: kernel image (default the newest)")
	fs.StringVar(&o.guest.accel, "accel", lab.AccelAuto, "lab: auto, kvm or tcg")
	fs.IntVar(&o.device.Depth, "device-depth", 0, "passthru.Config.Depth of the device part (default the package's)")
	fs.IntVar(&o.device.Workers, "device-workers", 0, "passthru.Config.Workers of the device part (default the package's)")
	fs.BoolVar(&o.device.Poll, "device-poll", false, "passthru.Config.Poll of the device part")
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	if fs.NArg() > 0 {
		return nil, fmt.Errorf("argument %q: there are only flags; see -help", fs.Arg(0))
	}
	for name := range strings.SplitSeq(*parts, ",") {
		if !slices.Contains(partOrder, name) || slices.Contains(o.parts, name) {
			return nil, fmt.Errorf("-parts %q: give any of %s, each once", *parts, strings.Join(partOrder, ","))
		}
		o.parts = append(o.parts, name)
	}
	if o.rounds < 1 || o.rounds > 1000 {
		return nil, fmt.Errorf("-rounds %d: need 1 to 1000, and 3 for intervals", o.rounds)
	}
	if o.runtime < 0 || o.warmup < 0 || o.runtime > time.Hour || o.warmup > time.Hour {
		return nil, fmt.Errorf("-runtime %v, -warmup %v: need times up to 1h, or 0 for the part's own", o.runtime, o.warmup)
	}
	allowed, err := sys.AllowedCPUs()
	if err != nil {
		return nil, fmt.Errorf("find the CPUs that this process may use: %w", err)
	}
	if o.cpu < 0 {
		o.cpu = allowed[len(allowed)-1]
	}
	if !slices.Contains(allowed, o.cpu) {
		return nil, fmt.Errorf("-cpu %d: this process may use %v", o.cpu, allowed)
	}
	return o, nil
}

// times are those of a part.
func (o *options) times(part string) (warmup, runtime time.Duration) {
	warmup, runtime = partDefaults[part].warmup, partDefaults[part].runtime
	if o.warmup > 0 {
		warmup = o.warmup
	}
	if o.runtime > 0 {
		runtime = o.runtime
	}
	return warmup, runtime
}

// guestTimeout bounds a guest's run by what its bouts take, with as much again
// as a slow machine may need for each.
func guestTimeout(bouts int, each time.Duration) time.Duration {
	return 5*time.Minute + time.Duration(bouts)*(2*each+5*time.Second)
}

// programs refuses to start without the programs that a part needs, so that it
// does not end in the middle.
func programs(paths ...string) error {
	for _, p := range paths {
		if _, err := exec.LookPath(p); err != nil {
			return fmt.Errorf("%w: make bench builds it; -nvmepass and -loops name other places", err)
		}
	}
	return nil
}

// part runs one part.
func (o *options) part(ctx context.Context, name string, stderr io.Writer) (*Part, error) {
	warmup, runtime := o.times(name)
	g := o.guest
	switch name {
	case "ring":
		if err := programs(o.nvmepass, filepath.Join(o.loops, sideLiburing), filepath.Join(o.loops, sideFloor)); err != nil {
			return nil, err
		}
		return ringPart(ctx, ringConfig{
			Rounds: o.rounds, Seed: o.seed, Warmup: warmup, Runtime: runtime, CPU: o.cpu, Nvmepass: o.nvmepass, Loops: o.loops,
		}, stderr)
	case "drive":
		if err := programs(o.nvmepass); err != nil {
			return nil, err
		}
		fio, err := hosttool.Find("fio")
		if err != nil {
			return nil, err
		}
		nvmepass, err := filepath.Abs(o.nvmepass)
		if err != nil {
			return nil, err
		}
		g.files = maps.Clone(fio.Files)
		g.files[nvmepass] = guestNvmepass
		g.timeout = guestTimeout(2*o.rounds*len(drivePaths)*len(driveDepths), warmup+runtime)
		return g.inGuest(ctx, "guest-drive", driveConfig{
			Rounds: o.rounds, Seed: o.seed, Warmup: warmup, Runtime: runtime, CPU: lab.DefaultCPUs - 1, Node: guestNode,
			Nvmepass: guestNvmepass, Fio: fio.Command,
		}, stderr)
	default:
		cfg := o.device
		cfg.Rounds, cfg.Seed, cfg.Warmup, cfg.Runtime, cfg.Node = o.rounds, o.seed, warmup, runtime, guestNode
		cfg.Goroutines = []int{1, 8, 64, 512}
		g.timeout = guestTimeout(2*o.rounds*len(cfg.Goroutines), warmup+runtime)
		return g.inGuest(ctx, "guest-device", cfg, stderr)
	}
}
