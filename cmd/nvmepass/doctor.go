package main

import (
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/nvmepass/nvmepass/internal/doctor"
	"github.com/nvmepass/nvmepass/internal/report"
)

const doctorExamples = `  sudo nvmepass doctor                      the machine and all namespaces
  sudo nvmepass doctor /dev/ng0n1 -v        one namespace, and what is fine as well
  nvmepass doctor --strict -o json || echo "not fit for measuring"`

func newDoctor(stdout io.Writer) *cobra.Command {
	var output string
	var color colorFlag
	var verbose, strict bool
	cmd := &cobra.Command{
		Use:   "doctor [DEVICE...]",
		Short: "Find what stands in the way of a valid polled run, and how to fix it",
		Long: `doctor checks everything between you and a valid polled passthrough run: the
kernel and its known faults, io_uring, nodes and rights, locked memory, poll queues,
scheduler and statistics, processors, PCIe link, IOMMU, NUMA, temperature and health,
and who else uses the drive. Each finding says what was found and where, why it
matters for the figures, and the commands that change it and change it back.

It changes nothing: it reads files, Identify and the SMART log, and block 0 of each
namespace once, to see whether a command through the ring works.

A problem makes a polled passthrough run impossible, a warning makes figures
doubtful, a note is worth knowing. It ends with 0, with 2 if there is a problem, and
with --strict with 2 if there is a warning.`,
		Example: doctorExamples,
		RunE: func(cmd *cobra.Command, devices []string) error {
			if err := errors.Join(checkFormat(output, "doctor"), color.check()); err != nil {
				return err
			}
			r, err := doctor.ThisMachine().Run(cmd.Context(), devices)
			if err != nil {
				return err
			}
			verdict := doctorVerdict(r, strict)
			if output == "json" {
				return withCode(report.Document(stdout, r), verdict)
			}
			return withCode(report.Doctor(color.on(stdout), r, verbose), verdict)
		},
	}
	fl := cmd.Flags()
	addFormat(fl, &output, "doctor")
	color.add(fl)
	fl.BoolVarP(&verbose, "verbose", "v", false, "show in text what is fine as well")
	fl.BoolVar(&strict, "strict", false, "end with 2 also if there is a warning")
	return cmd
}

// doctorVerdict ends the process; the report has said why.
func doctorVerdict(r *doctor.Report, strict bool) error {
	if r.Possible && (!strict || r.Counts.Warnings == 0) {
		return nil
	}
	return &codeError{code: exitDevice}
}
