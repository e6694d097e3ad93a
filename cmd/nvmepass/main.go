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
	out := &output{file: stdout}
	root := newRoot(out, stderr)
	help := &failing{w: out}
	root.SetOut(help)
	root.SetArgs(args)
	cmd := root
	stop, err := startProfile()
	if err == nil {
		cmd, err = root.ExecuteContextC(ctx)
		err = errors.Join(err, help.err, stop())
	}
	if noReader(ctx, err) {
		return exitNoReader
	}
	code, text := exitCode(ctx, err), message(err)
	if code == exitInterrupted && text == context.Canceled.Error() {
		text = "interrupted before there was a result"
	}
	if said := saidError(""); text != "" && !errors.As(err, &said) {
		fmt.Fprintln(stderr, "nvmepass: "+text)
	}
	if err := out.printFailure(cmd, args, err, code, text); err != nil {
		fmt.Fprintln(stderr, "nvmepass: "+err.Error())
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
