package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/nvmepass/nvmepass/internal/hostenv"
	"github.com/nvmepass/nvmepass/internal/iosetup"
	"github.com/nvmepass/nvmepass/internal/report"
	"github.com/nvmepass/nvmepass/internal/sweep"
	"github.com/nvmepass/nvmepass/passthru"
)

// sweepFlags are the flags of nvmepass sweep as given.
type sweepFlags struct {
	trialFlags
	cfg          sweep.Config
	paths, sizes string
	lab          bool
	firstDevice  bool // hidden: without DEVICE, take the first namespace
	modeFlags    modeFlags
	labFlags     labFlags
}

const sweepExamples = `  nvmepass sweep /dev/ng0n1                        every path, below and above the limit
  nvmepass sweep --lab --baseline series-2020b     no drive: in the emulated lab
  nvmepass sweep /dev/ng0n1 --paths block-poll,sync-poll --bs-list 128k,144k,256k
  nvmepass sweep /dev/ng0n1 --paths block,passthru --qd 8 --save run.json`

func newSweep(stdout io.Writer, stderr *os.File) *cobra.Command {
	f := &sweepFlags{cfg: sweep.DefaultConfig()}
	f.command, f.baselines = "sweep", sweep.BaselineNames()
	cmd := &cobra.Command{
		Use:   "sweep DEVICE",
		Short: "Measure bandwidth by block size, across the transfer limit",
		Long: `sweep measures the bandwidth of random reads by block size, below and above
what one NVMe command can carry on the drive (MDTS, max_hw_sectors), over several
paths: io_uring on the block node and passthrough, each polled and by interrupt,
and synchronous preadv2 on the block node, with the hint to poll (sync-poll,
RWF_HIPRI) and without (sync). It only reads.

It marks the sizes that one command does not carry. Above that size the block
layer splits a read; passthrough is never split, so that its cells stay empty. A
cell that is not run says why: a polled ring, for example, never gets a split
read back on Linux 6.1. A path that moves much less than at a smaller size is
flagged as a cliff, with the likely cause.

From Linux 5.19 on the kernel ignores the hint of sync-poll; this is said then.

DEVICE is a namespace's generic node (/dev/ng0n1) or its block node.`,
		Example: sweepExamples,
		RunE: func(cmd *cobra.Command, devices []string) error {
			if err := f.parse(cmd.Flags(), devices); err != nil {
				return err
			}
			if f.lab {
				return f.runInLab(cmd.Context(), cmd.Flags(), stdout, stderr)
			}
			return f.run(cmd.Context(), stdout, stderr)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.sizes, "bs-list", "", "block sizes, the rows (default one block, powers of two from 4k, and around the limit)")
	fl.StringVar(&f.paths, "paths", "", "columns, of "+joined(f.cfg.Paths)+" (default all, with --qd above 1 the first four)")
	fl.IntVar(&f.cfg.QD, "qd", f.cfg.QD, "reads in flight (fio: iodepth)")
	f.addSettings(fl, &f.cfg.Settings)
	f.modeFlags.add(fl)
	f.addOutput(fl)
	fl.BoolVar(&f.lab, "lab", false, "run in the lab: the real driver, an emulated drive, its own guest")
	f.labFlags.add(fl)
	fl.BoolVar(&f.firstDevice, "first-device", false, "")
	_ = fl.MarkHidden("first-device")
	return cmd
}

// parse turns the flags into f.cfg. In the lab the guest chooses the device.
func (f *sweepFlags) parse(fl *pflag.FlagSet, devices []string) (err error) {
	if fl.Changed("paths") {
		if f.cfg.Paths, err = sweep.ParsePaths(f.paths); err != nil {
			return err
		}
	} else if f.cfg.QD > 1 {
		f.cfg.Paths = sweep.RingPaths()
	}
	if fl.Changed("bs-list") {
		if f.cfg.Sizes, err = sweep.ParseSizes(f.sizes); err != nil {
			return err
		}
	}
	f.cfg.Mode = f.modeFlags.mode
	if len(devices) == 0 && f.firstDevice {
		devices = passthru.Namespaces()[:min(1, len(passthru.Namespaces()))]
	}
	switch {
	case len(devices) > 1:
		return usage("sweep %s: takes one device: sweep them one after another", devices[1])
	case len(devices) == 1:
		f.cfg.Device = devices[0]
	case !f.lab:
		return usage("sweep: no device given: name a namespace such as /dev/ng0n1, or use --lab to run without a drive")
	}
	if name := f.labFlags.firstGiven(); name != "" && !f.lab {
		return usage("--%s is for the lab: add --lab", name)
	}
	if err := f.checkSwitches(fl); err != nil {
		return err
	}
	checked := f.cfg
	if f.lab && checked.Device == "" {
		checked.Device = "the guest's first"
	}
	if err := checked.Validate(); err != nil {
		return err
	}
	return f.check(fl, func(r io.Reader) error { _, err := sweep.Decode(r); return err })
}

// checkSwitches refuses switches that mean nothing to any of the paths.
func (f *sweepFlags) checkSwitches(fl *pflag.FlagSet) error {
	if f.cfg.HybridPoll && !slices.ContainsFunc(f.cfg.Paths, sweep.Path.PolledRing) {
		return usage("--hybrid-poll: none of --paths %s is a polled ring: leave it out, or add block-poll or passthru-poll", joined(f.cfg.Paths))
	}
	if slices.ContainsFunc(f.cfg.Paths, func(p sweep.Path) bool { return !p.Synchronous() }) {
		return nil
	}
	names := []string{"sqpoll-idle", "sqpoll-cpu"}
	for _, s := range iosetup.Switches() {
		names = append(names, s.Name)
	}
	for _, name := range names {
		if fl.Changed(name) && name != "hugepages" {
			return usage("--%s: none of --paths %s has a ring: leave it out, or add a path of io_uring", name, joined(f.cfg.Paths))
		}
	}
	return nil
}

// run measures on a device of this machine.
func (f *sweepFlags) run(ctx context.Context, stdout io.Writer, stderr *os.File) error {
	set, err := sweep.Open(&f.cfg)
	if err != nil {
		return err
	}
	d := set.Device()
	if d.Mapped() {
		fmt.Fprintf(stderr, "nvmepass: %s is the block node of %s, which passthrough uses\n", f.cfg.Device, d.Path())
	}
	open := func(string) *passthru.Device { return d }
	env := hostenv.Collect([]string{f.cfg.Device}, open, f.cfg.CPU)
	update, finish := f.progressTo(stderr)
	res, err := set.Run(ctx, update)
	finish()
	hostenv.After(&env, open)
	err = errors.Join(err, set.Close())
	res.ToolVersion = toolVersion()
	res.SetEnvironment(env)
	return withCode(f.writeResult(res, stdout), trialVerdict(ctx, res.Totals, res.FailedRounds(), err))
}

// runInLab runs the sweep in the guest.
func (f *sweepFlags) runInLab(ctx context.Context, fl *pflag.FlagSet, stdout io.Writer, stderr *os.File) error {
	cfg, err := f.labFlags.config(stderr)
	if err != nil {
		return err
	}
	cfg.Program = append([]string{"nvmepass", "sweep", "--first-device", "--progress", guestProgress(f.progress, stderr)}, f.labFlags.guestArgs(fl)...)
	if f.cfg.Device != "" {
		cfg.Program = append(cfg.Program, f.cfg.Device)
	}
	return inGuest(ctx, cfg, sweep.Decode, func(r *sweep.Result) error { return f.writeResult(r, stdout) })
}

// writeResult renders a result as asked. A record that cannot be saved does not
// keep the figures from standard output.
func (f *sweepFlags) writeResult(res *sweep.Result, stdout io.Writer) error {
	saved := f.saveFlags.write("sweep", res, func(w io.Writer) error { return report.SweepJSON(w, res) })
	return errors.Join(saved, f.print(stdout, res))
}

func (f *sweepFlags) print(w io.Writer, res *sweep.Result) error {
	switch f.output {
	case "json":
		return report.SweepJSON(w, res)
	case "csv":
		return report.SweepCSV(w, res)
	case "bench":
		return report.SweepBench(w, res)
	case "fio":
		return report.SweepFio(w, res)
	}
	var base report.SweepBaseline
	var err error
	switch {
	case f.baseline == "":
	case f.published():
		base.Published, err = sweep.Baseline(f.baseline)
	default:
		base.Name = f.baseline
		err = readRecord(f.baseline, func(r io.Reader) (err error) { base.Record, err = sweep.Decode(r); return err })
	}
	return errors.Join(err, report.SweepText(w, res, base))
}
