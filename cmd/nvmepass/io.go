package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nvmepass/nvmepass/internal/badflag"
	"github.com/nvmepass/nvmepass/internal/consent"
	"github.com/nvmepass/nvmepass/internal/outfile"
	"github.com/nvmepass/nvmepass/internal/report"
	"github.com/nvmepass/nvmepass/internal/single"
	"github.com/nvmepass/nvmepass/internal/sys"
	"github.com/nvmepass/nvmepass/nvme"
	"github.com/nvmepass/nvmepass/passthru"
)

// exitMismatch is a compare failure or a verification that found other data.
const exitMismatch = 4

const ioExamples = `  nvmepass io read /dev/ng0n1 --start-block 0x100 --blocks 8           a dump
  nvmepass io read /dev/ng0n1 --blocks 8 --data - | sha256sum
  nvmepass io write /dev/ng0n1 --start-block 16 --allow-write < in.bin   destroys data
  nvmepass io compare /dev/ng0n1 --start-block 16 --data in.bin         exit 4 if they differ
  nvmepass io read --dry-run --namespace-id 1 --layout lba=4096 --blocks 8
  nvmepass io raw /dev/ng0n1 --opcode 0x02 --cdw12 7 --data-len 4096 -o json`

func newIO(stdout io.Writer, stderr *os.File) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "io SUBCOMMAND",
		Short: "Send one I/O command: read, write, compare, trim, zones, raw",
		Long: `io sends one NVMe command to a namespace and prints what came of it: the status,
the result and the data. Options have nvme-cli's long names, but that --blocks
counts from one. Numbers may be written in hexadecimal, as 0x10.

DEVICE is a namespace's generic node (/dev/ng0n1) or its block node. Commands that
change data need --allow-write, show what they will overwrite, and refuse a
namespace that is in use, partitioned or holds a file system.

It ends with 0; 1 for a wrong option; 2 if the device cannot be used; 3 for an NVMe
status or I/O error; 4 if compare found a difference; 5 if it was cancelled.`,
		Example: ioExamples,
		RunE:    needSubcommand,
	}
	for _, v := range single.IOVerbs() {
		cmd.AddCommand(newSingle(v, stdout, stderr))
	}
	return cmd
}

// needSubcommand shows the help, or says which subcommand was meant.
func needSubcommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	hint := ""
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		slices.SortStableFunc(near, func(a, b string) int { return distance(args[0], a) - distance(args[0], b) })
		hint = fmt.Sprintf("did you mean %s? ", strings.Join(near[:min(mostHints, len(near))], " or "))
	}
	return usage("%s: unknown subcommand %q: %ssee %s --help", cmd.Name(), args[0], hint, cmd.CommandPath())
}

func newSingle(v *single.Verb, stdout io.Writer, stderr *os.File) *cobra.Command {
	f := &singleFlags{verb: v}
	cmd := &cobra.Command{
		Use:     v.Name + " DEVICE",
		Aliases: v.Aliases,
		Short:   v.Short,
		Example: "  nvmepass " + v.Example,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage("%s takes one device, and was given %q as well", cmd.CommandPath(), args[1])
			}
			if err := f.parse(); err != nil {
				return err
			}
			if len(args) == 0 && !f.dryRun {
				return needDevices(strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" "), args)
			}
			device := ""
			if len(args) == 1 {
				device = args[0]
			}
			s := &singleRun{singleFlags: f, stdin: os.Stdin, stdout: stdout, stderr: stderr}
			err := s.run(cmd.Context(), device)
			return singleVerdict(cmd.Context(), err)
		},
	}
	f.add(cmd.Flags())
	cmd.Flags().SortFlags = false
	return cmd
}

