package doctor

import (
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/nvmepass/nvmepass/internal/sysfs"
	"github.com/nvmepass/nvmepass/passthru"
	"github.com/nvmepass/nvmepass/uringcmd"
)

// Trial is how a command through a ring went.
type Trial struct {
	Settings passthru.Settings
}

// trialStall bounds the trial.
const trialStall = 20 * time.Second

// try reads the first block once.
func try(generic string, poll bool) (t Trial, err error) {
	d, err := passthru.Open(generic, nil)
	if err != nil {
		return t, err
	}
	done := make(chan error)
	go func() { // a queue belongs to a thread of its own
		runtime.LockOSThread()
		done <- t.read(d, poll)
	}()
	err = <-done
	return t, errors.Join(err, d.Close())
}

func (t *Trial) read(d *passthru.Device, poll bool) error {
	q, err := d.NewQueue(passthru.QueueConfig{Depth: 4, Poll: poll, StallLimit: trialStall})
	if err != nil {
		return err
	}
	t.Settings = q.Settings()
	err = q.Read(0, 0, 1)
	if err == nil {
		var completions [1]uringcmd.Completion
		var n int
		if n, err = q.Reap(1, completions[:]); err == nil && n == 1 {
			err = q.Err(completions[0])
		}
	}
	return errors.Join(err, q.Close())
}

// trial sends one read as a run would.
func (m *Machine) trial(s *subject) []Finding {
	const id, source = "trial", "a read of block 0"
	if s.CommandSet != "" && s.CommandSet != "NVM" && s.CommandSet != "ZNS" {
		return nil
	}
	poll := s.BlockDir == "" || m.Source.FS.PollQueues(sysfs.Pair{GenericDir: s.GenericDir, BlockDir: s.BlockDir}).Enabled
	how := "by interrupt"
	if poll {
		how = "polled"
	}
	t, err := m.Try(s.Generic, poll)
	if err != nil {
		return []Finding{{
			ID: id, Severity: Problem, Found: "passthrough " + how + " failed: " + err.Error(), Source: source,
			Why: "a run would fail in the same way", Fix: []string{"sudo dmesg | tail"},
		}}
	}
	found := fmt.Sprintf("passthrough %s works: fixed buffers %s, ring flags %s", how, t.Settings.FixedBuffers, t.Settings.Flags)
	if t.Settings.FixedReason == "" {
		return []Finding{fine(id, found, source)}
	}
	return []Finding{{
		ID: id, Severity: Note, Found: found + "; " + t.Settings.FixedReason, Source: source,
		Why: "fixed buffers are worth some percent; runs say which kind they had",
	}}
}
