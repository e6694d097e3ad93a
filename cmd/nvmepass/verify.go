package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/nvmepass/nvmepass/internal/badflag"
	"github.com/nvmepass/nvmepass/internal/consent"
	"github.com/nvmepass/nvmepass/internal/jobs"
	"github.com/nvmepass/nvmepass/internal/report"
	"github.com/nvmepass/nvmepass/internal/sys"
	"github.com/nvmepass/nvmepass/internal/verify"
	"github.com/nvmepass/nvmepass/passthru"
)

const verifyExamples = `  nvmepass verify /dev/ng0n1 --do both --allow-write --size 1g         destroys data
  nvmepass verify /dev/ng0n1 --do write --allow-write --seed 7         write now
  nvmepass verify /dev/ng0n1 --seed 7 --path block --bs 4k             and verify later, by another path
  nvmepass verify /dev/ng0n1 --seed 7 --offset 1m --size 64k           a part of it
  nvmepass verify /dev/ng0n1 --do both --allow-write --order random --loops 10 --path passthru-poll -o json`

// verifyFlags are the flags of nvmepass verify as given.
type verifyFlags struct {
	cfg        verify.Config
	order      string
	allowWrite bool
	force      bool
	output     string
	progress   string
	color      colorFlag
	given      func(name string) bool
}

func newVerify(stdout io.Writer, stderr *os.File) *cobra.Command {
	f := &verifyFlags{cfg: verify.DefaultConfig()}
	cmd := &cobra.Command{
		Use:   "verify DEVICE",
		Short: "Write a pattern, read it back, and say which blocks differ",
		Long: `verify writes blocks that carry their LBA, a seed, a generation and a checksum in
each 512 bytes, and reads and compares them, on any path. By default it only reads
and compares what an earlier run with the same seed and generation left; blocks
stand for themselves, so that path, command size, order and range may differ from
those of the run that wrote.

Of a block that differs it says what it holds instead: the stamp of another LBA (a
misdirected write or read), of an earlier generation (a lost write), parts of
several (a torn write), zeros, damaged or foreign data. On passthrough paths it
compares metadata, and checks protection information, as well.

Each loop that writes adds one to the generation. Writing destroys data: it needs
--allow-write, shows what it will overwrite, and refuses a namespace that is in
use, partitioned or holds a file system.

It ends with 0 if all was as expected; 4 if a block differs; 3 if a command failed;
5 if the drive is gone; 1 for a wrong option; 2 if the device cannot be used; 130
after SIGINT, having said what was verified until then.`,
		Example: verifyExamples,
		RunE: func(cmd *cobra.Command, devices []string) error {
			if err := needDevices("verify", devices); err != nil {
				return err
			}
			if len(devices) > 1 {
				return usage("verify takes one device, and was given %q as well", devices[1])
			}
			if err := f.parse(); err != nil {
				return err
			}
			return f.run(cmd.Context(), devices[0], stdout, stderr)
		},
	}
	f.add(cmd.Flags())
	return cmd
}

func (f *verifyFlags) add(fl *pflag.FlagSet) {
	fl.SetNormalizeFunc(fioNames)
	f.given = fl.Changed
	c := &f.cfg
	fl.StringVar(&c.Do, "do", c.Do, "read (and compare), write, or both, one after the other")
	fl.StringVar(&c.Path, "path", c.Path, "passthru, passthru-poll, block, block-poll, or ioctl (synchronous, one at a time)")
	fl.Var(bytesValue{&c.BlockSize}, "bs", "bytes of each command, extended metadata included (default 64k of data, or what one command takes)")
	fl.IntVar(&c.QD, "qd", c.QD, "commands in flight (fio: iodepth; by ioctl 1)")
	fl.Var(bytesValue{&c.Offset}, "offset", "first byte of the namespace")
	fl.Var(bytesValue{&c.Size}, "size", "bytes from there on (default to the end)")
	fl.Uint64Var(&c.Seed, "seed", c.Seed, "of the pattern and of the random order")
	fl.Uint32Var(&c.Generation, "generation", c.Generation, "of the first loop that writes, or the one to look for")
	fl.IntVar(&c.Loops, "loops", c.Loops, "how often to go over the range")
	fl.StringVar(&f.order, "order", "sequential", "sequential or random; each block is visited once in either")
	fl.BoolVar(&c.Metadata, "metadata", c.Metadata, "compare metadata and check protection information too, on passthrough paths")
	fl.IntVar(&c.MaxReports, "max-reports", c.MaxReports, "most blocks and failures to report one by one; all are counted")
	fl.BoolVar(&f.allowWrite, "allow-write", false, "let --do write and both destroy data")
	fl.BoolVar(&f.force, "force-overwrite", false, "also where the namespace is in use, partitioned or holds a file system")
	addFormat(fl, &f.output, "verify")
	f.color.add(fl)
	addProgress(fl, &f.progress)
}

