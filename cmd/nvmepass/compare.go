package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nvmepass/nvmepass/internal/cell"
	"github.com/nvmepass/nvmepass/internal/compare"
	"github.com/nvmepass/nvmepass/internal/hostenv"
	"github.com/nvmepass/nvmepass/internal/iosetup"
	"github.com/nvmepass/nvmepass/internal/report"
	"github.com/nvmepass/nvmepass/internal/sys"
	"github.com/nvmepass/nvmepass/passthru"
)

// compareFlags are the flags of nvmepass compare as given.
type compareFlags struct {
	cfg                 compare.Config
	paths, depths, rule string
	output              string
	saveFlags           saveFlags
	baseline            string
	progress            string
	lab                 bool
	firstDevice         bool // hidden: without DEVICE, take the first namespace
	inject              cell.Injection
	modeFlags           modeFlags
	labFlags            labFlags
}

const compareExamples = `  nvmepass compare /dev/ng0n1                      the table for one drive
  nvmepass compare /dev/nvme0n1 --cpu 3            the same drive by its block node, pinned
  nvmepass compare --lab                           no drive: in the emulated lab
  nvmepass compare /dev/ng0n1 --paths passthru,passthru-poll --depths 1_1,256_64
  nvmepass compare /dev/ng0n1 --fixedbufs=false    without fixed buffers
  nvmepass compare /dev/ng0n1 --ablate --depths 128_32    what is each switch worth?
  nvmepass compare /dev/ng0n1 --save run.json --baseline series-2022`