// singleVerdict gives a failure the exit code of its kind.
func singleVerdict(ctx context.Context, err error) error {
	var coded *codeError
	var command *nvme.CommandError
	var status *nvme.StatusError
	var kernel *passthru.KernelError
	var denied *passthru.PermissionError
	code := exitDevice
	switch {
	case err == nil, errors.As(err, &coded):
		return err
	case ctx.Err() != nil:
		return &codeError{exitInterrupted, fmt.Errorf("interrupted: %w", err)}
	case errors.Is(err, nvme.CompareFailure):
		code = exitMismatch
	case errors.As(err, &status):
		code = exitIO
	case errors.As(err, &command):
		code = exitUsage
	case errors.Is(err, passthru.ErrCancelled):
		code = exitTimeout
	case errors.As(err, &denied):
	case errors.As(err, &kernel):
		code = exitIO
	default:
		return err // those of every command
	}
	return &codeError{code, err}
}

// singleRun is one command on its way.
type singleRun struct {
	*singleFlags
	stdin  *os.File
	stdout io.Writer
	stderr *os.File
}

func (s *singleRun) run(ctx context.Context, device string) error {
	if s.dryRun {
		return s.dry(ctx, device)
	}
	if s.verb.Admin {
		return s.admin(ctx, device)
	}
	if s.verb.Effect == single.Writes {
		if err := consent.Required(s.verb.Name, s.allowWrite); err != nil {
			return err
		}
	}
	return s.onNamespace(ctx, device)
}

// deviceConfig is for one command, by ioctl where there is no io_uring.
func (s *singleRun) deviceConfig(writable bool) *passthru.Config {
	return &passthru.Config{Writable: writable, Depth: 1, AllowIoctl: true, Timeout: time.Duration(s.opts.TimeoutMS) * time.Millisecond}
}

func (s *singleRun) onNamespace(ctx context.Context, device string) (err error) {
	dev, err := passthru.Open(device, s.deviceConfig(s.allowWrite))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dev.Close()) }()
	t, err := s.namespaceTarget(ctx, dev)
	if err != nil {
		return err
	}
	r, err := s.prepare(ctx, &t)
	if err != nil {
		return err
	}
	switch {
	case r.Effect == single.Writes:
		hold, cerr := consent.Check(ctx, dev, consent.Request{
			Op: s.verb.Name, AllowWrite: s.allowWrite, Force: s.force, Offset: r.Offset, Length: r.Length, Show: s.stderr,
		})
		if cerr != nil {
			return cerr
		}
		defer func() { err = errors.Join(err, hold.Close()) }()
	case s.allowWrite:
		return &badflag.Error{Flag: "--allow-write", Problem: fmt.Sprintf("%s writes nothing, so that the flag has no effect", r.Command.Opcode.Name(t.Set)), Remedy: "leave it out"}
	}
	return s.send(r, t.Path, func() (uint64, error) { return dev.DoMetadata(ctx, r.Command, r.Data, r.Metadata) })
}

// namespaceTarget is what a namespace takes.
func (s *singleRun) namespaceTarget(ctx context.Context, dev *passthru.Device) (t single.Target, err error) {
	t = single.DeviceTarget(dev)
	if !s.opts.Extended {
		return t, nil
	}
	c, err := passthru.OpenController(dev.Path(), nil)
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	b, err := c.Identify(ctx, nvme.CNSSetNamespace, nvme.IdentifyOptions{NSID: dev.NSID(), CSI: nvme.SetZNS})
	if err != nil {
		return t, err
	}
	zns, err := nvme.DecodeIdentifyZNSNamespace(b)
	if err != nil {
		return t, err
	}
	if i := dev.Namespace().FormatIndex(); i < len(zns.Formats) {
		t.ZoneExtension = zns.Formats[i].ExtensionSize()
	}
	return t, nil
}

