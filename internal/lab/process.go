package lab

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// process is a running QEMU. The kernel kills it when this process dies.
type process struct {
	cmd    *exec.Cmd
	stderr tailBuffer
	done   chan struct{}
	err    error // of Wait; read after done is closed
}

// startProcess starts path with args; files become descriptors 3, 4, ... and all stay open here.
func startProcess(path string, args []string, stdin, stdout *os.File, files []*os.File) (*process, error) {
	p := &process{cmd: exec.Command(path, args...), done: make(chan struct{})}
	p.cmd.ExtraFiles = files
	p.cmd.Stdin, p.cmd.Stdout = stdin, stdout
	p.cmd.Stderr = &p.stderr
	// A process group of its own keeps the terminal's ^C away from QEMU: it is the guest's program that gets it.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	p.cmd.WaitDelay = 2 * time.Second
	started := make(chan error, 1)
	go func() {
		// The death signal is tied to the thread that forked, so that the thread has to live as long as QEMU.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err != nil {
			return
		}
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// signal sends sig to QEMU's process group, if it still runs.
func (p *process) signal(sig syscall.Signal) {
	select {
	case <-p.done:
	default:
		// Errors mean that it is gone, which is what done tells.
		_ = syscall.Kill(-p.cmd.Process.Pid, sig)
	}
}

// waitFor waits until QEMU ended or d is over, and reports whether it ended.
func (p *process) waitFor(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-p.done:
		return true
	case <-t.C:
		return false
	}
}

// stop ends QEMU: with SIGTERM, which lets it write back images, then with SIGKILL.
func (p *process) stop() error {
	p.signal(syscall.SIGTERM)
	if p.waitFor(3 * time.Second) {
		return nil
	}
	p.signal(syscall.SIGKILL)
	if p.waitFor(10 * time.Second) {
		return nil
	}
	return errors.New("lab: QEMU does not end after SIGKILL; it may be stuck in the host's kernel")
}

// tailBuffer is an io.Writer that keeps the last bytes. It is safe for concurrent use.
type tailBuffer struct {
	mu   sync.Mutex
	data []byte
}

const tailSize = 64 << 10

// Write implements io.Writer; it never fails.
func (b *tailBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.data = append(b.data, p...)
	if len(b.data) > 2*tailSize {
		b.data = bytes.Clone(b.data[len(b.data)-tailSize:])
	}
	return len(p), nil
}

// String returns what is kept.
func (b *tailBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return string(b.data)
}
