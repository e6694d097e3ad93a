// Command nvmepass compares the ways to read an NVMe drive through io_uring and
// runs itself in an emulated guest where there is no drive.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"

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
	os.Exit(run(untilSignal(os.Stderr), os.Args[1:], os.Stdout, os.Stderr))
}

// run is main without the process around it.
func run(ctx context.Context, args []string, stdout, stderr *os.File) int {
	root := newRoot(stdout, stderr)
	help := &failing{w: stdout}
	root.SetOut(help)
	root.SetArgs(args)
	stop, err := startProfile()
	if err == nil {
		err = root.ExecuteContext(ctx)
		err = errors.Join(err, help.err, stop())
	}
	if noReader(ctx, err) {
		return exitNoReader
	}
	code := exitCode(ctx, err)
	if text := message(err); text != "" {
		fmt.Fprintln(stderr, "nvmepass: "+text)
	}
	return code
}

// failing keeps the first error of a writer for a caller that does not look at
// them: cobra's help.
type failing struct {
	w   io.Writer
	err error
}

func (f *failing) Write(p []byte) (n int, err error) {
	if n, err = f.w.Write(p); f.err == nil {
		f.err = err
	}
	return n, err
}
