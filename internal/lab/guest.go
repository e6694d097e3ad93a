package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/nvmepass/nvmepass/internal/sys"
)

// linkDevice is the second serial port, which carries frames.
const linkDevice = "/dev/ttyS1"

// IsInit reports whether this process is the init of a guest that Run started: main hands over to Init then, before it
// does anything else.
func IsInit() bool {
	if os.Getpid() != 1 {
		return false
	}
	_, err := os.Stat(specPath)
	return err == nil
}

// Init is the guest's side of Run. It never returns: it switches the machine off when the program has ended. Call it only
// when IsInit says so.
func Init() {
	g := &initProcess{acks: make(chan struct{})}
	if err := g.run(); err != nil {
		if g.link != nil {
			g.link.send(frameFail, []byte(err.Error()))
			g.link.drain()
		} else {
			fmt.Fprintln(os.Stderr, "lab: guest init:", err)
		}
	}
	// The host answers when it has stored everything; without an answer it is gone or ends QEMU itself.
	if g.link != nil {
		select {
		case <-g.acks:
		case <-time.After(10 * time.Second):
		}
	}
	err := sys.PowerOff()
	// Ending here makes the kernel panic, which ends QEMU as well.
	fmt.Fprintln(os.Stderr, "lab: guest init: power off:", err)
	os.Exit(1)
}

// initProcess is the state of the guest's init.
type initProcess struct {
	link    *guestLink
	control guestControl
	acks    chan struct{} // closed by the host's bye

	mu      sync.Mutex
	pid     int              // of the program, 0 before it starts
	pending []syscall.Signal // that came before
}

func (g *initProcess) run() error {
	// The kernel shields init from signals without a handler, but the Go runtime installs handlers that end it. Ignoring
	// the signals instead would pass on to the program.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	signal.Ignore(syscall.SIGUSR1) // inherited, so that a program that is about to start does not die of a request for its status
	mountErr := mountAll()
	tty, err := os.OpenFile(linkDevice, os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return errors.Join(fmt.Errorf("second serial port: %w", err), mountErr)
	}
	if err := sys.RawTTY(int(tty.Fd())); err != nil {
		return fmt.Errorf("%s: raw mode: %w", linkDevice, err)
	}
	g.link = newGuestLink(tty)
	g.control.link = g.link
	g.link.send(frameHello, uint32s(protocolVersion))
	go g.receive(tty)
	if mountErr != nil {
		return mountErr
	}
	b, err := os.ReadFile(specPath)
	if err != nil {
		return err
	}
	var spec guestSpec
	if err := json.Unmarshal(b, &spec); err != nil {
		return fmt.Errorf("%s: %w", specPath, err)
	}
	if err := g.link.mapShared(); err != nil {
		g.note("bulk data goes over the serial port, which is slow: %v", err)
	}
	if err := sys.UnlimitMemlock(); err != nil {
		return fmt.Errorf("lift the limit of locked memory: %w", err)
	}
	if err := g.loadModules(spec.Modules); err != nil {
		return err
	}
	if err := g.awaitDrives(spec.Drives); err != nil {
		return err
	}
	if err := os.MkdirAll(binDir, 0o755); err != nil {
		return err
	}
	if err := os.Symlink(selfPath, binDir+"/nvmepass"); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	for _, d := range spec.MakeDirs {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return err
		}
	}
	if spec.Control {
		l, err := net.Listen("unix", controlPath)
		if err != nil {
			return fmt.Errorf("socket for the program's actions: %w", err)
		}
		go g.control.serve(l)
	}
	code, sig, err := g.runProgram(spec)
	if err != nil {
		return err
	}
	if spec.SendFiles {
		if err := packOut(g.link.stream(frameFiles), guestOut); err != nil {
			return fmt.Errorf("send %s: %w", guestOut, err)
		}
	}
	sys.Sync()
	g.link.send(frameExit, uint32s(uint32(code), uint32(sig)))
	return nil
}

func (g *initProcess) note(format string, args ...any) {
	g.link.send(frameNote, fmt.Appendf(nil, format, args...))
}

// mountAll mounts what Linux programs expect. The folders of the archive are writable memory.
func mountAll() error {
	var errs []error
	for _, m := range []struct {
		target, fstype string
		optional       bool
	}{
		{"/proc", "proc", false},
		{"/sys", "sysfs", false},
		{"/dev", "devtmpfs", false},
		{"/tmp", "tmpfs", false},
		{guestOut, "tmpfs", false},
		{"/sys/kernel/debug", "debugfs", true},
		{"/sys/kernel/tracing", "tracefs", true},
		{"/dev/shm", "tmpfs", true},
	} {
		err := os.MkdirAll(m.target, 0o755)
		if err == nil {
			err = sys.Mount(m.fstype, m.target, m.fstype, 0, "")
		}
		if err != nil && !m.optional {
			errs = append(errs, fmt.Errorf("mount %s on %s: %w", m.fstype, m.target, err))
		}
	}
	return errors.Join(errs...)
}

