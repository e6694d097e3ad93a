package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/nvmepass/nvmepass/internal/outfile"
	"github.com/nvmepass/nvmepass/internal/sys"
	"github.com/nvmepass/nvmepass/passthru"
)

// errNoReader is the cause of a context that ended because nobody reads standard
// output or standard error any more.
var errNoReader = errors.New("nobody reads the output")

// untilSignal is a context that ends with the first SIGINT, SIGTERM or SIGHUP, so
// that commands in flight are waited for and what was measured is printed. The
// second one has its default action: it ends the process at once. Where that
// would crash the kernel, it says so on stderr and first waits for the queues
// to be closed.
//
// The signals that this process was told to ignore, as by nohup, it ignores.
// SIGPIPE ends the context as well, and not the process, for the same reason.
func untilSignal(stderr *os.File) context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	ending, pipe := make(chan os.Signal, 2), make(chan os.Signal, 1)
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			signal.Notify(ending, s)
		}
	}
	signal.Notify(pipe, syscall.SIGPIPE)
	go func() {
		for range pipe { // of any pipe, such as one to the lab's emulator
			if sys.NoReader(int(os.Stdout.Fd())) || sys.NoReader(int(stderr.Fd())) {
				cancel(errNoReader)
			}
		}
	}()
	go func() {
		<-ending
		cancel(nil)
		s := <-ending
		if passthru.ExitCrashesKernel() {
			fmt.Fprintln(stderr, "nvmepass: polled commands are in flight, and this kernel crashes if the process ends now: waiting for them")
			for passthru.ExitCrashesKernel() {
				time.Sleep(10 * time.Millisecond)
			}
		}
		outfile.Abandon()
		signal.Reset(s)
		_ = syscall.Kill(os.Getpid(), s.(syscall.Signal)) //nolint:forcetypeassert // Unix has no other kind
	}()
	return ctx
}

// noReader tells whether a command failed, or was ended, because nobody reads its
// output: who went away is not told about it.
func noReader(ctx context.Context, err error) bool {
	return errors.Is(context.Cause(ctx), errNoReader) || unprinted(err) && errors.Is(err, syscall.EPIPE)
}

// untilDone runs f, which may wait for somebody else's data, and returns without it
// when ctx is done. f then goes on until the process ends.
func untilDone[T any](ctx context.Context, f func() (T, error)) (T, error) {
	type outcome struct {
		v   T
		err error
	}
	ended := make(chan outcome, 1)
	go func() {
		v, err := f()
		ended <- outcome{v, err}
	}()
	select {
	case o := <-ended:
		return o.v, o.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}
