package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
)

func newRoot(stdout io.Writer, stderr *os.File) *cobra.Command {
	root := &cobra.Command{
		Use:   "nvmepass",
		Short: "Compare the ways to reach an NVMe drive through io_uring",
		Long: `nvmepass sends NVMe commands through io_uring passthrough and compares it with
the block layer, each by interrupt and by polling. It reads; what changes data on
a drive needs --allow-write, and what changes a controller --allow-admin-effects.

Without a drive, the lab runs everything against the real NVMe driver and an
emulated drive: nvmepass compare --lab`,
		Version:       toolVersion(),
		SilenceErrors: true,
		SilenceUsage:  true,

		SuggestionsMinimumDistance: 2,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			hint := ""
			if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
				hint = fmt.Sprintf("did you mean %s? ", strings.Join(near, " or "))
			}
			return usage("unknown command %q: %ssee nvmepass --help", args[0], hint)
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cmd.Help()
		},
	}
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if hint := flagHint(cmd, err); hint != "" {
			return usage("%w: %ssee %s --help", flagError{err}, hint, cmd.CommandPath())
		}
		return usage("%w; see %s --help", flagError{err}, cmd.CommandPath())
	})
	root.SetVersionTemplate(versionTemplate())
	root.SetHelpCommand(newHelp(root))
	root.AddCommand(newCompare(stdout, stderr), newRun(stdout, stderr), newLab(stdout, stderr))
	root.AddCommand(newList(stdout), newInfo(stdout), newSmart(stdout), newDoctor(stdout))
	root.AddCommand(newNop(stdout, stderr), newSweep(stdout, stderr))
	root.AddCommand(newDiff(stdout), newReport(stdout, stderr))
	root.AddCommand(newIO(stdout, stderr), newAdmin(stdout, stderr), newVerify(stdout, stderr))
	root.AddCommand(newMan())
	for _, c := range root.Commands() {
		c.Flags().SortFlags = false
		c.Flags().SetNormalizeFunc(fioNames)
	}
	addCompletion(root)
	return root
}

// newHelp replaces cobra's help command, which answers an unknown name with the
// root's help and success.
func newHelp(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [command]",
		Short: "Help about any command",
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return usage("help: unknown command %q: see nvmepass --help", strings.Join(args, " "))
			}
			cmd.InitDefaultHelpFlag()
			return cmd.Help()
		},
	}
}
