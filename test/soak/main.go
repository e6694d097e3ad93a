// Command soak keeps all paths to NVMe drives busy at once, under faults, with
// blocks that say what they are, and finds out whether anything is lost, mixed up,
// leaked or left hanging. It runs in the lab's guest, or on drives of one's own.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"github.com/nvmepass/nvmepass/internal/lab"
)

// Exit codes.
const (
	exitOK          = 0
	exitUsage       = 1
	exitFailed      = 3
	exitMismatch    = 4
	exitHang        = 5
	exitInterrupted = 130
)

// Roles of the processes that a soak starts, as their first argument.
const (
	roleChild   = "child"
	roleStopper = "stopper"
)

func main() {
	if lab.IsInit() {
		lab.Init() // this is the guest's first process; it does not return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if handled, err := helper(args); handled {
		return complain(stderr, err)
	}
	o, err := parseOptions(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case err != nil:
		_, _ = fmt.Fprintln(stderr, "soak:", err)
		return exitUsage
	}
	if len(o.records) > 0 {
		return complain(stderr, reportFrom(o.report, o.records))
	}
	rec := &Record{Schema: Schema, Command: args}
	switch {
	case o.lab:
		paths, err := nodes()
		if err != nil {
			return complain(stderr, err)
		}
		rec.Runs = append(rec.Runs, soakHere(ctx, o, paths, stdout, stderr))
	case len(o.devices) > 0:
		hold, err := consentTo(ctx, o, stdout)
		if err != nil {
			return complain(stderr, err)
		}
		rec.Runs = append(rec.Runs, soakHere(ctx, o, o.devices, stdout, stderr))
		if err := hold(); err != nil {
			return complain(stderr, err)
		}
	default:
		if rec.Runs, err = soakInLab(ctx, o, stdout, stderr); err != nil {
			return complain(stderr, err)
		}
	}
	for i := range rec.Runs {
		if !o.lab {
			_, _ = fmt.Fprintf(stdout, "soak: kernel %s, seed %d: %s\n", rec.Runs[i].Kernel, rec.Runs[i].Seed, rec.Runs[i].verdict())
		}
	}
	if o.out != "" {
		if err := writeJSON(o.out, rec); err != nil {
			return complain(stderr, err)
		}
	}
	if o.report != "" {
		if err := writeReport(o.report, []*Record{rec}); err != nil {
			return complain(stderr, err)
		}
	}
	return rec.code()
}

func complain(stderr io.Writer, err error) int {
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "soak:", err)
		return exitFailed
	}
	return exitOK
}

// helper runs the processes that a soak starts.
func helper(args []string) (handled bool, err error) {
	switch {
	case len(args) == 1 && args[0] == roleStopper:
		return true, stopperMain(os.Stdin, os.Stdout)
	case len(args) == 3 && args[0] == roleChild:
		seed, err := strconv.ParseUint(args[2], 10, 64)
		if err != nil {
			return true, err
		}
		return true, childMain(args[1], seed, os.Stdin, os.Stdout)
	}
	return false, nil
}
