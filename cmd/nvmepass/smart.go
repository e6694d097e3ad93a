package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/nvmepass/nvmepass/internal/inventory"
	"github.com/nvmepass/nvmepass/internal/report"
)

const smartExamples = `  sudo nvmepass smart /dev/nvme0            health of a drive
  sudo nvmepass smart /dev/ng0n1            the same, by a namespace of it
  sudo nvmepass smart -o json /dev/nvme0 | jq '.devices[0].log.percent_used'`

func newSmart(stdout io.Writer) *cobra.Command {
	var output string
	var color colorFlag
	cmd := &cobra.Command{
		Use:   "smart DEVICE...",
		Short: "Show a drive's health",
		Long: `smart reads the SMART / Health log: critical warnings, temperature, spare, wear,
media errors, unsafe shutdowns, hours, and how much was read and written. DEVICE is
a controller (/dev/nvme0) or a namespace of it. It needs root (CAP_SYS_ADMIN), and
no io_uring.

In JSON every counter is a number in plain digits with all of its up to 128 bits;
the keys below "log" are nvme-cli's. A reader that takes numbers for floating point
loses digits above 2^53.

It ends with 0 if all drives are healthy, 3 if one reports a critical warning, 2 if
a log cannot be read.`,
		Example: smartExamples,
		RunE: func(cmd *cobra.Command, devices []string) error {
			if err := needDevices("smart", devices); err != nil {
				return err
			}
			if err := errors.Join(checkFormat(output, "smart"), color.check()); err != nil {
				return err
			}
			r := &inventory.HealthReport{Schema: inventory.HealthSchema}
			var verdict error
			for _, path := range devices {
				h, err := inventory.ReadHealth(cmd.Context(), path)
				verdict = errors.Join(verdict, err)
				r.Devices = append(r.Devices, h)
			}
			verdict = healthVerdict(r, verdict)
			if output == "json" {
				return withCode(report.Document(stdout, r), verdict)
			}
			return withCode(report.Health(color.on(stdout), r), verdict)
		},
	}
	addFormat(cmd.Flags(), &output, "smart")
	color.add(cmd.Flags())
	return cmd
}

// healthVerdict is the error that smart ends with: a critical warning outweighs
// a log that could not be read.
func healthVerdict(r *inventory.HealthReport, err error) error {
	for i := range r.Devices {
		if h := &r.Devices[i]; h.Log != nil && !h.Healthy {
			return &codeError{exitIO, errors.Join(err, fmt.Errorf("%s reports a critical warning: %s", h.Controller, h.Log.CriticalWarning))}
		}
	}
	return err
}
