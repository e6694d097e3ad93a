package lab

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// Run boots a guest, runs the program in it and returns when QEMU has ended. The error is nil when the program ran to its
// end, whatever its exit code.
//
// Cancelling ctx interrupts the program (SIGINT). Its exit code is returned as usual when it ends within Config.Grace;
// otherwise the guest is killed, and the error wraps the context's.
func Run(ctx context.Context, cfg Config) (Result, error) {
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	p, err := newPlan(cfg)
	if err != nil {
		return Result{}, err
	}
	qemu, err := findQEMU(p.cfg.QEMU)
	if err != nil {
		return Result{}, err
	}
	version, err := qemuVersion(ctx, qemu)
	if err != nil {
		return Result{}, err
	}
	accels, note, err := accelerators(p.cfg.Accel)
	if err != nil {
		return Result{}, err
	}
	p.note(note)
	res, err := p.runOn(ctx, qemu, accels)
	res.QEMU = version
	return res, err
}

// maxBootCrashes bounds how often a guest is started again that fell to the emulator's own fault.
const maxBootCrashes = 3

// errNoHello is the ErrNoAnswer of a guest that runs and says nothing, errClock that of one whose clock runs too fast.
var (
	errNoHello = fmt.Errorf("%w", ErrNoAnswer)
	errClock   = fmt.Errorf("%w that makes sense: its clock runs too fast", ErrNoAnswer)
)

// runOn tries the accelerators in turn, until one starts the guest.
func (p *plan) runOn(ctx context.Context, qemu string, accels []accelerator) (Result, error) {
	deadline := time.Now().Add(p.cfg.Timeout)
	crashes := 0
	for i := 0; i < len(accels); i++ {
		a := accels[i]
		g := &guest{plan: p, qemu: qemu, accel: a, deadline: deadline}
		res, err := g.run(ctx)
		res.Kernel, res.Accel = p.kernel, string(a)
		if fault := g.bootFault(err); fault != "" && crashes < maxBootCrashes && ctx.Err() == nil && time.Now().Before(deadline) {
			crashes++
			i--
			p.note(fault + ": starting again")
			continue
		}
		if err != nil && !g.hello.Load() && a == accelKVM && i+1 < len(accels) && ctx.Err() == nil && !errors.Is(err, ErrTimeout) {
			reason, _, _ := strings.Cut(err.Error(), "\n")
			p.note(fmt.Sprintf("KVM did not work (%s): starting again with TCG", reason))
			continue
		}
		return res, err
	}
	return Result{}, configError("no accelerator to try")
}

// bootFault names the fault of the emulator that kept a guest from starting, "" if it was none.
func (g *guest) bootFault(err error) string {
	switch {
	case g.accel != accelTCG:
	case g.crashedAtBoot(err):
		return "the guest's kernel met a stale breakpoint while it started, a fault of the TCG emulator"
	case errors.Is(err, errNoHello):
		return "the guest's kernel hung while it started, as it sometimes does under TCG on a busy machine"
	case errors.Is(err, errClock):
		return "the guest measured its clock wrongly while it started, as it sometimes does under TCG on a busy machine"
	}
	return ""
}

// fastClock tells whether more time has passed in a guest since it booted than here since QEMU was started. All its time-outs would be too
// short then. The emulator's processor and its timers follow different clocks of the host, so that a measurement that the host interrupts
// is wrong.
func fastClock(guest, host time.Duration) bool { return guest > host*5/4+time.Second }

func (p *plan) note(s string) {
	if s != "" {
		// Notes are for people; a writer that fails does not stop the run.
		_, _ = fmt.Fprintf(p.cfg.Notes, "lab: %s\n", s)
	}
}

// guest is one start of QEMU.
type guest struct {
	*plan
	qemu     string
	accel    accelerator
	deadline time.Time
	start    time.Time

	proc    *process
	linkOut *os.File // frames from the guest
	linkIn  *os.File // frames to the guest
	shared  *os.File
	console tailBuffer

	hello  atomic.Bool
	ready  chan struct{}
	exited chan exitStatus
	failed chan error

	filesPipe *io.PipeWriter
	filesDone chan error

	control *control      // nil where the guest may ask for nothing
	asks    chan struct{} // a place for each action under way
}

