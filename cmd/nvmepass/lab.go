package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/nvmepass/nvmepass/internal/compare"
	"github.com/nvmepass/nvmepass/internal/lab"
	"github.com/nvmepass/nvmepass/internal/report"
	"github.com/nvmepass/nvmepass/internal/sys"
)

// labFlags are the flags that describe the guest.
type labFlags struct {
	cfg    lab.Config
	drives []string
	names  []string
	given  func(name string) bool
}

func (f *labFlags) add(fl *pflag.FlagSet) {
	f.cfg.PollQueues, f.cfg.CPUs, f.cfg.MemoryMiB = lab.DefaultPollQueues, lab.DefaultCPUs, lab.DefaultMemoryMiB
	f.cfg.Timeout = lab.DefaultTimeout
	own := pflag.NewFlagSet("lab", pflag.ContinueOnError)
	own.StringArrayVar(&f.drives, "drive", nil, "lab: a drive, such as size=1g,backend=null,lba=512; may be repeated (default one such null drive)")
	own.StringVar(&f.cfg.Kernel, "kernel", "", "lab: kernel image (default the newest of scripts/lab-kernels.sh or /boot)")
	own.StringVar(&f.cfg.Accel, "accel", lab.AccelAuto, "lab: auto, kvm or tcg")
	own.IntVar(&f.cfg.CPUs, "cpus", f.cfg.CPUs, "lab: processors of the guest; with 1, polling starves the emulated drive")
	own.IntVar(&f.cfg.MemoryMiB, "memory", f.cfg.MemoryMiB, "lab: memory of the guest in MiB")
	own.IntVar(&f.cfg.PollQueues, "poll-queues", f.cfg.PollQueues, "lab: nvme.poll_queues of the guest's kernel")
	own.StringVar(&f.cfg.Append, "append", "", "lab: further kernel parameters")
	own.Var(timeValue{&f.cfg.Timeout}, "timeout", "lab: time after which the guest is stopped")
	own.StringVar(&f.cfg.QEMU, "qemu", "", "lab: the emulator (default qemu-system-x86_64)")
	own.VisitAll(func(flag *pflag.Flag) { f.names = append(f.names, flag.Name) })
	fl.AddFlagSet(own)
	f.given = fl.Changed
}

// firstGiven is the name of a lab flag that was used, "" if none was.
func (f *labFlags) firstGiven() string {
	for _, name := range f.names {
		if f.given(name) {
			return name
		}
	}
	return ""
}

// config completes the lab's configuration.
func (f *labFlags) config(stderr io.Writer) (lab.Config, error) {
	cfg := f.cfg
	cfg.Notes, cfg.Stderr = stderr, stderr
	switch { // to the lab 0 means its default; as a flag it is a slip
	case cfg.CPUs == 0:
		return cfg, usage("--cpus 0: the guest needs at least 1, and 2 to poll")
	case cfg.MemoryMiB == 0:
		return cfg, usage("--memory 0: give the guest's memory in MiB, such as %d", lab.DefaultMemoryMiB)
	case cfg.Timeout == 0:
		return cfg, usage("--timeout 0: must be above 0; give a time such as %v", lab.DefaultTimeout)
	}
	if !f.given("timeout") {
		cfg.Timeout = 0 // the lab's default, or a test binary's own limit
	}
	if len(f.drives) == 0 {
		f.drives = []string{""}
	}
	for _, s := range f.drives {
		d, err := lab.ParseDrive(s)
		if err != nil {
			return cfg, err
		}
		cfg.Drives = append(cfg.Drives, d)
	}
	return cfg, nil
}

func newLab(stdout io.Writer, stderr *os.File) *cobra.Command {
	f := &labFlags{}
	var in []string
	var verbose bool
	cmd := &cobra.Command{
		Use:   "lab [flags] -- ARGS...",
		Short: "Run nvmepass, or a Go test binary, in the emulated guest",
		Long: `lab boots a small guest with the real Linux NVMe driver and emulated drives,
runs nvmepass ARGS in it, and brings back output, files left in /out, and the
exit code. If ARGS begins with the path of a program, that is run instead, so
that it serves as a runner for tests: go test -exec "nvmepass lab --".

Needs QEMU (qemu-system-x86) and a kernel image with the NVMe driver, such as
those that scripts/lab-kernels.sh fetches. Figures from it are emulated: they
compare paths, they do not measure drives.`,
		Example: `  nvmepass lab -- compare /dev/ng0n1 --rounds 3
  nvmepass lab --drive lba=4096,backend=memory --drive ms=64,mset=1 -- compare /dev/ng0n1
  CGO_ENABLED=0 go test -exec "$PWD/nvmepass lab --" ./test/`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("lab: nothing to run: give the arguments of nvmepass after --, as in: nvmepass lab -- compare /dev/ng0n1")
			}
			cfg, err := f.config(stderr)
			if err != nil {
				return err
			}
			signals, stop := statusSignals()
			defer stop()
			cfg.Stdout, cfg.Signals = stdout, signals
			if verbose {
				cfg.Console = stderr
			}
			if cfg.InFiles, err = inFiles(in); err != nil {
				return err
			}
			cfg.Program = program(args)
			res, err := lab.Run(cmd.Context(), cfg)
			if err != nil {
				return err
			}
			if res.ExitCode != 0 {
				return &codeError{code: res.ExitCode}
			}
			return nil
		},
	}
	fl := cmd.Flags()
	f.add(fl)
	fl.StringVar(&f.cfg.OutDir, "out", "", "folder that receives what the program leaves in the guest's /out")
	fl.StringArrayVar(&in, "in", nil, "HOST=GUEST: a file or folder to put into the guest; may be repeated")
	fl.StringArrayVar(&f.cfg.Env, "env", nil, "NAME=VALUE for the program; may be repeated")
	fl.BoolVarP(&verbose, "verbose", "v", false, "show the guest's console on standard error")
	return cmd
}

