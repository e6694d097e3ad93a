package main

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/nvmepass/nvmepass/internal/hostenv"
	"github.com/nvmepass/nvmepass/internal/iosetup"
	"github.com/nvmepass/nvmepass/internal/nopbench"
	"github.com/nvmepass/nvmepass/internal/report"
)

// nopFlags are the flags of nvmepass nop as given.
type nopFlags struct {
	trialFlags
	cfg              nopbench.Config
	op, depths, rule string
	modeFlags        modeFlags
}

const nopExamples = `  nvmepass nop --cpu 0                             NOPs, pinned as in the published run
  nvmepass nop --op uring-cmd --depths 128_32      NVMe commands, to /dev/null
  nvmepass nop --save before.json                  then, on another kernel or build:
  nvmepass nop --baseline before.json              faster, slower or the same?
  nvmepass nop --ablate --depths 128_32            what is each switch worth?
  nvmepass nop --rounds 10 -o bench > new.txt      for benchstat`

func newNop(stdout io.Writer, stderr *os.File) *cobra.Command {
	f := &nopFlags{cfg: nopbench.DefaultConfig()}
	f.command, f.baselines = "nop", nopbench.BaselineNames()
	cmd := &cobra.Command{
		Use:   "nop",
		Short: "Measure the ring alone, without a device",
		Long: `nop measures how many commands a second go through an io_uring with nothing
behind it: what the ring, the kernel's entry and this program's loop cost before
any drive has a say. It needs no device and no privilege.

With --op nop the commands are IORING_OP_NOP. With --op uring-cmd they are NVMe
reads, built and sent by the queue that real drives get, to /dev/null.

All cells run interleaved in shuffled order over several rounds; each shows the
median and a 95 % interval. --baseline with a saved record prints the ratio of
the two runs with its interval (Welch's, since no round of one belongs to a round
of the other), so that a few percent can be told from noise.`,
		Example: nopExamples,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.parse(cmd.Flags()); err != nil {
				return err
			}
			return f.run(cmd.Context(), stdout, stderr)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.op, "op", string(f.cfg.Op), "what to send: nop, or uring-cmd for NVMe reads to /dev/null")
	fl.StringVar(&f.depths, "depths", joined(f.cfg.Depths), "QD_batch pairs, the rows")
	f.addSettings(fl, &f.cfg.Settings)
	fl.StringVar(&f.rule, "batch-rule", "tio", "tio: t/io_uring's, wait for B when full; fio: submit up to B, reap 1 to B")
	fl.BoolVar(&f.cfg.Ablate, "ablate", false, "run every cell again with each of the following switches turned over alone")
	// The switches that mean something without a device, and their help.
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.modeFlags.add(all)
	for _, name := range append(nopbench.Switches(), "sqpoll-idle", "sqpoll-cpu") {
		fl.AddFlag(all.Lookup(name))
	}
	f.addOutput(fl)
	return cmd
}

// noArguments refuses arguments of a command that takes flags alone.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage("%s %s: takes no argument, only flags; see %s --help", cmd.Name(), args[0], cmd.CommandPath())
	}
	return nil
}

// parse turns the flags into f.cfg.
func (f *nopFlags) parse(fl *pflag.FlagSet) (err error) {
	f.cfg.Op = nopbench.Op(f.op)
	if f.cfg.Depths, err = iosetup.ParseDepths(f.depths); err != nil {
		return err
	}
	if f.cfg.Rule, err = iosetup.ParseBatchRule(f.rule); err != nil {
		return err
	}
	f.cfg.Mode = f.modeFlags.mode
	f.cfg.Normalize()
	if err := f.cfg.Validate(); err != nil {
		return err
	}
	for _, name := range nopbench.Switches() {
		if fl.Changed(name) && !f.cfg.Op.Has(name) {
			return usage("--%s: means nothing to --op %s, which has no file: leave it out, or use --op uring-cmd", name, f.op)
		}
	}
	return f.check(fl, func(r io.Reader) error { _, err := nopbench.Decode(r); return err })
}

func (f *nopFlags) run(ctx context.Context, stdout io.Writer, stderr *os.File) error {
	bench, err := nopbench.Open(f.cfg)
	if err != nil {
		return err
	}
	env := hostenv.Collect(nil, nil, f.cfg.CPU)
	update, finish := f.progressTo(stderr)
	res, err := bench.Run(ctx, update)
	finish()
	err = errors.Join(err, bench.Close())
	res.ToolVersion = toolVersion()
	res.SetEnvironment(env)
	saved := f.saveFlags.write("nop", res, func(w io.Writer) error { return report.NopJSON(w, res) })
	return withCode(errors.Join(saved, f.print(stdout, res)), trialVerdict(ctx, res.Totals, res.FailedRounds(), err))
}

func (f *nopFlags) print(w io.Writer, res *nopbench.Result) error {
	switch f.output {
	case "json":
		return report.NopJSON(w, res)
	case "csv":
		return report.NopCSV(w, res)
	case "bench":
		return report.NopBench(w, res)
	case "fio":
		return report.NopFio(w, res)
	}
	base, err := f.base()
	return errors.Join(err, report.NopText(w, res, base))
}

// base is what to show beside the figures. The record is read only now, after
// it was found to be one: a run takes its time.
func (f *nopFlags) base() (base report.NopBaseline, err error) {
	switch {
	case f.baseline == "":
	case f.published():
		base.Published, err = nopbench.Baseline(f.baseline)
	default:
		base.Name = f.baseline
		err = readRecord(f.baseline, func(r io.Reader) (err error) { base.Record, err = nopbench.Decode(r); return err })
	}
	return base, err
}