// exitStatus is how the program ended.
type exitStatus struct{ code, signal int }

// run starts QEMU and sees it through to its end.
func (g *guest) run(ctx context.Context) (res Result, err error) {
	var files openFiles
	defer files.close()
	m, err := g.prepare(ctx, &files)
	if err != nil {
		return Result{}, err
	}
	var pipes pipeEnds
	defer pipes.closeOurs()
	console, consoleEnd, err := pipes.fromQEMU()
	if err != nil {
		return Result{}, err
	}
	m.console = files.add(consoleEnd)
	linkOut, linkOutEnd, err := pipes.fromQEMU()
	if err != nil {
		return Result{}, err
	}
	defer linkOutEnd.Close()
	linkIn, linkInEnd, err := pipes.toQEMU()
	if err != nil {
		return Result{}, err
	}
	defer linkInEnd.Close()
	g.linkIn, g.linkOut = linkIn, linkOut
	if g.shared, err = unnamedFile(sharedSize); err != nil {
		return Result{}, err
	}
	m.shared = files.add(g.shared)
	if err := g.shared.Truncate(sharedSize); err != nil {
		return Result{}, fmt.Errorf("lab: shared memory of %d bytes: %w", sharedSize, err)
	}

	var monitorEnd *os.File
	if len(g.cfg.Actions) > 0 {
		ours, theirs, err := monitorPair()
		if err != nil {
			return Result{}, err
		}
		defer ours.Close()
		files.add(theirs)
		m.monitor = files.lastFD()
		monitorEnd = ours
	}

	g.ready, g.exited, g.failed = make(chan struct{}), make(chan exitStatus, 1), make(chan error, 4)
	g.start = time.Now()
	if g.proc, err = startProcess(g.qemu, m.args(), linkInEnd, linkOutEnd, files.files); err != nil {
		return Result{}, fmt.Errorf("%w: start %s: %w", ErrNoQEMU, g.qemu, err)
	}
	// QEMU has its own copies of the far ends; ours would hide that it is gone.
	for _, f := range []*os.File{consoleEnd, linkOutEnd, linkInEnd} {
		if err := f.Close(); err != nil {
			return Result{}, errors.Join(fmt.Errorf("lab: pipe to QEMU: %w", err), g.proc.stop())
		}
	}

	if monitorEnd != nil {
		qmp, err := newMonitor(monitorEnd)
		if err != nil {
			return Result{}, errors.Join(fmt.Errorf("lab: %w", err), g.proc.stop())
		}
		g.control = &control{allowed: g.cfg.Actions, drives: m.drives, qmp: qmp, pulled: map[int]bool{}}
		g.asks = make(chan struct{}, maxAsks)
	}

	consoleDone := make(chan struct{})
	go func() {
		defer close(consoleDone)
		var w io.Writer = &g.console
		if g.cfg.Console != nil {
			w = io.MultiWriter(&g.console, g.cfg.Console)
		}
		// A console writer that fails must not block the guest, which would wait for its log to drain.
		if _, err := io.Copy(w, console); err != nil {
			_, _ = io.Copy(&g.console, console)
		}
	}()
	linkDone := make(chan struct{})
	go func() {
		defer close(linkDone)
		g.serve()
	}()

	res, err = g.watch(ctx, linkDone, consoleDone)
	stopErr := g.proc.stop()
	// The readers end with QEMU, unless a writer of the caller blocks; then they are left behind.
	waitBriefly(linkDone)
	waitBriefly(consoleDone)
	if err == nil {
		err = stopErr
	}
	return res, g.explain(err)
}

// pipeEnds are this process's ends of the pipes to QEMU.
type pipeEnds []*os.File

// fromQEMU makes a pipe that QEMU writes to.
func (p *pipeEnds) fromQEMU() (ours, theirs *os.File, err error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, fmt.Errorf("lab: pipe: %w", err)
	}
	*p = append(*p, r)
	return r, w, nil
}

// toQEMU makes a pipe that QEMU reads from.
func (p *pipeEnds) toQEMU() (ours, theirs *os.File, err error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, fmt.Errorf("lab: pipe: %w", err)
	}
	*p = append(*p, w)
	return w, r, nil
}

