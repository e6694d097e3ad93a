package main

import (
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/nvmepass/nvmepass/internal/inventory"
	"github.com/nvmepass/nvmepass/internal/report"
)

const infoExamples = `  nvmepass info /dev/ng0n1                  a namespace and its controller
  nvmepass info /dev/nvme0                  a controller
  nvmepass info -o json /dev/ng0n1 | jq '.devices[0].namespace.limits'`

func newInfo(stdout io.Writer) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "info DEVICE...",
		Short: "Show all that a user of passthrough must know of a device",
		Long: `info shows formats with their metadata and protection information, the largest
command that drive and kernel take, poll queues and the CPUs that they serve,
capabilities, command sets, zones, atomic units, and what this process may do with
the nodes. It opens nodes for reading only.

DEVICE is a namespace's generic node (/dev/ng0n1), its block node, or a controller
(/dev/nvme0). What may not be read is missing, and a note says why.

It ends with 0, or with 2 if a DEVICE is none or cannot be looked at.`,
		Example: infoExamples,
		RunE: func(_ *cobra.Command, devices []string) error {
			if err := needDevices("info", devices); err != nil {
				return err
			}
			if err := checkFormat(output, "info"); err != nil {
				return err
			}
			info := &inventory.Info{Schema: inventory.InfoSchema}
			var failed []error
			source := inventory.System()
			for _, path := range devices {
				d := source.Describe(path)
				if d.Error != "" {
					failed = append(failed, errors.New(d.Error))
				}
				info.Devices = append(info.Devices, d)
			}
			if output == "json" {
				return withCode(report.Document(stdout, info), errors.Join(failed...))
			}
			return withCode(report.Info(stdout, info), errors.Join(failed...))
		},
	}
	addFormat(cmd.Flags(), &output, "info")
	return cmd
}

// needDevices refuses a command without a device.
func needDevices(command string, devices []string) error {
	if len(devices) > 0 {
		return nil
	}
	return usage("%s: no device given: name a node such as /dev/ng0n1 or /dev/nvme0; nvmepass list shows them", command)
}
