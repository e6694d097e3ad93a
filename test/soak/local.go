package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/nvmepass/nvmepass/internal/consent"
	"github.com/nvmepass/nvmepass/passthru"
)

// consentTo shows what will be overwritten and holds the drives until the function
// that it returns is called.
func consentTo(ctx context.Context, o *options, out io.Writer) (release func() error, err error) {
	var holds []*consent.Hold
	release = func() error {
		var errs []error
		for _, h := range holds {
			errs = append(errs, h.Close())
		}
		return errors.Join(errs...)
	}
	for _, path := range o.devices {
		d, err := passthru.Open(path, nil)
		if err != nil {
			return nil, errors.Join(err, release())
		}
		length := o.span / uint64(d.Layout().LBASize) * uint64(d.DataLayout().Unit())
		h, err := consent.Check(ctx, d, consent.Request{Op: "soak", AllowWrite: o.allowWrite, Force: o.force, Length: length, Show: out})
		if err = errors.Join(err, d.Close()); err != nil {
			return nil, errors.Join(err, release())
		}
		holds = append(holds, h)
	}
	return release, nil
}

// soakHere runs the engine on this machine.
func soakHere(ctx context.Context, o *options, paths []string, stdout, stderr io.Writer) Run {
	// What storms send must end system calls, and do no more.
	sink := make(chan os.Signal, 1)
	signal.Notify(sink, syscall.SIGURG)
	defer signal.Stop(sink)

	e := newEngine(o, stdout)
	e.say(fmt.Sprintf("soak: kernel %s, seed %d", e.kernel, o.seed))
	if err := e.find(paths); err != nil {
		r := e.result()
		r.Error = err.Error()
		return r
	}
	hung := make(chan string, 1)
	ended := make(chan error, 1)
	watching, stop := context.WithCancel(context.Background())
	defer stop()
	go e.watch.run(watching, func(what string) { hung <- what })
	go func() { ended <- e.run(ctx) }()
	var r Run
	select {
	case err := <-ended:
		stop()
		r = e.result()
		if err != nil && ctx.Err() == nil {
			r.Error = err.Error()
		}
		for _, text := range r.account() {
			r.Unexplained++
			r.Failures = append(r.Failures, Failure{Op: "account", Error: text, Seconds: r.Seconds})
		}
	case what := <-hung:
		_, _ = fmt.Fprintf(stderr, "%s%s\n%s\n%s\n%s\n", hungPrefix, what, blockedTasks(), stuckRequests(), goroutineDump())
		r = e.result()
		r.Hang = what
	}
	r.Interrupted = ctx.Err() != nil
	for _, text := range r.Leaks {
		e.say("LEAK: " + text)
	}
	e.say(e.line())
	return r
}
