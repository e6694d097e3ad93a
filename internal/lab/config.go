package lab

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// Values of Config.Accel.
const (
	AccelAuto = "auto"
	AccelKVM  = "kvm"
	AccelTCG  = "tcg"
)

// Defaults and limits of a Config.
const (
	DefaultCPUs      = 2
	DefaultMemoryMiB = 1024
	DefaultTimeout   = 10 * time.Minute
	// DefaultPollQueues is what callers that have no wish of their own put into Config.PollQueues.
	DefaultPollQueues = 1

	maxCPUs         = 64
	minMemoryMiB    = 128
	maxMemoryMiB    = 1 << 20
	maxTimeout      = 24 * time.Hour
	defaultHelloKVM = 15 * time.Second
	defaultHelloTCG = 2 * time.Minute
	defaultGrace    = 10 * time.Second
	// testGrace is what the lab waits beyond a test binary's own -test.timeout, for its stack dump and the files.
	testGrace = 30 * time.Second
)

// Config describes one run of a program in the guest.
type Config struct {
	// Kernel is the path of a bzImage; default is the newest that FindKernels returns.
	Kernel string
	// QEMU is the emulator; default qemu-system-x86_64 from $PATH.
	QEMU string
	// Accel is AccelAuto (the default), AccelKVM or AccelTCG.
	Accel string
	// CPUs of the guest; default 2. With one, polled runs starve the emulated drive.
	CPUs int
	// MemoryMiB of the guest; default 1024.
	MemoryMiB int
	// Timeout bounds the run from the first start of QEMU; default 10 minutes, at most 24 hours. A test binary's own
	// -test.timeout, plus the time for a start and half a minute, takes the default's place and bounds a longer Timeout.
	Timeout time.Duration
	// HelloTimeout bounds the time until the guest's init answers; default 15 s with KVM and 2 min with TCG.
	HelloTimeout time.Duration
	// Grace is what the program has to end after it was interrupted; default 10 s.
	Grace time.Duration
	// Drives in the order of the controllers' numbers.
	Drives []Drive
	// PollQueues is the driver's nvme.poll_queues, the polled queues per controller; 0 for none.
	PollQueues int
	// Append holds further kernel arguments.
	Append string
	// Actions are what the program may ask the host for with Ask; default nothing.
	Actions []Verb

	// Binary becomes /init and calls Init; default is the running executable. It must be static.
	Binary string
	// Program is what runs in the guest. Program[0] empty or "nvmepass" stands for Binary, the path of an executable on the
	// host for that one; it must be static. The flags of a test binary that name files are honoured on the host.
	Program []string
	// Dir is the folder whose testdata the program finds in its working folder, which is /work in the guest; default is the
	// current folder. Relative names in a test binary's flags start there.
	Dir string
	// Env of the program, as in os.Environ, on top of PATH=/bin, HOME=/tmp and TMPDIR=/tmp. A GOCOVERDIR among it names a folder of the host.
	Env []string
	// InFiles maps files and folders of the host to absolute places in the guest.
	InFiles map[string]string
	// OutDir receives what the program left in /out. Without it, files there are lost.
	OutDir string

	// Stdout and Stderr receive the program's streams, byte by byte; nil discards.
	Stdout, Stderr io.Writer
	// Signals are passed on to the program while it runs, such as SIGUSR1; those that come before are dropped. nil is none.
	Signals <-chan os.Signal
	// Console receives the whole kernel log; without it, the kernel logs warnings only and they are shown on failure.
	Console io.Writer
	// Notes receives lines on how the run goes, such as a fall-back to TCG; nil discards them.
	Notes io.Writer
}

// Result tells how a run went.
type Result struct {
	// ExitCode of the program as a shell shows it: 128 plus the number of the signal that ended it.
	ExitCode int
	// Signal that ended the program, or 0.
	Signal int
	// Interrupted tells that the program was asked to end (SIGINT) because the context was cancelled.
	Interrupted bool
	// Accel is "kvm" or "tcg".
	Accel string
	// Kernel that ran.
	Kernel Kernel
	// QEMU version, such as 7.2.22.
	QEMU string
	// BootTime is from the start of QEMU to the start of the program; RunTime from there to the program's exit code.
	BootTime, RunTime time.Duration
}

// plan is a Config made ready to run.
type plan struct {
	cfg     Config
	kernel  Kernel
	spec    guestSpec
	files   *initramfs
	collect []collected
	cmdline string
	drives  []Drive // one per controller group: counts are spread out, defaults filled in
}

func configError(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrConfig}, args...)...)
}

