package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/nvmepass/nvmepass/internal/consent"
	"github.com/nvmepass/nvmepass/internal/hostenv"
	"github.com/nvmepass/nvmepass/internal/jobs"
	"github.com/nvmepass/nvmepass/internal/report"
	"github.com/nvmepass/nvmepass/internal/trial"
	"github.com/nvmepass/nvmepass/passthru"
	"github.com/nvmepass/nvmepass/uringcmd"
)

const runExamples = `  nvmepass run /dev/ng0n1                              random reads for 10 s, depth 128
  nvmepass run /dev/ng0n1 --path passthru-poll --cpu 0 --bs 512 --runtime 30
  nvmepass run /dev/nvme0n1 --path block-poll --qd 128 --batch 32 --cpu 0      t/io_uring -d128 -s32 -c32 -p1
  nvmepass run /dev/ng0n1 /dev/ng1n1 --path block --qd 1                       one job per drive
  nvmepass run /dev/ng0n1 /dev/ng1n1 --shared-ring                             one ring for both
  nvmepass run /dev/ng0n1 --numjobs 4 --cpu 0-3 -o json --save run.json
  nvmepass run /dev/ng0n1 --rate-iops 100000 --rate-process poisson --latency
  nvmepass run /dev/ng0n1 --rw randrw --rwmixread 70 --allow-write --size 1g   destroys data
  nvmepass run --lab --drive size=1g --drive size=1g --path block --qd 1       no drive: in the lab`

func newRun(stdout io.Writer, stderr *os.File) *cobra.Command {
	f := &runFlags{cfg: jobs.DefaultConfig()}
	cmd := &cobra.Command{
		Use:   "run [DEVICE...]",
		Short: "Run one workload, with a live line per second",
		Long: `run drives namespaces with one workload and prints what came of it: rates per
device and in all, I/Os per system call, commands in flight and CPU time per
I/O. Meanwhile standard error has a line per second in t/io_uring's form;
SIGUSR1 asks for one more. SIGINT and SIGTERM end the run, which then prints what
was measured so far and exits with 130; a second one ends it at once.

DEVICE is a namespace's generic node (/dev/ng0n1) or its block node; the other
one is found by itself. Each job is one ring on a thread of its own.

Flags may be written as fio has them, with underscores. Depths, counts and rates
are per job. Patterns that write destroy data: they need --allow-write, show what
they will overwrite, refuse a namespace that is in use, partitioned or holds a
file system, and keep others from mounting it meanwhile.`,
		Example: runExamples,
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
	f.add(cmd.Flags())
	return cmd
}

// run runs on the devices of this machine.
func (f *runFlags) run(ctx context.Context, stdout io.Writer, stderr *os.File) (err error) {
	if _, err := uringcmd.ProbeKernel(); err != nil {
		return err
	}
	devs, err := f.open(stderr)
	defer func() {
		for _, d := range devs {
			err = errors.Join(err, d.Close())
		}
	}()
	if err != nil {
		return err
	}
	holds, err := f.consent(ctx, devs, stderr)
	defer func() {
		for _, h := range holds {
			err = errors.Join(err, h.Close())
		}
	}()
	if err != nil {
		return err
	}
	deviceOf := func(path string) *passthru.Device {
		for i, p := range f.cfg.Devices {
			if p == path {
				return devs[i]
			}
		}
		return nil
	}
	var cpu *int
	if len(f.cfg.CPUs) > 0 {
		cpu = &f.cfg.CPUs[0]
	}
	env := hostenv.Collect(f.cfg.Devices, deviceOf, cpu)
	live := f.liveTo(stderr)
	res, err := jobs.Run(ctx, f.cfg, devs, live.options())
	live.finish()
	if res == nil {
		return err
	}
	hostenv.After(&env, deviceOf)
	res.Environment, res.ToolVersion = trial.Environment(env), toolVersion()
	return withCode(f.write(res, stdout), runVerdict(ctx, res, err))
}

// open opens the devices, for writing only if the pattern does, and checks that
// the workload can run on them.
func (f *runFlags) open(stderr io.Writer) (devs []*passthru.Device, err error) {
	var spaces []jobs.Namespace
	for _, path := range f.cfg.Devices {
		// The Device's own commands are few: those that find and empty zones.
		d, err := passthru.Open(path, &passthru.Config{Writable: f.cfg.RW.Writes(), Depth: 4})
		if err != nil {
			return devs, err
		}
		devs, spaces = append(devs, d), append(spaces, d)
		if d.Mapped() && f.cfg.Path.Passthru() {
			fmt.Fprintf(stderr, "nvmepass: %s is the block node of %s, which passthrough uses\n", path, d.Path())
		}
	}
	return devs, jobs.Check(&f.cfg, spaces)
}

// consent asks whether each device may be written to, and holds it.
func (f *runFlags) consent(ctx context.Context, devs []*passthru.Device, stderr io.Writer) (holds []*consent.Hold, err error) {
	if !f.cfg.RW.Writes() {
		return nil, nil
	}
	for _, d := range devs {
		h, err := consent.Check(ctx, d, consent.Request{
			Op: string(f.cfg.RW), AllowWrite: f.allowWrite, Force: f.force, Offset: f.cfg.Offset, Length: f.cfg.Size, Show: stderr,
		})
		if err != nil {
			return holds, err
		}
		holds = append(holds, h)
	}
	return holds, nil
}

// write renders a result as asked. A record that cannot be saved does not keep
// the figures from standard output.
func (f *runFlags) write(res *jobs.Result, stdout io.Writer) error {
	saved := f.saveFlags.write("run", res, func(w io.Writer) error { return report.RunJSON(w, res) })
	return errors.Join(saved, f.print(res, stdout))
}

func (f *runFlags) print(res *jobs.Result, stdout io.Writer) error {
	render := map[string]func(io.Writer, *jobs.Result) error{
		"text": report.RunText, "json": report.RunJSON, "csv": report.RunCSV, "bench": report.RunBench, "fio": report.RunFio,
	}[f.output]
	if err := render(stdout, res); err != nil || f.baseline == "" {
		return err
	}
	p, err := jobs.Baseline(f.baseline)
	if err != nil {
		return err
	}
	return report.RunBaseline(stdout, res, p)
}

// runVerdict is the error that the process ends with once the result is
// written.
func runVerdict(ctx context.Context, res *jobs.Result, err error) error {
	switch {
	case errors.Is(err, uringcmd.ErrStalled), jobs.Gone(err):
		return &codeError{exitTimeout, err}
	case ctx.Err() != nil:
		return &codeError{code: exitInterrupted}
	case err != nil:
		return err
	case res.Total.Run.Failed > 0:
		return &codeError{code: exitIO}
	case res.Total.Run.Cancelled > 0:
		return &codeError{code: exitTimeout}
	}
	return nil
}
