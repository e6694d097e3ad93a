package main

import (
	"context"
	"io"
	"os"

	"github.com/spf13/pflag"

	"github.com/nvmepass/nvmepass/internal/jobs"
)

// runInLab runs the workload in the guest.
func (f *runFlags) runInLab(ctx context.Context, fl *pflag.FlagSet, stdout io.Writer, stderr *os.File) error {
	cfg, err := f.labFlags.config(stderr)
	if err != nil {
		return err
	}
	signals, stop := statusSignals()
	defer stop()
	cfg.Signals = signals
	cfg.Program = append([]string{"nvmepass", "run", "--all-devices", "--progress", guestProgress(f.progress, stderr)}, f.labFlags.guestArgs(fl)...)
	cfg.Program = append(cfg.Program, f.cfg.Devices...)
	return inGuest(ctx, cfg, jobs.Decode, func(r *jobs.Result) error { return f.write(r, stdout) })
}
