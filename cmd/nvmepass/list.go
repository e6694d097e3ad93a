package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/nvmepass/nvmepass/internal/inventory"
	"github.com/nvmepass/nvmepass/internal/report"
)

const listExamples = `  nvmepass list             what is here
  nvmepass list -o json     the same, for programs
  nvmepass list -o csv      one row for each namespace`

func newList(stdout io.Writer) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List every NVMe controller and namespace",
		Long: `list shows every NVMe controller and namespace of this machine: also multipath
heads with their paths, controllers without a namespace, and namespaces for which
the kernel made no node. It opens nodes for reading only.

Who may not open a node sees what sysfs shows everybody; "-" stands for the rest,
and a note below says why.`,
		Example: listExamples,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage("list takes no device, and was given %q: see nvmepass info for one device", args[0])
			}
			if err := checkFormat(output, "list"); err != nil {
				return err
			}
			l := inventory.System().List()
			switch output {
			case "json":
				return report.Document(stdout, l)
			case "csv":
				return report.ListCSV(stdout, l)
			}
			return report.List(stdout, l)
		},
	}
	addFormat(cmd.Flags(), &output, "list")
	return cmd
}