// program decides between nvmepass itself and a program of the host.
func program(args []string) []string {
	if strings.Contains(args[0], "/") {
		if fi, err := os.Stat(args[0]); err == nil && fi.Mode().IsRegular() {
			return args
		}
	}
	return append([]string{"nvmepass"}, args...)
}

func inFiles(pairs []string) (map[string]string, error) {
	files := map[string]string{}
	for _, p := range pairs {
		host, guest, ok := strings.Cut(p, "=")
		if !ok || host == "" || guest == "" {
			return nil, usage("--in %s: need HOST=GUEST, two paths", p)
		}
		if files[host] != "" {
			return nil, usage("--in %s: %s goes to %s already; give a file or folder of the host once", p, host, files[host])
		}
		files[host] = guest
	}
	return files, nil
}

// runInLab runs the comparison in the guest.
func (f *compareFlags) runInLab(ctx context.Context, fl *pflag.FlagSet, stdout io.Writer, stderr *os.File) error {
	cfg, err := f.labFlags.config(stderr)
	if err != nil {
		return err
	}
	cfg.Program = append([]string{"nvmepass", "compare", "--first-device", "--progress", guestProgress(f.progress, stderr)}, f.labFlags.guestArgs(fl)...)
	cfg.Program = append(cfg.Program, f.cfg.Devices...)
	return inGuest(ctx, cfg, compare.Decode, func(r *compare.Result) error { return f.write(r, stdout) })
}

// inGuest runs a command of this program in the guest and renders its record here,
// so that every form of output works as without the lab.
func inGuest[R any](ctx context.Context, cfg lab.Config, decode func(io.Reader) (*R, error), write func(*R) error) error {
	var record bytes.Buffer
	cfg.Stdout = &record
	cfg.Program = append(cfg.Program, "-o", "json")
	guest, err := lab.Run(ctx, cfg)
	if err != nil {
		return err
	}
	if err := guestFailure(record.Bytes(), guest.ExitCode); err != nil {
		return err
	}
	res, err := decode(&record)
	if err != nil {
		return fmt.Errorf("read the guest's record: %w", err)
	}
	var verdict error
	if guest.ExitCode != 0 {
		verdict = &codeError{code: guest.ExitCode}
	}
	return withCode(write(res), verdict)
}

// guestFailure is the error of a command that ended in the guest without a
// result. The guest has said why on standard error.
func guestFailure(record []byte, exitCode int) error {
	if len(record) == 0 {
		return &codeError{code: max(exitCode, exitUsage)}
	}
	var f report.Failure
	if err := json.Unmarshal(record, &f); err != nil || f.Schema != report.FailureSchema {
		return nil //nolint:nilerr // it is a result, or something that the reader of results refuses
	}
	return &codeError{code: max(exitCode, exitUsage), err: saidError(f.Error)}
}

// hostOnly are the flags that concern the host alone.
var hostOnly = []string{"lab", "output", "save", "html", "baseline", "progress", "color"}

// guestArgs repeats on the guest's command line the flags that were given on
// this one, but those of the lab and those that concern the host alone.
func (f *labFlags) guestArgs(fl *pflag.FlagSet) []string {
	var args []string
	fl.Visit(func(flag *pflag.Flag) {
		if slices.Contains(f.names, flag.Name) || slices.Contains(hostOnly, flag.Name) {
			return
		}
		values := []string{flag.Value.String()}
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, v := range values {
			args = append(args, "--"+flag.Name+"="+v)
		}
	})
	return args
}

// guestProgress is the way in which the guest shows progress, whose standard
// error is this process's.
func guestProgress(progress string, stderr *os.File) string {
	if progress != "auto" {
		return progress
	}
	if _, tty := sys.TerminalWidth(int(stderr.Fd())); tty {
		return "line"
	}
	return "plain"
}
