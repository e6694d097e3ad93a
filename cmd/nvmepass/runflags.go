package main

import (
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/nvmepass/nvmepass/internal/badflag"
	"github.com/nvmepass/nvmepass/internal/consent"
	"github.com/nvmepass/nvmepass/internal/iosetup"
	"github.com/nvmepass/nvmepass/internal/jobs"
	"github.com/nvmepass/nvmepass/internal/workload"
	"github.com/nvmepass/nvmepass/passthru"
)

// runFlags are the flags of nvmepass run as given.
type runFlags struct {
	cfg            jobs.Config
	rw, path, rule string
	batch          int
	allowWrite     bool
	force          bool
	output         string
	saveFlags      saveFlags
	baseline       string
	progress       string
	lab            bool
	allDevices     bool // hidden: without DEVICE, take every namespace
	modeFlags      modeFlags
	labFlags       labFlags
}

func (f *runFlags) add(fl *pflag.FlagSet) {
	c := &f.cfg
	fl.SetNormalizeFunc(fioNames)
	fl.StringVar(&f.rw, "rw", string(c.RW), "randread, read, randwrite, write, randrw, rw, randtrim, trim, randzeroes, zeroes (Write Zeroes) or append (zones)")
	fl.Var(&sizeValue{n: &c.BlockSize}, "bs", "bytes of each command, extended metadata included (default one logical block)")
	fl.IntVar(&c.Depth.QD, "qd", c.Depth.QD, "commands in flight per ring (fio: iodepth)")
	fl.IntVar(&f.batch, "batch", 0, "commands per system call (default 32, or the queue depth if that is less)")
	fl.StringVar(&f.rule, "batch-rule", "tio", "tio: t/io_uring's, wait for B when full; fio: submit up to B, reap 1 to B")
	fl.StringVar(&f.path, "path", string(c.Path), "passthru, passthru-poll, block or block-poll")
	fl.IntVar(&c.Jobs, "numjobs", 0, "rings, each on a thread of its own (default one per device, or one with --shared-ring)")
	fl.BoolVar(&c.SharedRing, "shared-ring", false, "each ring drives all devices, with a share of --qd for each")
	fl.Var(cpusValue{&c.CPUs}, "cpu", "CPUs to pin jobs to in turn, such as 0,2-3 (fio: cpus_allowed; default the drive's NUMA node if there are several)")
	fl.Var(timeValue{&c.Runtime}, "runtime", "measured time, in seconds or with a unit; 0 for none, with a number of commands")
	fl.Var(timeValue{&c.Warmup}, "warmup", "time before that, not measured (fio: ramp_time)")
	fl.Uint64Var(&c.Number, "number-ios", 0, "end each job after so many commands; sets the default of --runtime to 0")
	fl.Var(bytesValue{&c.IOSize}, "io-size", "end each job after so many bytes; sets the default of --runtime to 0")
	fl.Var(bytesValue{&c.Offset}, "offset", "first byte of the namespace to use")
	fl.Var(bytesValue{&c.Size}, "size", "bytes from there on to use, over and over (default to the end); not the amount of I/O, which is --io-size")
	fl.StringVar(&c.Distribution, "random-distribution", c.Distribution, "random, zipf:THETA or pareto:H")
	fl.IntVar(&c.ReadPercent, "rwmixread", c.ReadPercent, "per cent of reads of randrw and rw")
	fl.Uint64Var(&c.RateIOPS, "rate-iops", 0, "most commands per second of each job; latencies then count from when one was due")
	fl.Var(bytesValue{&c.Rate}, "rate", "most bytes per second of each job")
	fl.StringVar(&c.RateProcess, "rate-process", c.RateProcess, "linear: at even distances; poisson: at random ones")
	fl.BoolVar(&c.Latency, "latency", false, "percentiles of latency; costs two readings of the clock per batch")
	fl.Uint64Var(&c.Seed, "seed", c.Seed, "of addresses, mix, Poisson process and written data")
	fl.BoolVar(&f.allowWrite, "allow-write", false, "let patterns that destroy data do so")
	fl.BoolVar(&f.force, "force-overwrite", false, "also where the namespace is in use, partitioned or holds a file system")
	f.modeFlags.add(fl)
	addFormat(fl, &f.output, "run")
	f.saveFlags.add(fl)
	fl.StringVar(&f.baseline, "baseline", "", "show published figures beside: series-2021 (one drive, polled) or series-2021b (two drives, depth 1)")
	addProgress(fl, &f.progress)
	fl.BoolVar(&f.lab, "lab", false, "run in the lab: the real driver, emulated drives, their own guest")
	f.labFlags.add(fl)
	fl.BoolVar(&f.allDevices, "all-devices", false, "")
	_ = fl.MarkHidden("all-devices")
}

