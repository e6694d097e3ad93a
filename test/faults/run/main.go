// Command run is the fault laboratory's runner: it boots every shape of guest
// that the cases of test/faults ask for, on every kernel, and writes what came
// of each case to docs/reliability.md. It fails if a case fails, if one is lost
// with its guest, or if one ran on no kernel.
package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/nvmepass/nvmepass/internal/lab"
	"github.com/nvmepass/nvmepass/test/faults"
	"github.com/nvmepass/nvmepass/test/labrun"
)

// options are the command line.
type options struct {
	kernels, shape, run, doc string
	check, verbose           bool
}

func main() {
	var o options
	flag.StringVar(&o.kernels, "kernels", "6.1,newest", "kernels to run on: version prefixes, or newest")
	flag.StringVar(&o.shape, "shape", "", "only the cases of this shape")
	flag.StringVar(&o.run, "run", "", "only cases whose name matches this regular expression")
	flag.StringVar(&o.doc, "doc", "docs/reliability.md", "file that a whole run writes")
	flag.BoolVar(&o.check, "check", false, "a short run: the shapes that are not slow, on the newest kernel")
	flag.BoolVar(&o.verbose, "v", false, "show the cases' output")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "faults:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	wanted, err := regexp.Compile(o.run)
	if err != nil {
		return err
	}
	if err := faults.Validate(faults.Cases()); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "nvmepass-faults-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	bin, err := labrun.Build(ctx, dir, "./test/faults", false)
	if err != nil {
		return err
	}
	whole := o.shape == "" && o.run == "" && !o.check
	if o.check {
		o.kernels = labrun.Newest
	}
	var doc document
	for name := range strings.SplitSeq(o.kernels, ",") {
		kernel, err := labrun.FindKernel(name)
		if err != nil {
			return err
		}
		doc.columns = append(doc.columns, column{kernel: kernel.Version, path: kernel.Path, results: map[string]faults.Result{}})
	}
	problems := runShapes(ctx, &doc, wanted, bin, o)
	if ctx.Err() != nil {
		return errors.Join(append(problems, ctx.Err())...)
	}
	all := faults.Cases()
	if o.check {
		all = slices.DeleteFunc(all, func(c faults.Case) bool { return c.Shape.Slow })
	}
	if o.shape == "" && o.run == "" {
		problems = append(problems, doc.ranNowhere(all))
	}
	if !whole {
		return errors.Join(problems...)
	}
	for _, col := range doc.columns {
		if len(col.lost) > 0 {
			return errors.Join(append(problems, fmt.Errorf("kernel %s: %s ended with the guest: %s stays as it was; run again", col.kernel, strings.Join(col.lost, ", "), o.doc))...)
		}
	}
	return errors.Join(append(problems, os.WriteFile(o.doc, []byte(doc.String()), 0o644))...)
}

// sideBySide is how many guests run at a time: each mostly keeps one processor
// busy.
const sideBySide = 2

// runShapes runs the wanted cases, shape after shape and kernel after kernel.
func runShapes(ctx context.Context, doc *document, wanted *regexp.Regexp, bin labrun.Binaries, o options) []error {
	var mu sync.Mutex // of what follows, and of what is printed
	var problems []error
	var guests sync.WaitGroup
	places := make(chan struct{}, sideBySide)
	shapes := faults.Shapes() // the longest first, so that none is alone at the end
	slices.SortStableFunc(shapes, func(a, b *faults.Shape) int { return cmp.Compare(bound(b.Cases(wanted)), bound(a.Cases(wanted))) })
	for _, s := range shapes {
		cases := s.Cases(wanted)
		if len(cases) == 0 || o.shape != "" && s.Name != o.shape || o.check && s.Slow {
			continue
		}
		for i := range doc.columns {
			places <- struct{}{}
			guests.Go(func() {
				defer func() { <-places }()
				if ctx.Err() != nil {
					return
				}
				col, began := &doc.columns[i], time.Now()
				got, res, err := runShape(ctx, col.path, s, cases, bin, o)
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					problems = append(problems, fmt.Errorf("kernel %s, shape %s: %w", col.kernel, s.Name, err))
				}
				doc.qemu = cmp.Or(doc.qemu, res.QEMU)
				problems = append(problems, col.add(cases, got)...)
				fmt.Printf("kernel %s, shape %s: %d cases in %.0f s\n", col.kernel, s.Name, len(cases), time.Since(began).Seconds())
			})
		}
	}
	guests.Wait()
	return problems
}

// add takes over what a guest reported of its cases, and returns those that failed.
func (col *column) add(cases []faults.Case, got map[string]faults.Result) (failed []error) {
	for _, c := range cases {
		r, ok := got[c.Name]
		if !ok {
			r = faults.Result{Name: c.Name, Result: faults.Fail, Exit: faults.LibraryOnly, Reason: "lost: its guest ended before it did"}
			col.lost = append(col.lost, c.Name)
		}
		col.results[c.Name] = r
		fmt.Printf("%-4s %s, kernel %s, %.1f s%s\n", r.Result, c.Name, col.kernel, r.Seconds, indent(r.Reason))
		if r.Result == faults.Fail {
			failed = append(failed, fmt.Errorf("kernel %s: case %s failed", col.kernel, c.Name))
		}
	}
	return failed
}

func indent(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + strings.ReplaceAll(reason, "\n", "\n     ")
}

// bound is how long cases may take together.
func bound(cases []faults.Case) (sum time.Duration) {
	for _, c := range cases {
		sum += c.Bound
	}
	return sum
}

// bootLimit is what a guest may take beside its cases' bounds.
const bootLimit = 5 * time.Minute

// runShape boots a guest for some cases and returns what it reported of each.
func runShape(ctx context.Context, kernel string, s *faults.Shape, cases []faults.Case, bin labrun.Binaries, o options) (map[string]faults.Result, lab.Result, error) {
	limit := bootLimit + bound(cases) + time.Duration(len(cases))*time.Minute
	cfg := lab.Config{
		Kernel: kernel, Binary: bin.Tool, PollQueues: s.PollQueues, Append: s.Append, CPUs: s.CPUs, MemoryMiB: s.MemoryMiB, Actions: s.Actions,
		Program: []string{bin.Tests, "-test.run=^TestFaults$", "-test.timeout=" + limit.String()}, Timeout: limit + time.Minute, Dir: "test/faults",
		Env:   append(labrun.PassEnv("CI"), faults.EnvShape+"="+s.Name, faults.EnvRun+"="+o.run),
		Notes: io.Discard,
	}
	if o.verbose {
		cfg.Program = append(cfg.Program, "-test.v")
	}
	var err error
	if cfg.Drives, err = labrun.Drives(s.Drives); err != nil {
		return nil, lab.Result{}, err
	}
	var out bytes.Buffer
	cfg.Stdout, cfg.Stderr = &out, &out
	if o.verbose {
		cfg.Stdout, cfg.Stderr = io.MultiWriter(&out, os.Stdout), os.Stderr
	}
	res, err := lab.Run(ctx, cfg)
	got := map[string]faults.Result{}
	for line := range strings.Lines(out.String()) {
		if text, ok := strings.CutPrefix(line, faults.ResultPrefix); ok {
			var r faults.Result
			if jerr := json.Unmarshal([]byte(text), &r); jerr != nil {
				return got, res, jerr
			}
			got[r.Name] = r
		}
	}
	if (err != nil || res.ExitCode != 0) && !o.verbose {
		fmt.Print(out.String())
	}
	return got, res, err
}
