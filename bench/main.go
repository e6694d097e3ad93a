package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/nvmepass/nvmepass/internal/lab"
)

func main() {
	if lab.IsInit() {
		lab.Init() // this is the guest's first process; it does not return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	os.Exit(code)
}

// Exit codes.
const (
	exitOK = iota
	exitFailed
	exitUsage
)

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if handled, err := hidden(ctx, args, stdout, stderr); handled {
		return report(err, stderr)
	}
	o, err := parseOptions(args, stderr)
	if err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return exitOK
		}
		fmt.Fprintln(stderr, "bench:", err)
		return exitUsage
	}
	return report(measure(ctx, o, stdout, stderr), stderr)
}

func report(err error, stderr io.Writer) int {
	if err != nil {
		fmt.Fprintln(stderr, "bench:", err)
		return exitFailed
	}
	return exitOK
}

// measure runs the parts that were asked for. One that fails does not keep the
// others from running, nor their figures from being written.
func measure(ctx context.Context, o *options, stdout, stderr io.Writer) error {
	rec := &Record{
		Schema: Schema, Started: time.Now().UTC().Truncate(time.Millisecond), Command: os.Args,
		Host: environment(nil, &o.cpu), Parts: []Part{},
	}
	var errs []error
	for _, name := range o.parts {
		if ctx.Err() != nil {
			break
		}
		fmt.Fprintf(stderr, "bench: part %s\n", name)
		before := loadAverage()
		p, err := o.part(ctx, name, stderr)
		if err == nil {
			p.LoadBefore, p.LoadAfter = before, loadAverage()
			err = p.print(stdout)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("part %s: %w", name, err))
			continue
		}
		rec.Parts = append(rec.Parts, *p)
	}
	rec.Finished = time.Now().UTC().Truncate(time.Millisecond)
	if o.out != "" {
		errs = append(errs, rec.save(o.out))
	}
	return errors.Join(append(errs, ctx.Err())...)
}

// loadAverage is the machine's, over the last minute; empty if not known.
func loadAverage() string {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	load, _, _ := strings.Cut(string(b), " ")
	return load
}

// save writes the record as indented JSON.
func (r *Record) save(path string) error {
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(b, '\n'), 0o644)
}
