package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/nvmepass/nvmepass/internal/compare"
	"github.com/nvmepass/nvmepass/internal/hostenv"
	"github.com/nvmepass/nvmepass/internal/lab"
	"github.com/nvmepass/nvmepass/passthru"
)

// guestNode is the drive of the guest.
const guestNode = "/dev/ng0n1"

// hidden are the commands by which the benchmark calls itself: in the guest, and
// there for a single run. Each takes its configuration as JSON in one argument
// and prints its result as JSON.
func hidden(ctx context.Context, args []string, stdout, stderr io.Writer) (handled bool, err error) {
	if len(args) != 2 {
		return false, nil
	}
	var out any
	switch args[0] {
	case "guest-device":
		out, err = decoded(args[1], func(cfg deviceConfig) (*Part, error) { return guestDevice(ctx, cfg, stderr) })
	case "device-run":
		out, err = decoded(args[1], runDevice)
	case "guest-drive":
		out, err = decoded(args[1], func(cfg driveConfig) (*Part, error) { return guestDrive(ctx, cfg, stderr) })
	default:
		return false, nil
	}
	if err != nil {
		return true, fmt.Errorf("%s: %w", args[0], err)
	}
	return true, json.NewEncoder(stdout).Encode(out)
}

func decoded[C, R any](text string, f func(C) (R, error)) (R, error) {
	var cfg C
	if err := json.Unmarshal([]byte(text), &cfg); err != nil {
		var none R
		return none, err
	}
	return f(cfg)
}

// inChild runs a hidden command in a process of its own.
func inChild(ctx context.Context, command string, cfg, result any) error {
	text, err := json.Marshal(cfg)
	if err != nil {
		return err
	}
	out, err := output(ctx, "/proc/self/exe", command, string(text))
	if err != nil {
		return err
	}
	return json.Unmarshal(out, result)
}

// output is a program's standard output, also beside an error, which carries
// what the program said on standard error.
func output(ctx context.Context, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	// The default would kill it with its messages unsaid.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.Output()
	if err == nil {
		return out, nil
	}
	err = fmt.Errorf("%s: %w", strings.Join(cmd.Args, " "), err)
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && len(exit.Stderr) > 0 {
		err = fmt.Errorf("%w: %s", err, bytes.TrimSpace(exit.Stderr))
	}
	return out, err
}

// tail is the end of an output that a message can carry.
func tail(b []byte) string {
	const most = 1000
	return string(b[max(0, len(b)-most):])
}

// guest describes the lab's machine for a part.
type guest struct {
	kernel, accel string
	files         map[string]string // of the host, for the guest
	timeout       time.Duration
}

// inGuest runs a hidden command in the lab, on one null drive.
func (g *guest) inGuest(ctx context.Context, command string, cfg any, stderr io.Writer) (*Part, error) {
	text, err := json.Marshal(cfg)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	res, err := lab.Run(ctx, lab.Config{
		Kernel: g.kernel, Accel: g.accel, Timeout: g.timeout, Drives: []lab.Drive{{}}, PollQueues: lab.DefaultPollQueues,
		InFiles: g.files, Program: []string{"nvmepass", command, string(text)}, // the word stands for this program itself
		Stdout: &out, Stderr: stderr, Notes: stderr,
	})
	if err != nil {
		return nil, err
	}
	if res.ExitCode != 0 {
		return nil, fmt.Errorf("the guest's program ended with exit code %d; what it said stands above", res.ExitCode)
	}
	p := &Part{}
	if err := json.Unmarshal(out.Bytes(), p); err != nil {
		return nil, fmt.Errorf("result from the guest: %w: %s", err, tail(out.Bytes()))
	}
	return p, nil
}

// environment describes this machine, and dev if there is one.
func environment(dev *passthru.Device, cpu *int) compare.Environment {
	if dev == nil {
		return hostenv.Collect(nil, nil, cpu)
	}
	return hostenv.Collect([]string{dev.Path()}, func(string) *passthru.Device { return dev }, cpu)
}