func (p *pipeEnds) closeOurs() {
	for _, f := range *p {
		// QEMU is gone; nothing can be lost any more.
		_ = f.Close()
	}
}

// prepare writes the initramfs and opens the drives' images.
func (g *guest) prepare(ctx context.Context, files *openFiles) (machine, error) {
	m := machine{accel: g.accel, cpus: g.cfg.CPUs, memoryMiB: g.cfg.MemoryMiB, kernel: g.kernel.Path, cmdline: g.cmdline + g.accel.kernelArgs()}
	size, err := g.files.size()
	if err != nil {
		return m, err
	}
	// The kernel holds the archive and its contents at the same time while it unpacks.
	if need := int(2*size>>20) + 96; need > g.cfg.MemoryMiB {
		return m, configError("%d MiB of memory: binaries and files of %d MiB need %d", g.cfg.MemoryMiB, size>>20, need)
	}
	initrd, err := unnamedFile(size)
	if err != nil {
		return m, err
	}
	m.initrd = files.add(initrd)
	if err := g.files.writeTo(initrd); err != nil {
		return m, fmt.Errorf("lab: write the initramfs: %w", err)
	}
	for _, d := range g.drives {
		images, err := openImages(ctx, d, files)
		if err != nil {
			return m, err
		}
		m.drives = append(m.drives, attachedDrive{Drive: d, images: images})
	}
	return m, nil
}

// watch waits for the run to end, one way or the other, and enforces every bound.
func (g *guest) watch(ctx context.Context, linkDone, consoleDone <-chan struct{}) (Result, error) {
	var res Result
	hello := time.NewTimer(min(g.helloTimeout(g.accel), time.Until(g.deadline)))
	defer hello.Stop()
	deadline := time.NewTimer(time.Until(g.deadline))
	defer deadline.Stop()
	var kill <-chan time.Time
	var killErr error
	ready, done := g.ready, ctx.Done()
	started := g.start
	for {
		select {
		case <-ready:
			ready = nil
			started = time.Now()
			res.BootTime = started.Sub(g.start)
		case st := <-g.exited:
			res.ExitCode, res.Signal = st.code, st.signal
			res.RunTime = time.Since(started)
			if killErr != nil && errors.Is(killErr, ErrTimeout) {
				return res, killErr
			}
			// The guest powers off by itself once it knows that everything arrived.
			g.proc.waitFor(10 * time.Second)
			return res, nil
		case err := <-g.failed:
			return res, err
		case <-linkDone:
			// Whatever came last may still wait in the channels.
			select {
			case st := <-g.exited:
				res.ExitCode, res.Signal = st.code, st.signal
				res.RunTime = time.Since(started)
				return res, killErr
			case err := <-g.failed:
				return res, err
			default:
			}
			g.proc.waitFor(5 * time.Second)
			waitBriefly(consoleDone)
			return res, g.gone()
		case <-hello.C:
			if !g.hello.Load() {
				return res, fmt.Errorf("%w: its init said nothing for %v under %s; try another kernel, accelerator tcg, or a longer HelloTimeout",
					errNoHello, time.Since(g.start).Round(time.Second), g.accel)
			}
		case <-done:
			done = nil
			res.Interrupted = true
			if !g.hello.Load() || ready != nil {
				return res, fmt.Errorf("lab: interrupted while the guest was starting: %w", context.Cause(ctx))
			}
			g.send(frameSignal, uint32s(uint32(syscall.SIGINT)))
			kill = time.After(g.cfg.Grace)
			killErr = fmt.Errorf("lab: the program did not end within %v of SIGINT and was killed: %w", g.cfg.Grace, context.Cause(ctx))
		case s := <-g.cfg.Signals:
			if n, ok := s.(syscall.Signal); ok && ready == nil {
				g.send(frameSignal, uint32s(uint32(n)))
			}
		case <-deadline.C:
			if ready != nil {
				return res, fmt.Errorf("%w after %v, before the program started; raise the timeout", ErrTimeout, g.cfg.Timeout)
			}
			killErr = fmt.Errorf("%w after %v; raise the timeout, or find out what the program waits for: it got SIGQUIT, which makes a Go program print its goroutines",
				ErrTimeout, g.cfg.Timeout)
			g.send(frameSignal, uint32s(uint32(syscall.SIGQUIT)))
			kill = time.After(3 * time.Second)
		case <-kill:
			return res, killErr
		}
	}
}

