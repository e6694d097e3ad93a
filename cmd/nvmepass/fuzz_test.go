package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

// leaves are all commands that can be run.
func leaves(c *cobra.Command) (all []*cobra.Command) {
	if c.Runnable() {
		all = append(all, c)
	}
	for _, sub := range c.Commands() {
		all = append(all, leaves(sub)...)
	}
	return all
}

// FuzzCommandLine: any words after any command are read as flags or refused as
// wrong usage with a hint where to look; a flag that was accepted shows a value
// that it accepts. Nothing is run.
func FuzzCommandLine(f *testing.F) {
	n := len(leaves(newRoot(nil, nil)))
	for _, words := range []string{
		"/dev/ng0n1\n--rw\nrandread\n--qd=8\n--batch\n4", "--bs=4Ki", "--cpu=0-3,8", "--cpus_allowed=1,1", "--runtime=1.5s\n--ramp_time=2", "--depths=8_2,128_32", "--timeout=0",
		"--prefill=0x1ff", "--range=1:2\n--range=3", "--block-count=7", "--drive=lba=4096,backend=memory", "--fail-on=slower:3%", "--percentile_list=50:99.9", "--cdw10=0xffffffff",
		"--rate_iops=1k", "--inject-delay=5%/even", "-s\n0x10\n-c\n1", "--opcode=0x102", "-n\n-1", "--output=json\n-o", "--=x", "--\n-x", "-\n---", "--sqpoll-cpu=99999999999", "--qd\n\x00", "--help",
	} {
		for i := range n {
			f.Add(uint8(i), words)
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, words string) {
		all := leaves(newRoot(nil, nil))
		cmd := all[int(which)%len(all)]
		args := strings.Split(words, "\n")
		if err := cmd.ParseFlags(args); err != nil {
			err = cmd.FlagErrorFunc()(cmd, err)
			require.Equal(t, exitUsage, exitCode(t.Context(), err), "%v", err)
			require.Contains(t, message(err), "see "+cmd.CommandPath()+" --help")
			require.Less(t, len(message(err)), 8*len(words)+2000)
			return
		}
		cmd.Flags().Visit(func(fl *pflag.Flag) {
			switch fl.Value.Type() {
			case "stringArray", "stringSlice": // which show more than their value
				return
			}
			shown := fl.Value.String()
			if shown == "" {
				return // as some show a zero, which is not given again
			}
			require.NoError(t, fl.Value.Set(shown), "%s --%s shows %q", cmd.Name(), fl.Name, shown)
			require.Equal(t, shown, fl.Value.String())
		})
		if args := cmd.Flags().Args(); cmd.Args != nil {
			if err := cmd.Args(cmd, args); err != nil {
				require.NotEmpty(t, message(err))
				require.False(t, errors.Is(err, pflag.ErrHelp))
			}
		}
	})
}
