package main

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/nvmepass/nvmepass/internal/jobs"
	"github.com/nvmepass/nvmepass/internal/report"
	"github.com/nvmepass/nvmepass/internal/sys"
)

// statusSignals are the requests for a line of status, until stop.
func statusSignals() (signals chan os.Signal, stop func()) {
	signals = make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGUSR1)
	return signals, func() { signal.Stop(signals) }
}

// runLive shows a run while it goes on, each second and at SIGUSR1.
type runLive struct {
	shown  *report.RunLive // nil for no lines but those that are asked for
	asked  *report.RunLive // by SIGUSR1
	status chan struct{}
	usr1   chan os.Signal
	stop   func()
}

// liveTo chooses how progress is shown on stderr.
func (f *runFlags) liveTo(stderr *os.File) *runLive {
	width, tty := sys.TerminalWidth(int(stderr.Fd()))
	l := &runLive{asked: report.NewRunLive(stderr, false, 0), status: make(chan struct{})}
	switch f.progress {
	case "line":
		l.shown = report.NewRunLive(stderr, true, width)
	case "plain":
		l.shown = report.NewRunLive(stderr, false, 0)
	case "auto":
		l.shown = report.NewRunLive(stderr, tty, width)
	}
	l.usr1, l.stop = statusSignals()
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
	l.stop()
	if l.shown != nil {
		l.shown.Finish()
	}
}