// dry prints a command for what the options describe, or for a device that is
// opened for reading only.
func (s *singleRun) dry(ctx context.Context, device string) (err error) {
	t := single.Target{NSID: s.opts.NSID, Set: nvme.SetNVM}
	switch {
	case s.verb.Admin:
		t.Set = nvme.SetAdmin
	case s.verb.Zoned:
		t.Set = nvme.SetZNS
	}
	if s.layout != "" {
		if t.Layout, err = single.ParseLayout(s.layout); err != nil {
			return err
		}
	}
	enough := (s.opts.NSID != 0 || !s.verb.NeedsNSID) && (s.layout != "" || !s.verb.NeedsLayout)
	switch {
	case s.verb.Admin && device != "" && !s.given("namespace-id"):
		c, nsid, err := openController(device, nil)
		if err != nil {
			return err
		}
		t = single.ControllerTarget(c, nsid)
		if err := c.Close(); err != nil {
			return err
		}
	case !s.verb.Admin && device != "" && !enough:
		dev, err := passthru.Open(device, s.deviceConfig(false))
		if err != nil {
			return err
		}
		layout := t.Layout
		t, err = s.namespaceTarget(ctx, dev)
		if err = errors.Join(err, dev.Close()); err != nil {
			return err
		}
		if s.layout != "" {
			t.Layout = layout
		}
	}
	r, err := s.prepare(ctx, &t)
	if err != nil {
		return err
	}
	d := single.NewDocument(r, device)
	d.DryRun = true
	d.Encode(r)
	return s.print(d)
}

// prepare builds the command with its data, for which it may have to wait.
func (s *singleRun) prepare(ctx context.Context, t *single.Target) (*single.Request, error) {
	return untilDone(ctx, func() (*single.Request, error) { return s.build(t) })
}

func (s *singleRun) build(t *single.Target) (r *single.Request, err error) {
	src := &single.Source{Prefill: s.prefill, Dry: s.dryRun}
	var files []*os.File
	defer func() {
		for _, f := range files {
			err = errors.Join(err, f.Close())
		}
	}()
	open := func(path string) (io.Reader, error) {
		if path == "-" {
			return s.stdin, nil
		}
		f, err := os.Open(path)
		if err == nil {
			files = append(files, f)
		}
		return f, err
	}
	if s.sends() {
		switch {
		case s.data != "":
			if src.Data, err = open(s.data); err != nil {
				return nil, &badflag.Error{Flag: "--data", Problem: err.Error(), Remedy: "name a file that can be read"}
			}
		case s.dryRun, s.prefill != nil, s.verb.Name == "set-feature":
		default:
			if _, tty := sys.TerminalWidth(int(s.stdin.Fd())); tty {
				return nil, &badflag.Error{Flag: "--data", Problem: "there is no data: standard input is a terminal", Remedy: "name a file, or pipe the data in"}
			}
			src.Data = s.stdin
		}
	}
	if s.metadata != "" && !s.receives() {
		if src.Metadata, err = open(s.metadata); err != nil {
			return nil, &badflag.Error{Flag: "--metadata", Problem: err.Error(), Remedy: "name a file that can be read"}
		}
	}
	return s.verb.Prepare(&s.opts, t, src)
}

// send sends the command and prints what came of it.
func (s *singleRun) send(r *single.Request, path string, do func() (uint64, error)) error {
	d := single.NewDocument(r, path)
	if s.showCommand {
		d.Encode(r)
	}
	start := time.Now()
	result, err := do()
	took := time.Since(start)
	var written error
	dataFile, metadataFile := "", ""
	if err == nil && r.FromDrive() {
		dataFile, metadataFile = s.data, s.metadata
		if s.output == "binary" {
			dataFile = "-"
		}
		written = errors.Join(s.deliver(dataFile, r.Data), s.deliver(metadataFile, r.Metadata))
	}
	d.Finish(r, result, took, s.latency, err, dataFile, metadataFile)
	return errors.Join(err, written, s.print(d))
}

// deliver writes what the drive sent where it was asked for.
func (s *singleRun) deliver(path string, b []byte) error {
	switch path {
	case "":
		return nil
	case "-":
		_, err := s.stdout.Write(b)
		return err
	}
	return outfile.Write(path, func(w io.Writer) error { _, err := w.Write(b); return err })
}

// print renders the document where the data leaves room for it.
func (s *singleRun) print(d *single.Document) error {
	switch {
	case s.output == "json":
		return report.Document(s.stdout, d)
	case s.output == "binary" || s.data == "-" && s.receives():
		return single.Text(s.stderr, d)
	}
	return single.Text(s.stdout, d)
}