// newPlan checks everything that can be checked without starting anything.
func newPlan(cfg Config) (*plan, error) {
	if cfg.CPUs == 0 {
		cfg.CPUs = DefaultCPUs
	}
	if cfg.MemoryMiB == 0 {
		cfg.MemoryMiB = DefaultMemoryMiB
	}
	if cfg.Grace == 0 {
		cfg.Grace = defaultGrace
	}
	if cfg.Accel == "" {
		cfg.Accel = AccelAuto
	}
	for _, w := range []*io.Writer{&cfg.Stdout, &cfg.Stderr, &cfg.Notes} {
		if *w == nil {
			*w = io.Discard
		}
	}
	switch {
	case cfg.Accel != AccelAuto && cfg.Accel != AccelKVM && cfg.Accel != AccelTCG:
		return nil, configError("accelerator %q: must be auto, kvm or tcg", cfg.Accel)
	case cfg.CPUs < 1 || cfg.CPUs > maxCPUs:
		return nil, configError("%d CPUs: must be from 1 to %d", cfg.CPUs, maxCPUs)
	case cfg.MemoryMiB < minMemoryMiB || cfg.MemoryMiB > maxMemoryMiB:
		return nil, configError("%d MiB of memory: must be from %d to %d", cfg.MemoryMiB, minMemoryMiB, maxMemoryMiB)
	case cfg.Timeout < 0 || cfg.Timeout > maxTimeout:
		return nil, configError("timeout %v: must be above 0 and at most %v", cfg.Timeout, maxTimeout)
	case cfg.HelloTimeout < 0 || cfg.Grace < 0:
		return nil, configError("a negative time: HelloTimeout %v, Grace %v", cfg.HelloTimeout, cfg.Grace)
	case cfg.PollQueues < 0 || cfg.PollQueues > maxQueues:
		return nil, configError("%d poll queues: must be from 0 to %d", cfg.PollQueues, maxQueues)
	case !printable(cfg.Append, 1024):
		return nil, configError("kernel arguments %q: at most 1024 bytes of text without control characters", cfg.Append)
	}
	if err := validateActions(cfg.Actions); err != nil {
		return nil, err
	}
	p := &plan{cfg: cfg, files: newInitramfs()}
	var err error
	if p.drives, err = spreadDrives(cfg.Drives); err != nil {
		return nil, err
	}
	if p.kernel, err = pickKernel(cfg.Kernel); err != nil {
		return nil, err
	}
	p.cmdline = kernelArgs(cfg)
	if err := p.addProgram(); err != nil {
		return nil, err
	}
	if p.cfg.Timeout == 0 {
		p.cfg.Timeout = DefaultTimeout
	}
	for host, guest := range cfg.InFiles {
		if !path.IsAbs(guest) || !printable(guest, maxPath) || guestClean(guest) == selfPath || strings.HasPrefix(guestClean(guest)+"/", "/lab/") {
			return nil, configError("file %s for the guest's %q: name an absolute place other than /init and /lab", host, guest)
		}
		for _, mounted := range []string{"/proc", "/sys", "/dev", "/tmp", guestOut} {
			if strings.HasPrefix(guestClean(guest)+"/", mounted+"/") {
				return nil, configError("file %s for the guest's %s: %s is mounted over; take another place, such as %s", host, guest, mounted, guestWork)
			}
		}
		if err := p.files.addTree(guest, host); err != nil {
			return nil, configError("file for the guest's %s: %w", guest, err)
		}
	}
	if p.spec.Modules, err = kernelModules(p.kernel, p.cmdline, p.files); err != nil {
		return nil, err
	}
	slot := firstSlot
	for _, d := range p.drives {
		g := guestDrive{Serial: d.Serial}
		for range d.controllers() {
			g.Slots = append(g.Slots, slot)
			slot++
		}
		for n := range d.Namespaces {
			g.NSIDs = append(g.NSIDs, d.nsid(n))
		}
		p.spec.Drives = append(p.spec.Drives, g)
	}
	p.spec.Control = len(cfg.Actions) > 0
	p.spec.SendFiles = cfg.OutDir != "" || len(p.collect) > 0
	return p, p.files.addSpec(p.spec)
}

// spreadDrives validates the drives, fills in defaults and serial numbers, and turns counts into single drives.
func spreadDrives(drives []Drive) ([]Drive, error) {
	var all []Drive
	total := 0
	serials := map[string]bool{}
	files := map[string]bool{}
	for i, d := range drives {
		if err := d.Validate(); err != nil {
			return nil, fmt.Errorf("drive %d: %w", i, err)
		}
		d = d.withDefaults()
		for range d.Count {
			one := d
			one.Count = 1
			if one.Serial == "" {
				one.Serial = fmt.Sprintf("lab%d", len(all))
			}
			if serials[one.Serial] {
				return nil, fmt.Errorf("drive %d: %w", i, &DriveError{Option: "serial", Value: one.Serial, Problem: "another drive has it; the guest finds drives by their serial number"})
			}
			serials[one.Serial] = true
			if one.File != "" {
				abs, err := filepath.Abs(one.File)
				if err != nil {
					return nil, err
				}
				if files[abs] {
					return nil, fmt.Errorf("drive %d: %w", i, &DriveError{Option: "file", Value: one.File, Problem: "another drive keeps its data there"})
				}
				files[abs] = true
			}
			total += one.controllers()
			if total > maxControllers {
				return nil, configError("more than %d controllers; a multipath drive counts for two", maxControllers)
			}
			all = append(all, one)
		}
	}
	return all, nil
}