// loadModules loads the NVMe driver where the kernel has it as modules.
func (g *initProcess) loadModules(modules []guestModule) error {
	for _, m := range modules {
		err := loadModule(m)
		switch {
		case err == nil || errors.Is(err, os.ErrExist):
		case m.Optional:
			g.note("module %s not loaded: %v", m.Name, err)
		case m.Compressed && (errors.Is(err, syscall.EOPNOTSUPP) || errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOEXEC)):
			return fmt.Errorf("load module %s: %w: this kernel does not unpack compressed modules itself (CONFIG_MODULE_DECOMPRESS); "+
				"unpack the .ko files beside the kernel and run depmod, or use a kernel with the driver built in, see scripts/lab-kernels.sh", m.Name, err)
		default:
			return fmt.Errorf("load module %s: %w", m.Name, err)
		}
	}
	return nil
}

func loadModule(m guestModule) error {
	f, err := os.Open(m.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	return sys.LoadModule(int(f.Fd()), m.Params, m.Compressed)
}

// receive acts on the host's frames.
func (g *initProcess) receive(r io.Reader) {
	var buf []byte
	for {
		t, p, _, err := readFrame(r, &buf)
		if err != nil {
			return
		}
		n, _ := uint32At(p, 0)
		switch t {
		case frameFree:
			g.link.release(int(n))
		case frameSignal:
			g.deliver(syscall.Signal(n))
		case frameAnswer:
			g.control.answered(p)
		case frameBye:
			close(g.acks)
			return
		}
	}
}

// deliver sends a signal to the program, at once or when it starts.
func (g *initProcess) deliver(s syscall.Signal) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.pid == 0 {
		g.pending = append(g.pending, s)
		return
	}
	// It may be gone already; then its exit code is on its way.
	_ = syscall.Kill(g.pid, s)
}

// runProgram starts the program and waits for it, reaping whatever else ends. Processes that it left behind are killed.
func (g *initProcess) runProgram(spec guestSpec) (code, sig int, err error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return 0, 0, err
	}
	defer null.Close()
	var pumps sync.WaitGroup
	ends := []uintptr{null.Fd()}
	var writers []*os.File
	for _, t := range []frameType{frameStdout, frameStderr} {
		r, w, err := os.Pipe()
		if err != nil {
			return 0, 0, err
		}
		defer r.Close()
		ends = append(ends, w.Fd())
		writers = append(writers, w)
		pumps.Go(func() {
			// A program that closes its stream ends the copy; nothing else can fail but the link.
			_, _ = io.CopyBuffer(onlyWriter{g.link.stream(t)}, onlyReader{r}, make([]byte, slotSize))
		})
	}
	env := slices.Concat([]string{"PATH=" + binDir, "HOME=/tmp", "TMPDIR=/tmp"}, spec.Env)
	g.link.send(frameReady, uint32s(uint32(sys.Uptime().Milliseconds())))
	g.mu.Lock()
	pid, err := syscall.ForkExec(spec.Path, spec.Args, &syscall.ProcAttr{Dir: spec.Dir, Env: env, Files: ends, Sys: &syscall.SysProcAttr{Setsid: true}})
	g.pid = pid
	pending := g.pending
	g.mu.Unlock()
	for _, w := range writers {
		if err := w.Close(); err != nil {
			return 0, 0, err
		}
	}
	if err != nil {
		return 0, 0, fmt.Errorf("start %s: %w", spec.Args[0], err)
	}
	for _, s := range pending {
		g.deliver(s)
	}
	for {
		var status syscall.WaitStatus
		got, err := syscall.Wait4(-1, &status, 0, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil {
			return 0, 0, fmt.Errorf("wait for %s: %w", spec.Args[0], err)
		}
		if got != pid {
			continue
		}
		if status.Signaled() {
			code, sig = 128+int(status.Signal()), int(status.Signal())
		} else {
			code = status.ExitStatus()
		}
		break
	}
	// Its children hold the pipes open; without them, both streams end.
	if err := sys.KillAll(syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return 0, 0, fmt.Errorf("end the processes that %s left: %w", spec.Args[0], err)
	}
	pumps.Wait()
	return code, sig, nil
}

// onlyWriter and onlyReader hide the other methods, so that io.CopyBuffer uses its buffer.
type (
	onlyWriter struct{ io.Writer }
	onlyReader struct{ io.Reader }
)
