package main

import (
	"strconv"

	"github.com/spf13/pflag"

	"github.com/nvmepass/nvmepass/internal/iosetup"
)

// modeFlags are the flags that say in which mode a ring runs, the same for every
// command that drives one. Names are fio's where fio has one.
type modeFlags struct {
	mode iosetup.Mode
}

var switchHelp = map[string]string{
	"fixedbufs":     "register the buffers with the ring",
	"registerfiles": "register the file with the ring",
	"registerring":  "enter the ring by a registered index (5.18)",
	"coop-taskrun":  "completion work only when this thread enters the kernel (5.19)",
	"defer-taskrun": "completion work only when this thread waits for completions (6.1)",
	"no-sqarray":    "submission queue without index array (6.6)",
	"sq-rewind":     "no index array, and each batch from place 0 (7.0)",
	"hugepages":     "buffers in reserved huge pages (vm.nr_hugepages)",
	"vectored":      "each command with a vector of one part",
	"hybrid-poll":   "sleep for part of the expected time, then poll (6.13)",
	"sqpoll":        "a kernel thread takes the submissions (fio: sqthread_poll)",
}

func (f *modeFlags) add(fl *pflag.FlagSet) {
	f.mode = iosetup.DefaultMode()
	for _, s := range iosetup.Switches() {
		fl.Var(&switchValue{s, &f.mode}, s.Name, switchHelp[s.Name])
		fl.Lookup(s.Name).NoOptDefVal = "true"
	}
	fl.Var(timeValue{&f.mode.SQPollIdle}, "sqpoll-idle", "idle time after which that thread sleeps (default the kernel's 1s)")
	fl.Lookup("sqpoll-idle").DefValue = "" // which help and man pages leave out, unlike 0s
	fl.Var(cpuValue{&f.mode.SQPollCPU}, "sqpoll-cpu", "CPU to pin that thread to (default not pinned)")
}

// switchValue is one switch of a mode as a flag.
type switchValue struct {
	s    iosetup.Switch
	mode *iosetup.Mode
}

func (v *switchValue) String() string {
	if v.mode == nil {
		return "false"
	}
	return strconv.FormatBool(v.s.On(*v.mode))
}

func (v *switchValue) Set(text string) error {
	on, err := strconv.ParseBool(text)
	if err != nil {
		return usage("%q: need true or false", text)
	}
	v.s.Set(v.mode, on)
	return nil
}

func (v *switchValue) Type() string { return "bool" }

func (v *switchValue) IsBoolFlag() bool { return true }