// waitBriefly waits for c to be closed, within a bound.
func waitBriefly(c <-chan struct{}) {
	t := time.NewTimer(2 * time.Second)
	defer t.Stop()
	select {
	case <-c:
	case <-t.C:
	}
}

// gone explains why QEMU ended without an exit code of the program.
func (g *guest) gone() error {
	if line := panicLine(g.console.String()); line != "" {
		if g.accel == accelTCG && staleBreakpoint(g.console.String()) {
			line += "; a stale breakpoint (int3) is a fault of the TCG emulator: run it again, or take a newer QEMU"
		}
		return fmt.Errorf("%w before the program's exit code was known: %s", ErrPanic, line)
	}
	select {
	case <-g.proc.done:
	default:
		return fmt.Errorf("%w: QEMU closed the link", ErrNoAnswer)
	}
	if !g.hello.Load() {
		said := strings.TrimSpace(g.proc.stderr.String())
		if said == "" {
			said = "no message"
		}
		if g.proc.err != nil {
			return fmt.Errorf("%w: QEMU ended at once (%w): %s", ErrNoAnswer, g.proc.err, said)
		}
		return fmt.Errorf("%w: the guest switched itself off before its init ran (QEMU: %s)", ErrNoAnswer, said)
	}
	if g.proc.err != nil {
		return fmt.Errorf("%w: QEMU ended: %w", ErrNoAnswer, g.proc.err)
	}
	return fmt.Errorf("%w: the guest switched itself off", ErrNoAnswer)
}

// crashedAtBoot reports whether the guest fell to the emulator's own fault before the program started. The kernel patches its code
// through a breakpoint (int3); TCG with several threads, seen with QEMU 7.2 on a busy host, may run the breakpoint after it was
// taken back, and the kernel panics over it.
func (g *guest) crashedAtBoot(err error) bool {
	select {
	case <-g.ready:
		return false
	default:
		return errors.Is(err, ErrPanic) && staleBreakpoint(g.console.String())
	}
}

// staleBreakpoint reports whether a kernel log tells of a breakpoint that nobody had set.
func staleBreakpoint(console string) bool {
	return strings.Contains(console, " int3: 0000 ")
}

// panicLine returns the line of a kernel log that tells why it panicked, or "" when it did not.
func panicLine(console string) string {
	i := strings.Index(console, "Kernel panic")
	if i < 0 {
		return ""
	}
	line, _, _ := strings.Cut(console[i:], "\n")
	return strings.TrimSpace(line)
}

// explain adds the console and QEMU's own words to an error that is about the guest.
func (g *guest) explain(err error) error {
	var guestErr *GuestError
	switch {
	case errors.As(err, &guestErr):
		guestErr.Console = g.console.String()
		return err
	case errors.Is(err, ErrPanic), errors.Is(err, ErrNoAnswer), errors.Is(err, ErrTimeout):
		said := strings.TrimSpace(g.proc.stderr.String())
		if said != "" && !strings.Contains(err.Error(), said) {
			said = "\nQEMU: " + said
		} else {
			said = ""
		}
		return &consoleError{err: err, text: said + consoleTail(g.console.String())}
	default:
		return err
	}
}

// consoleError adds text to an error without changing its identity.
type consoleError struct {
	err  error
	text string
}

// Error implements error.
func (e *consoleError) Error() string { return e.err.Error() + e.text }

// Unwrap returns the error proper.
func (e *consoleError) Unwrap() error { return e.err }

// fail reports the first of several failures.
func (g *guest) fail(err error) {
	select {
	case g.failed <- err:
	default:
	}
}

// send writes a frame to the guest. A link that is gone shows as its reader's end.
func (g *guest) send(t frameType, payload []byte) {
	_, _ = g.linkIn.Write(appendFrame(nil, t, payload))
}