func newCompare(stdout io.Writer, stderr *os.File) *cobra.Command {
	f := &compareFlags{cfg: compare.DefaultConfig()}
	cmd := &cobra.Command{
		Use:   "compare [DEVICE...]",
		Short: "Compare block, passthru, passthru-poll and block-poll",
		Long: `compare measures random reads of one size over four paths to the same drive
at several queue depths and batch sizes, and prints them as the table with which
the kernel's developers introduced passthrough polling. It only reads.

All cells run interleaved in shuffled order over several rounds, so that drift
hits all paths alike; each shows the median and a 95 % interval, and a ratio to
block that lies within the noise is called "same".

DEVICE is a namespace's generic node (/dev/ng0n1) or its block node; the other
one is found by itself.`,
		Example: compareExamples,
		RunE: func(cmd *cobra.Command, devices []string) error {
			f.cfg.Devices = devices
			if err := f.parse(cmd); err != nil {
				return err
			}
			if f.lab {
				return f.runInLab(cmd.Context(), cmd.Flags(), stdout, stderr)
			}
			return f.run(cmd.Context(), stdout, stderr)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.paths, "paths", joined(f.cfg.Paths), "paths to compare, the columns")
	fl.StringVar(&f.depths, "depths", joined(f.cfg.Depths), "QD_batch pairs, the rows")
	fl.IntVar(&f.cfg.Rounds, "rounds", f.cfg.Rounds, "times that every cell is run; intervals need 3")
	fl.Var(timeValue{&f.cfg.Runtime}, "runtime", "measured time of a cell in each round, in seconds or with a unit")
	fl.Var(timeValue{&f.cfg.Warmup}, "warmup", "time before that, not measured (fio: ramp_time)")
	f.cfg.BlockSize = 0
	fl.Var(&sizeValue{n: &f.cfg.BlockSize}, "bs", "bytes of each read, extended metadata included (default one logical block)")
	fl.StringVar(&f.cfg.RW, "rw", f.cfg.RW, "randread or read")
	fl.StringVar(&f.rule, "batch-rule", "fio", "fio: submit up to B, reap 1 to B; tio: t/io_uring's, wait for B when full")
	fl.BoolVar(&f.cfg.Ablate, "ablate", false, "run every cell again with each of the following switches turned over alone")
	f.modeFlags.add(fl)
	fl.Var(cpuValue{&f.cfg.CPU}, "cpu", "CPU to pin the submitting thread to (default not pinned)")
	fl.Uint64Var(&f.cfg.Seed, "seed", f.cfg.Seed, "of the order of cells and of the addresses")
	addFormat(fl, &f.output, "compare")
	f.saveFlags.add(fl)
	fl.StringVar(&f.baseline, "baseline", "", "show figures beside: series-2022, or a saved JSON record")
	addProgress(fl, &f.progress)
	fl.BoolVar(&f.lab, "lab", false, "run in the lab: the real driver, an emulated drive, its own guest")
	f.labFlags.add(fl)
	fl.BoolVar(&f.firstDevice, "first-device", false, "")
	_ = fl.MarkHidden("first-device")
	fl.Var(injectValue{&f.inject}, "inject-delay", "")
	_ = fl.MarkHidden("inject-delay")
	return cmd
}

func joined[T any](list []T) string {
	parts := make([]string, len(list))
	for i, v := range list {
		parts[i] = fmt.Sprint(v)
	}
	return strings.Join(parts, ",")
}

// parse turns the flags into f.cfg. In the lab the guest chooses the device,
// because only its kernel knows the name: with multipath it varies.
func (f *compareFlags) parse(cmd *cobra.Command) (err error) {
	if f.cfg.Paths, err = iosetup.ParsePaths(f.paths); err != nil {
		return err
	}
	if f.cfg.Depths, err = iosetup.ParseDepths(f.depths); err != nil {
		return err
	}
	if f.cfg.Rule, err = iosetup.ParseBatchRule(f.rule); err != nil {
		return err
	}
	f.cfg.Mode = f.modeFlags.mode
	if err := checkFormat(f.output, "compare"); err != nil {
		return err
	}
	if err := checkProgress(f.progress); err != nil {
		return err
	}
	if len(f.cfg.Devices) == 0 && f.firstDevice {
		f.cfg.Devices = passthru.Namespaces()[:min(1, len(passthru.Namespaces()))]
	}
	if !f.lab {
		if name := f.labFlags.firstGiven(); name != "" {
			return usage("--%s is for the lab: add --lab", name)
		}
		if len(f.cfg.Devices) == 0 {
			return usage("compare: no device given: name a namespace such as /dev/ng0n1, or use --lab to run without a drive")
		}
	}
	// A block size of 0, and in the lab the device, are chosen later; check the
	// rest now.
	checked := f.cfg
	if f.lab && len(checked.Devices) == 0 {
		checked.Devices = []string{"the guest's first"}
	}
	if checked.BlockSize == 0 && !cmd.Flags().Changed("bs") {
		checked.BlockSize = 512
	}
	if err := checked.Validate(); err != nil {
		return err
	}
	if err := f.saveFlags.check(cmd.Flags()); err != nil {
		return err
	}
	if cmd.Flags().Changed("baseline") {
		if f.output != "text" {
			return usage("--baseline %s: shown in text alone: use -o text", f.baseline)
		}
		return f.checkBaseline()
	}
	return nil
}

// run measures on the devices of this machine.
func (f *compareFlags) run(ctx context.Context, stdout io.Writer, stderr *os.File) error {
	set, err := cell.Open(&f.cfg)
	if err != nil {
		return err
	}
	for _, path := range f.cfg.Devices {
		if d := set.Device(path); d.Mapped() {
			fmt.Fprintf(stderr, "nvmepass: %s is the block node of %s, which passthrough uses\n", path, d.Path())
		}
	}
	set.Inject(f.inject)
	env := hostenv.Collect(f.cfg.Devices, set.Device, f.cfg.CPU)
	update, finish := f.progressTo(stderr)
	res, err := compare.Run(ctx, f.cfg, set.Run, update)
	finish()
	hostenv.After(&env, set.Device)
	if cerr := set.Close(); cerr != nil {
		err = errors.Join(err, cerr)
	}
	if res == nil {
		return err
	}
	res.ToolVersion = toolVersion()
	res.SetEnvironment(env)
	if f.inject != (cell.Injection{}) {
		res.Warnings = append(res.Warnings, f.inject.String())
	}
	if leaked := set.Leaked(); leaked != nil {
		res.Warnings = append(res.Warnings, "commands never came back, and the kernel may still write to their memory: "+leaked.Error())
	}
	return withCode(f.write(res, stdout), verdict(ctx, res, err))
}

// progressTo chooses how progress is shown on stderr.
func (f *compareFlags) progressTo(stderr *os.File) (update func(compare.Progress), finish func()) {
	width, tty := sys.TerminalWidth(int(stderr.Fd()))
	switch f.progress {
	case "none":
		return nil, func() {}
	case "line":
		tty = true
	case "plain":
		tty = false
	}
	p := report.NewProgress(stderr, tty, width)
	return p.Update, p.Finish
}

// write renders a result as asked. A record that cannot be saved does not keep
// the figures from standard output.
func (f *compareFlags) write(res *compare.Result, stdout io.Writer) error {
	saved := f.saveFlags.write("compare", res, func(w io.Writer) error { return report.JSON(w, res) })
	return errors.Join(saved, f.print(res, stdout))
}

func (f *compareFlags) print(res *compare.Result, stdout io.Writer) error {
	switch f.output {
	case "json":
		return report.JSON(stdout, res)
	case "csv":
		return report.CSV(stdout, res)
	case "bench":
		return report.Bench(stdout, res)
	case "fio":
		return report.Fio(stdout, res)
	}
	return report.Text(stdout, res, report.TextOptions{Baseline: f.baselineOf})
}

// verdict is the error that the process ends with once the result is written.
func verdict(ctx context.Context, res *compare.Result, err error) error {
	switch {
	case ctx.Err() != nil:
		return &codeError{code: exitInterrupted}
	case err != nil:
		return err
	case res.FailedRounds() > 0 || res.Totals.Failed > 0:
		return &codeError{code: exitIO}
	case res.Totals.Cancelled > 0:
		return &codeError{code: exitTimeout}
	}
	return nil
}

// withCode keeps the words of an error of writing the result beside the
// verdict on it, and the verdict's exit code.
func withCode(err, verdict error) error {
	if err == nil {
		return verdict
	}
	if c, ok := errors.AsType[*codeError](verdict); ok {
		return &codeError{c.code, errors.Join(err, c.err)}
	}
	if verdict != nil {
		return errors.Join(err, verdict)
	}
	return &codeError{exitIO, err}
}
