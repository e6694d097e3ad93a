package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nvmepass/nvmepass/internal/lab"
	"github.com/nvmepass/nvmepass/test/labrun"
)

// labDrives are the guest's. Their error sectors lie where traffic is dense.
var labDrives = []string{
	"size=16m,backend=memory,lba=512,ns=2,queues=8,serial=soak512,error-sectors=100,write-error-sectors=140+2",
	"size=16m,backend=memory,lba=4096,queues=8,serial=soak4k,error-sectors=808+2,write-error-sectors=1600",
	"size=16m,backend=memory,lba=512,ms=8,pi=1,queues=8,serial=soakpi",
	"size=8m,backend=memory,lba=4096,ms=16,mset,queues=8,serial=soakext",
	"size=8m,backend=memory,lba=512,ms=8,queues=8,serial=soaksep",
	"size=4m,backend=memory,lba=512,iops=3000,queues=8,serial=soakslow",
}

// soakInLab runs the soak in a guest of each kernel.
func soakInLab(ctx context.Context, o *options, stdout, stderr io.Writer) (runs []Run, err error) {
	for _, name := range o.kernels {
		k, err := labrun.FindKernel(name)
		if err != nil {
			return runs, err
		}
		r, err := soakGuest(ctx, o, k, stdout, stderr)
		if err != nil {
			return runs, err
		}
		runs = append(runs, r)
		if ctx.Err() != nil {
			break
		}
	}
	return runs, nil
}

// quietLimit is by how much longer than its own limit a guest may print nothing:
// then its kernel hangs.
const quietLimit = time.Minute

func soakGuest(ctx context.Context, o *options, k lab.Kernel, stdout, stderr io.Writer) (Run, error) {
	dir, err := os.MkdirTemp("", "nvmepass-soak-")
	if err != nil {
		return Run{}, err
	}
	defer os.RemoveAll(dir)
	limit := o.duration*2 + 10*time.Minute
	if o.blocks > 0 {
		limit = maxDuration
	}
	cfg := lab.Config{
		Kernel: k.Path, PollQueues: lab.DefaultPollQueues, MemoryMiB: 2048, Timeout: limit, OutDir: dir,
		Program: append([]string{"", "-in-lab", "-o", "/out/soak.json"}, o.guestArgs()...),
		// The collector runs often, and what it frees is overwritten.
		Env:     []string{"GOGC=25", "GODEBUG=clobberfree=1", "GOTRACEBACK=all"},
		Actions: []lab.Verb{lab.VerbThrottle, lab.VerbPause},
		Notes:   stderr,
	}
	for _, text := range labDrives {
		d, err := lab.ParseDrive(text)
		if err != nil {
			return Run{}, err
		}
		cfg.Drives = append(cfg.Drives, d)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	heard := &listener{to: stdout}
	heard.heard()
	cfg.Stdout = heard
	complaints := &listener{to: stderr}
	cfg.Stderr = complaints
	go heard.watch(ctx, o.hang+quietLimit, cancel)
	go complaints.watchHang(ctx, cancel)
	began := time.Now()
	res, err := lab.Run(ctx, cfg)
	rec, rerr := readRecord(filepath.Join(dir, "soak.json"))
	if rerr == nil && len(rec.Runs) == 1 {
		r := rec.Runs[0]
		r.Machine = fmt.Sprintf("%s, %s, QEMU %s", r.Machine, res.Accel, res.QEMU)
		if err != nil {
			r.Error = err.Error()
		}
		return r, nil
	}
	if err == nil {
		err = errors.Join(fmt.Errorf("the guest's program ended with exit code %d and left no record", res.ExitCode), rerr)
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		err = errors.Join(cause, err)
	}
	return Run{
		Kernel: k.Version, Emulated: true, Seed: o.seed, Started: began.UTC().Truncate(time.Second), Seconds: time.Since(began).Seconds(),
		Hang: complaints.hang(), Error: err.Error(), Interrupted: errors.Is(context.Cause(ctx), context.Canceled),
	}, nil
}

// guestArgs hand the options on.
func (o *options) guestArgs() []string {
	args := []string{"-for", o.duration.String(), "-seed", fmt.Sprint(o.seed), "-hang", o.hang.String()}
	if o.blocks > 0 {
		args = append(args, "-blocks", fmt.Sprint(o.blocks))
	}
	if o.span > 0 {
		args = append(args, "-span", fmt.Sprint(o.span))
	}
	if o.without != "" {
		args = append(args, "-without", o.without)
	}
	if o.sabotage != "" {
		args = append(args, "-sabotage", o.sabotage)
	}
	return args
}

// hungPrefix begins the line that names what hangs.
const hungPrefix = "soak: HUNG: "

// listener notes when a guest last said something, and that something hangs.
type listener struct {
	to   io.Writer
	last atomic.Int64
	hung atomic.Pointer[string]
}

func (l *listener) heard() { l.last.Store(time.Now().UnixNano()) }

func (l *listener) Write(b []byte) (int, error) {
	l.heard()
	if _, what, ok := strings.Cut(string(b), hungPrefix); ok {
		what, _, _ = strings.Cut(what, "\n")
		l.hung.Store(&what)
	}
	return l.to.Write(b)
}

func (l *listener) hang() string {
	if what := l.hung.Load(); what != nil {
		return *what
	}
	return ""
}

// lastWords is how long a guest in which something hangs may take to end by
// itself, which it cannot where a thread of it hangs in the kernel.
const lastWords = 20 * time.Second

// watchHang ends a guest some time after it said that something hangs.
func (l *listener) watchHang(ctx context.Context, end context.CancelCauseFunc) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for l.hang() == "" {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
	select {
	case <-ctx.Done():
	case <-time.After(lastWords):
		end(errors.New("the guest did not end after it had said that something hangs"))
	}
}

// watch ends a guest that says nothing any more.
func (l *listener) watch(ctx context.Context, limit time.Duration, end context.CancelCauseFunc) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if time.Since(time.Unix(0, l.last.Load())) > limit {
			end(fmt.Errorf("the guest has said nothing for %v: its kernel, or all of its processes, hang", limit))
			return
		}
	}
}