// parse checks what can be checked without a device.
func (f *verifyFlags) parse() error {
	c := &f.cfg
	if err := errors.Join(checkFormat(f.output, "verify"), f.color.check()); err != nil {
		return err
	}
	switch f.order {
	case "sequential", "random":
		c.Random = f.order == "random"
	default:
		return usage("--order %q: need sequential or random", f.order)
	}
	if err := checkProgress(f.progress); err != nil {
		return err
	}
	if c.Path == verify.PathIoctl && !f.given("qd") {
		c.QD = 1
	}
	if err := c.Validate(); err != nil {
		return err
	}
	for name, zero := range map[string]bool{"bs": c.BlockSize == 0, "size": c.Size == 0} {
		if f.given(name) && zero {
			return &badflag.Error{Flag: "--" + name, Value: "0", Problem: "must be above 0", Remedy: "leave the flag out for its default"}
		}
	}
	block := strings.HasPrefix(c.Path, "block")
	for _, u := range []struct {
		name    string
		useless bool
		problem string
	}{
		{"allow-write", !c.Writes(), "--do read writes nothing"},
		{"force-overwrite", !c.Writes(), "--do read writes nothing"},
		{"metadata", block, "the block layer shows no metadata"},
		{"metadata", c.Do == verify.DoWrite, "--do write compares nothing"},
	} {
		if f.given(u.name) && u.useless {
			return &badflag.Error{Flag: "--" + u.name, Problem: u.problem + ", so that the flag has no effect", Remedy: "leave it out"}
		}
	}
	if c.Writes() {
		return consent.Required("verify --do "+c.Do, f.allowWrite)
	}
	return nil
}

func (f *verifyFlags) run(ctx context.Context, device string, stdout io.Writer, stderr *os.File) (err error) {
	dev, err := passthru.Open(device, &passthru.Config{Writable: f.cfg.Writes(), Depth: 1, AllowIoctl: f.cfg.Path == verify.PathIoctl})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dev.Close()) }()
	if err := f.cfg.Check(dev); err != nil {
		return err
	}
	if f.cfg.Writes() {
		hold, cerr := consent.Check(ctx, dev, consent.Request{
			Op: "verify --do " + f.cfg.Do, AllowWrite: f.allowWrite, Force: f.force, Offset: f.cfg.Offset, Length: f.cfg.Size, Show: stderr,
		})
		if cerr != nil {
			return cerr
		}
		defer func() { err = errors.Join(err, hold.Close()) }()
	}
	show := f.progressTo(stderr)
	res, err := verify.Run(ctx, dev, f.cfg, show.update)
	show.finish()
	if res == nil {
		return err
	}
	var printed error
	if f.output == "json" {
		printed = report.Document(stdout, res)
	} else {
		printed = report.Verify(f.color.on(stdout), res)
	}
	return withCode(printed, verifyVerdict(res, err))
}

// verifyVerdict is the error that a run ends with: an interruption outweighs
// blocks that differ, and those outweigh commands that failed.
func verifyVerdict(r *verify.Result, err error) error {
	switch {
	case r.Mismatched > 0 && !r.Interrupted:
		return &codeError{exitMismatch, errors.Join(err, fmt.Errorf("%s: %d of %d blocks are not what was written", r.Device, r.Mismatched, r.Verified))}
	case r.Interrupted:
		return &codeError{exitInterrupted, errors.Join(err, errors.New("interrupted"))}
	case jobs.Gone(err):
		return &codeError{exitTimeout, err}
	case err != nil:
		return err
	case r.Failed > 0:
		return &codeError{exitIO, fmt.Errorf("%s: %d commands failed", r.Device, r.Failed)}
	}
	return nil
}

// verifyProgress shows how far a run is.
type verifyProgress struct {
	w     io.Writer
	line  bool
	width int
	shown int
	last  time.Time
}

func (f *verifyFlags) progressTo(stderr *os.File) *verifyProgress {
	width, tty := sys.TerminalWidth(int(stderr.Fd()))
	p := &verifyProgress{w: stderr, line: f.progress == "line" || f.progress == "auto" && tty, width: width, last: time.Now()}
	if p.width <= 0 {
		p.width = 80
	}
	if f.progress == "none" {
		p.w = io.Discard
	}
	return p
}

func (p *verifyProgress) update(s verify.Progress) {
	if p.line {
		p.rewrite(s.Text())
		return
	}
	if time.Since(p.last) >= 5*time.Second {
		p.last = time.Now()
		_, _ = fmt.Fprintln(p.w, s.Text())
	}
}

func (p *verifyProgress) rewrite(text string) {
	text = text[:min(len(text), p.width-1)]
	_, _ = fmt.Fprint(p.w, "\r"+text+strings.Repeat(" ", max(0, p.shown-len(text))))
	p.shown = len(text)
}

// finish clears the line.
func (p *verifyProgress) finish() {
	if p.shown > 0 {
		p.rewrite("")
		_, _ = io.WriteString(p.w, "\r")
	}
}