// parse turns the flags into f.cfg. In the lab the guest chooses the devices.
func (f *runFlags) parse(cmd *cobra.Command) (err error) {
	fl := cmd.Flags()
	c := &f.cfg
	c.RW = workload.Pattern(f.rw)
	if p, err := workload.ParsePattern(f.rw); err == nil {
		c.RW = p
	}
	c.Path = iosetup.Path(f.path)
	if c.Rule, err = iosetup.ParseBatchRule(f.rule); err != nil {
		return err
	}
	c.Mode = f.modeFlags.mode
	if c.Depth.Batch = f.batch; !fl.Changed("batch") {
		c.Depth.Batch = max(1, min(32, c.Depth.QD))
	}
	if (c.Number > 0 || c.IOSize > 0 || c.RW == workload.Append) && !fl.Changed("runtime") {
		c.Runtime = 0
	}
	if err := checkFormat(f.output, "run"); err != nil {
		return err
	}
	if err := checkProgress(f.progress); err != nil {
		return err
	}
	if err := f.chooseDevices(); err != nil {
		return err
	}
	checked := *c
	if f.lab && len(checked.Devices) == 0 {
		for i := range max(1, len(f.labFlags.drives)) {
			checked.Devices = append(checked.Devices, "drive "+strconv.Itoa(i)+" of the guest")
		}
	}
	if err := checked.Validate(); err != nil {
		return err
	}
	if err := f.checkZeros(fl); err != nil {
		return err
	}
	if err := f.checkUseless(fl); err != nil {
		return err
	}
	if c.RW.Writes() {
		if err := consent.Required(string(c.RW), f.allowWrite); err != nil {
			return err
		}
	}
	if fl.Changed("baseline") {
		if f.output != "text" {
			return usage("--baseline %s: it is shown in text alone: leave out -o %s", f.baseline, f.output)
		}
		if _, err := jobs.Baseline(f.baseline); err != nil {
			return err
		}
	}
	return f.saveFlags.check(fl)
}

func (f *runFlags) chooseDevices() error {
	if len(f.cfg.Devices) == 0 && f.allDevices {
		f.cfg.Devices = passthru.Namespaces()
	}
	if f.lab {
		return nil
	}
	if name := f.labFlags.firstGiven(); name != "" {
		return usage("--%s is for the lab: add --lab", name)
	}
	if len(f.cfg.Devices) == 0 {
		return usage("run: no device given: name a namespace such as /dev/ng0n1, or use --lab to run without a drive")
	}
	return nil
}

// checkZeros refuses a 0 that was written, where leaving the flag out means
// something else.
func (f *runFlags) checkZeros(fl *pflag.FlagSet) error {
	c := &f.cfg
	for _, z := range []struct {
		name string
		zero bool
	}{
		{"bs", c.BlockSize == 0}, {"numjobs", c.Jobs == 0}, {"number-ios", c.Number == 0}, {"io-size", c.IOSize == 0},
		{"size", c.Size == 0}, {"rate-iops", c.RateIOPS == 0}, {"rate", c.Rate == 0},
	} {
		if fl.Changed(z.name) && z.zero {
			return &badflag.Error{Flag: "--" + z.name, Value: "0", Problem: "must be above 0", Remedy: "leave the flag out for its default"}
		}
	}
	return nil
}

// checkUseless refuses flags that would have no effect on what is asked for.
func (f *runFlags) checkUseless(fl *pflag.FlagSet) error {
	c := &f.cfg
	rated := c.RateIOPS > 0 || c.Rate > 0
	for _, u := range []struct {
		name    string
		useless bool
		problem string
	}{
		{"rwmixread", !c.RW.Mixed(), "--rw " + f.rw + " mixes nothing"},
		{"random-distribution", !c.RW.Random(), "--rw " + f.rw + " draws no addresses"},
		{"rate-process", !rated, "there is no rate to spread"},
		{"seed", !c.RW.Random() && !c.RW.Mixed() && !c.RW.Writes() && c.RateProcess != jobs.Poisson, "nothing here is drawn at random"},
		{"allow-write", !c.RW.Writes(), "--rw " + f.rw + " writes nothing"},
		{"force-overwrite", !c.RW.Writes(), "--rw " + f.rw + " writes nothing"},
	} {
		if fl.Changed(u.name) && u.useless {
			return &badflag.Error{Flag: "--" + u.name, Value: fl.Lookup(u.name).Value.String(), Problem: u.problem + ", so that the flag has no effect", Remedy: "leave it out"}
		}
	}
	return nil
}
