package main

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/nvmepass/nvmepass/internal/jobs"
	"github.com/nvmepass/nvmepass/internal/report"
	"github.com/nvmepass/nvmepass/internal/sys"
)

// runLive shows a run while it goes on, each second and at SIGUSR1.
type runLive struct {
	shown  *report.RunLive // nil for no lines but those that are asked for
	asked  *report.RunLive // by SIGUSR1
	status chan struct{}
	usr1   chan os.Signal
}

// liveTo chooses how progress is shown on stderr.
func (f *runFlags) liveTo(stderr *os.File) *runLive {
	width, tty := sys.TerminalWidth(int(stderr.Fd()))
	l := &runLive{asked: report.NewRunLive(stderr, false, 0), status: make(chan struct{}), usr1: make(chan os.Signal, 1)}
	switch f.progress {
	case "line":
		l.shown = report.NewRunLive(stderr, true, width)
	case "plain":
		l.shown = report.NewRunLive(stderr, false, 0)
	case "auto":
		l.shown = report.NewRunLive(stderr, tty, width)
	}
	signal.Notify(l.usr1, syscall.SIGUSR1)
	return l
}

// options are those of a run that shows itself.
func (l *runLive) options() jobs.Options {
	go func() {
		for range l.usr1 {
			l.status <- struct{}{}
		}
	}()
	return jobs.Options{Live: l.update, Status: l.status}
}

func (l *runLive) update(s jobs.Live) {
	switch {
	case l.shown != nil && s.Asked:
		l.shown.Finish() // the asked line stays, above the one that is rewritten
		l.asked.Update(s)
	case s.Asked:
		l.asked.Update(s)
	case l.shown != nil:
		l.shown.Update(s)
	}
}

func (l *runLive) finish() {
	signal.Stop(l.usr1)
	if l.shown != nil {
		l.shown.Finish()
	}
}