// serve reads the guest's frames until the link ends.
func (g *guest) serve() {
	r := bufio.NewReaderSize(g.linkOut, 64<<10)
	var buf []byte
	defer func() {
		if g.filesPipe != nil {
			_ = g.filesPipe.CloseWithError(io.ErrUnexpectedEOF)
		}
	}()
	for {
		t, payload, slot, err := readFrame(r, &buf)
		if err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, os.ErrClosed) {
				g.fail(err)
			}
			return
		}
		if slot >= 0 {
			if _, err := g.shared.ReadAt(payload, int64(slot)*slotSize); err != nil {
				g.fail(fmt.Errorf("lab: shared memory slot %d: %w", slot, err))
				return
			}
			g.send(frameFree, uint32s(uint32(slot)))
		}
		if !g.handle(t, payload) {
			return
		}
	}
}

// handle acts on one frame and reports whether to go on.
func (g *guest) handle(t frameType, payload []byte) bool {
	switch t {
	case frameHello:
		if v, ok := uint32At(payload, 0); !ok || v != protocolVersion {
			g.fail(&GuestError{Message: fmt.Sprintf("speaks version %d of the link, this program %d; use the same build on both sides", v, protocolVersion)})
			return false
		}
		g.hello.Store(true)
	case frameReady:
		if ms, ok := uint32At(payload, 0); ok && fastClock(time.Duration(ms)*time.Millisecond, time.Since(g.start)) {
			g.fail(fmt.Errorf("%w: %v passed in the guest and %v here", errClock, time.Duration(ms)*time.Millisecond, time.Since(g.start).Round(time.Millisecond)))
			return false
		}
		select {
		case <-g.ready:
		default:
			close(g.ready)
		}
	case frameNote:
		g.note(string(payload))
	case frameStdout:
		return g.write("stdout", g.cfg.Stdout, payload)
	case frameStderr:
		return g.write("stderr", g.cfg.Stderr, payload)
	case frameFiles:
		return g.takeFiles(payload)
	case frameAsk:
		return g.ask(payload)
	case frameFail:
		g.fail(&GuestError{Message: string(payload)})
		return false
	case frameExit:
		code, ok := uint32At(payload, 0)
		signal, ok2 := uint32At(payload, 1)
		if !ok || !ok2 {
			g.fail(fmt.Errorf("lab: link out of step: exit frame of %d bytes", len(payload)))
			return false
		}
		if g.filesPipe != nil {
			// The reader ends at the stream's own end; an error has been reported already.
			_ = g.filesPipe.Close()
			if err := <-g.filesDone; err != nil {
				g.fail(err)
				return false
			}
			g.filesPipe = nil
		}
		g.exited <- exitStatus{code: int(int32(code)), signal: int(signal)}
		g.send(frameBye, nil)
	default:
		g.fail(fmt.Errorf("lab: link out of step: frame of unknown type %q", t))
		return false
	}
	return true
}

func (g *guest) write(name string, w io.Writer, p []byte) bool {
	if _, err := w.Write(p); err != nil {
		g.fail(fmt.Errorf("lab: write the program's %s: %w", name, err))
		return false
	}
	return true
}

// ask starts one of the guest's actions, whose answer goes back when it is done.
func (g *guest) ask(p []byte) bool {
	if g.control == nil || len(p) < 4 {
		g.fail(fmt.Errorf("lab: link out of step: request of %d bytes for an action, where none is allowed", len(p)))
		return false
	}
	number, request := slices.Clone(p[:4]), slices.Clone(p[4:])
	select {
	case g.asks <- struct{}{}:
	default:
		g.send(frameAnswer, append(number, refused(fmt.Errorf("%d are under way, which is as many as there may be", maxAsks))...))
		return true
	}
	go func() {
		g.send(frameAnswer, append(number, g.control.answer(request)...))
		<-g.asks
	}()
	return true
}

// takeFiles feeds a piece of the tar stream to its reader.
func (g *guest) takeFiles(p []byte) bool {
	if g.filesPipe == nil {
		r, w := io.Pipe()
		g.filesPipe, g.filesDone = w, make(chan error, 1)
		go func() {
			err := unpackOut(r, g.cfg.OutDir, g.collect)
			_ = r.CloseWithError(err)
			g.filesDone <- err
		}()
	}
	if _, err := g.filesPipe.Write(p); err != nil {
		g.fail(err)
		return false
	}
	return true
}
