package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// envSourceDate is the date of the man pages in seconds since 1970, as builds that
// can be repeated set it.
const envSourceDate = "SOURCE_DATE_EPOCH"

// newMan is hidden: packages call it, and who installed by go install once.
func newMan() *cobra.Command {
	return &cobra.Command{
		Use:    "man DIR",
		Short:  "Write the man pages",
		Hidden: true,
		Long: `man writes nvmepass.1 and a page for each command into the folder DIR, which is
made if it is missing. man(1) looks below ~/.local/share/man by itself where
~/.local/bin is on the PATH.`,
		Example: `  nvmepass man ~/.local/share/man/man1`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("man: need one folder to write the pages to, not %d: see nvmepass man --help", len(args))
			}
			date, err := manDate(os.Getenv(envSourceDate))
			if err != nil {
				return err
			}
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return fmt.Errorf("man: make folder: %w; name one that can be made", err)
			}
			for name, page := range manPages(cmd.Root(), date) {
				if err := os.WriteFile(filepath.Join(args[0], name), []byte(page), 0o644); err != nil {
					return fmt.Errorf("man: write page: %w; name a folder that can be written", err)
				}
			}
			return nil
		},
	}
}

// manDate is the day that pages bear: that of sourceDate, or else of the commit.
func manDate(sourceDate string) (string, error) {
	if sourceDate != "" {
		sec, err := strconv.ParseInt(sourceDate, 10, 64)
		if err != nil || sec < 0 {
			return "", usage("man: %s=%s: not a time; give the seconds since 1970, such as git log -1 --format=%%ct prints", envSourceDate, sourceDate)
		}
		return time.Unix(sec, 0).UTC().Format(time.DateOnly), nil
	}
	if bi, ok := debug.ReadBuildInfo(); ok {
		for _, s := range bi.Settings {
			if s.Key == "vcs.time" {
				day, _, _ := strings.Cut(s.Value, "T")
				return day, nil
			}
		}
	}
	return "", nil
}

// manPages are the pages of root and of all commands below it that help lists, by
// file name.
func manPages(root *cobra.Command, date string) map[string]string {
	pages := map[string]string{}
	var add func(c *cobra.Command)
	add = func(c *cobra.Command) {
		pages[manName(c)+".1"] = manPage(c, date)
		for _, sub := range manCommands(c) {
			add(sub)
		}
	}
	add(root)
	return pages
}

// manCommands are the commands below c that have a page.
func manCommands(c *cobra.Command) []*cobra.Command {
	var subs []*cobra.Command
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			subs = append(subs, sub)
		}
	}
	return subs
}

// manName is a page's name without its section, such as nvmepass-io-read.
func manName(c *cobra.Command) string {
	return strings.ReplaceAll(c.CommandPath(), " ", "-")
}
