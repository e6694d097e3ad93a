package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/pflag"

	"github.com/nvmepass/nvmepass/internal/jobs"
	"github.com/nvmepass/nvmepass/internal/lab"
)

// runInLab runs the workload in the guest and renders its record here, so that
// every output format works as without the lab.
func (f *runFlags) runInLab(ctx context.Context, fl *pflag.FlagSet, stdout io.Writer, stderr *os.File) error {
	cfg, err := f.labFlags.config(stderr)
	if err != nil {
		return err
	}
	signals, stop := statusSignals()
	defer stop()
	cfg.Signals = signals
	var record bytes.Buffer
	cfg.Stdout = &record
	cfg.Program = append([]string{"nvmepass", "run", "--all-devices", "-o", "json", "--progress", guestProgress(f.progress, stderr)},
		f.labFlags.guestArgs(fl)...)
	cfg.Program = append(cfg.Program, f.cfg.Devices...)
	res, err := lab.Run(ctx, cfg)
	if err != nil {
		return err
	}
	if err := guestFailure(record.Bytes(), res.ExitCode); err != nil {
		return err
	}
	result, err := jobs.Decode(&record)
	if err != nil {
		return fmt.Errorf("read the guest's record: %w", err)
	}
	var verdict error
	if res.ExitCode != 0 {
		verdict = &codeError{code: res.ExitCode}
	}
	return withCode(f.write(result, stdout), verdict)
}