func pickKernel(path string) (Kernel, error) {
	if path != "" {
		return OpenKernel(path)
	}
	kernels, err := FindKernels()
	if err != nil {
		return Kernel{}, err
	}
	return kernels[0], nil
}

// hugePagesFrom is the memory in MiB from which the guest reserves huge pages.
const hugePagesFrom = 512

// kernelArgs builds the kernel's command line.
func kernelArgs(cfg Config) string {
	level := "quiet"
	if cfg.Console != nil {
		level = "loglevel=7"
	}
	args := []string{"console=ttyS0", level, "panic=-1", "oops=panic", "mitigations=off", "no_timer_check", insideArg}
	if cfg.PollQueues > 0 {
		args = append(args, fmt.Sprintf("nvme.poll_queues=%d", cfg.PollQueues))
	}
	if cfg.MemoryMiB >= hugePagesFrom {
		args = append(args, "hugepages=16") // 32 MiB for buffers in huge pages; a later one on the line counts
	}
	if cfg.Append != "" {
		args = append(args, cfg.Append)
	}
	return strings.Join(args, " ")
}

// addProgram puts the init binary and the program into the initramfs.
func (p *plan) addProgram() error {
	binary := p.cfg.Binary
	if binary == "" {
		var err error
		if binary, err = os.Executable(); err != nil {
			return fmt.Errorf("%w: path of the running executable: %w", ErrBinary, err)
		}
	}
	if err := checkExecutable(binary); err != nil {
		return err
	}
	p.files.addFile(selfPath, binary)
	dir := p.cfg.Dir
	dir, err := filepath.Abs(dir)
	if err != nil {
		return configError("working folder: %w", err)
	}
	var args []string
	name := ""
	if len(p.cfg.Program) > 0 {
		name, args = p.cfg.Program[0], p.cfg.Program[1:]
	}
	p.spec.Dir = guestWork
	p.files.addDir(guestWork)
	p.spec.Path = selfPath
	if name == "" || name == "nvmepass" {
		name = "nvmepass"
	} else {
		if !strings.Contains(name, "/") {
			return configError("program %q: name the path of an executable, such as ./%s, or nvmepass for this program itself", name, name)
		}
		if err := checkExecutable(name); err != nil {
			return err
		}
		p.spec.Path = path.Join(binDir, filepath.Base(name))
		p.files.addFile(p.spec.Path, name)
		name = p.spec.Path
		t := planTestFlags(args, dir)
		args = t.args
		p.collect = append(p.collect, t.collect...)
		p.spec.MakeDirs = append(p.spec.MakeDirs, t.makeDirs...)
		if t.timeout > 0 {
			// The test binary's own limit comes first, so that its stack dump is seen.
			limit := min(t.timeout+p.helloTimeout(accelTCG)+testGrace, maxTimeout)
			if p.cfg.Timeout == 0 || limit < p.cfg.Timeout {
				p.cfg.Timeout = limit
			}
		}
		data := filepath.Join(dir, "testdata")
		if st, err := os.Stat(data); err == nil && st.IsDir() {
			if err := p.files.addTree(path.Join(guestWork, "testdata"), data); err != nil {
				return configError("testdata for the guest: %w", err)
			}
		}
	}
	p.spec.Args = append([]string{name}, args...)
	for _, e := range p.cfg.Env {
		if v, ok := strings.CutPrefix(e, "GOCOVERDIR="); ok && v != "" {
			if !filepath.IsAbs(v) {
				v = filepath.Join(dir, v)
			}
			c := collected{guest: path.Join(testOut, "gocoverdir"), host: v, dir: true}
			p.collect = append(p.collect, c)
			p.spec.MakeDirs = append(p.spec.MakeDirs, c.guest)
			e = "GOCOVERDIR=" + c.guest
		}
		if strings.Index(e, "=") < 1 {
			return configError("environment %q: must be NAME=VALUE", e)
		}
		p.spec.Env = append(p.spec.Env, e)
	}
	return nil
}

func (p *plan) helloTimeout(a accelerator) time.Duration {
	switch {
	case p.cfg.HelloTimeout > 0:
		return p.cfg.HelloTimeout
	case a == accelKVM:
		return defaultHelloKVM
	default:
		return defaultHelloTCG
	}
}

// findQEMU returns the path of the emulator.
func findQEMU(name string) (string, error) {
	if name == "" {
		name = "qemu-system-x86_64"
	}
	p, err := exec.LookPath(name)
	if err != nil && !errors.Is(err, exec.ErrDot) {
		return "", fmt.Errorf("%w: %w; install the package qemu-system-x86 (Debian, Ubuntu) or qemu-system-x86-core (Fedora)", ErrNoQEMU, err)
	}
	return p, nil
}
