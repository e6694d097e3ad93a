// Command nvmepass compares the ways to read an NVMe drive through io_uring and
// runs itself in an emulated guest where there is no drive.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/nvmepass/nvmepass/internal/lab"
)

func main() {
	if lab.IsInit() {
		lab.Init() // this is the guest's first process; it does not return
	}
	// Ring threads keep their P while they wait; timers and signals need one.
	if runtime.GOMAXPROCS(0) < 2 {
		runtime.GOMAXPROCS(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// After the first signal the default action is back: a second one ends
	// the process at once.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run is main without the process around it.
func run(ctx context.Context, args []string, stdout, stderr *os.File) int {
	root := newRoot(stdout, stderr)
	root.SetArgs(args)
	stop, err := startProfile()
	if err == nil {
		err = root.ExecuteContext(ctx)
		err = errors.Join(err, stop())
	}
	code := exitCode(ctx, err)
	if text := message(err); text != "" {
		fmt.Fprintln(stderr, "nvmepass: "+text)
	}
	return code
}
