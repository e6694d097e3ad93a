package jobs

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nvmepass/nvmepass/internal/badflag"
	"github.com/nvmepass/nvmepass/internal/compare"
	"github.com/nvmepass/nvmepass/internal/iosetup"
	"github.com/nvmepass/nvmepass/internal/workload"
)

// MaxJobs bounds the number of jobs, each of which is a thread.
const MaxJobs = 1024

// The processes by which --rate-process spreads commands over time.
const (
	Linear  = "linear"
	Poisson = "poisson"
)

// Config is what is asked for, and what a record keeps of it. Counts, rates and
// depths are per job, as fio has them.
type Config struct {
	// Devices are the nodes as they were given.
	Devices []string         `json:"devices"`
	RW      workload.Pattern `json:"rw"`
	// BlockSize is the size of one command in bytes, metadata of an extended
	// LBA format included; 0 is chosen by Check: one logical block.
	BlockSize int               `json:"block_size_bytes"`
	Path      iosetup.Path      `json:"path"`
	Depth     iosetup.Depth     `json:"qd_batch"`
	Rule      iosetup.BatchRule `json:"batch_rule"`
	iosetup.Mode
	// Jobs is the number of jobs; 0 is one for each device, or one in all with
	// SharedRing, which has each job drive all devices.
	Jobs       int  `json:"numjobs"`
	SharedRing bool `json:"shared_ring"`
	// CPUs are those that jobs are pinned to in turn; empty leaves it to the
	// kernel, within the drive's NUMA node if there are several.
	CPUs []int `json:"cpus"`
	// Runtime is the window, 0 for none but Number's end; Warmup precedes it.
	Runtime time.Duration `json:"runtime_ns"`
	Warmup  time.Duration `json:"warmup_ns"`
	// Number of commands after which a job ends, 0 for no limit. IOSize is the
	// same in bytes, from which Check sets Number.
	Number uint64 `json:"number_ios"`
	IOSize uint64 `json:"io_size_bytes"`
	// Offset and Size are the region in bytes; Size 0 is to the end.
	Offset       uint64 `json:"offset_bytes"`
	Size         uint64 `json:"size_bytes"`
	Seed         uint64 `json:"seed"`
	Distribution string `json:"random_distribution"`
	// ReadPercent is the share of reads of mixed patterns.
	ReadPercent int `json:"rwmixread"`
	// RateIOPS and Rate, in bytes per second, limit each job; 0 for no limit.
	RateIOPS    uint64 `json:"rate_iops"`
	Rate        uint64 `json:"rate_bytes_per_second"`
	RateProcess string `json:"rate_process"`
	// Latency has commands timed.
	Latency bool `json:"latency"`
}

// DefaultConfig reads 10 s at random at depth 128 in batches of 32, without
// devices.
func DefaultConfig() Config {
	return Config{
		Devices: []string{}, RW: workload.RandRead, Path: iosetup.Passthru, Depth: iosetup.Depth{QD: 128, Batch: 32}, Rule: iosetup.RuleTIOUring,
		Mode: iosetup.DefaultMode(), CPUs: []int{}, Runtime: 10 * time.Second, Seed: 1, Distribution: "random", ReadPercent: 50, RateProcess: Linear,
	}
}

// Validate checks what needs no device. It returns nil, or the joined errors of
// all settings that are wrong, each a [*badflag.Error].
func (c *Config) Validate() error {
	var errs []error
	add := func(flag, value, problem, remedy string) {
		errs = append(errs, &badflag.Error{Flag: flag, Value: value, Problem: problem, Remedy: remedy})
	}
	if len(c.Devices) == 0 {
		add("DEVICE", "", "at least 1 device is needed", "name one, such as /dev/ng0n1")
	}
	for i, d := range c.Devices {
		switch {
		case strings.TrimSpace(d) == "":
			add("DEVICE", strconv.Quote(d), "an empty name is no device", "name a node, such as /dev/ng0n1")
		case slices.Contains(c.Devices[:i], d):
			add("DEVICE", d, "a device may be given only once", "remove the second "+d+"; --numjobs makes several rings on it")
		}
	}
	if _, err := workload.ParsePattern(string(c.RW)); err != nil {
		add("--rw", strconv.Quote(string(c.RW)), "no such pattern", "give one of "+patternList())
	}
	if !slices.Contains(iosetup.AllPaths(), c.Path) {
		add("--path", strconv.Quote(string(c.Path)), "no such path", "give block, passthru, passthru-poll or block-poll")
	}
	if c.RW.Commands() && !c.Path.Passthru() {
		add("--rw", string(c.RW), fmt.Sprintf("the path %s has only reads and writes", c.Path), "use --path passthru or passthru-poll")
	}
	if c.BlockSize < 0 || c.BlockSize > compare.MaxBlockSize {
		add("--bs", strconv.Itoa(c.BlockSize), fmt.Sprintf("must be 1 to %d bytes", compare.MaxBlockSize), "give a multiple of the LBA size, such as 4k")
	}
	if d := c.Depth; d.QD < 1 || d.QD > iosetup.MaxQD {
		add("--qd", strconv.Itoa(d.QD), fmt.Sprintf("must be 1 to %d", iosetup.MaxQD), "choose a depth in that range")
	} else if d.Batch < 1 || d.Batch > d.QD {
		add("--batch", strconv.Itoa(d.Batch), fmt.Sprintf("must be 1 to the queue depth, which is %d", d.QD), "choose a batch in that range")
	}
	if c.Rule != iosetup.RuleFio && c.Rule != iosetup.RuleTIOUring {
		errs = append(errs, iosetup.BadRule(string(c.Rule)))
	}
	if err := c.Mode.Validate(); err != nil {
		errs = append(errs, err)
	}
	if c.HybridPoll && !c.Path.Polled() {
		add("--hybrid-poll", "", fmt.Sprintf("the path %s does not poll", c.Path), "use --path passthru-poll or block-poll, or leave it out")
	}
	c.validateJobs(add)
	c.validateTimes(add)
	c.validateLoad(add)
	return errors.Join(errs...)
}

func patternList() string {
	var names []string
	for _, p := range workload.Patterns() {
		names = append(names, string(p))
	}
	return strings.Join(names, ", ")
}

func (c *Config) validateJobs(add func(flag, value, problem, remedy string)) {
	n := len(c.Devices)
	switch {
	case c.Jobs < 0 || c.Jobs > MaxJobs:
		add("--numjobs", strconv.Itoa(c.Jobs), fmt.Sprintf("must be 1 to %d", MaxJobs), "give the number of rings, or leave the flag out for one per device")
	case c.Jobs > 0 && c.Jobs < n && !c.SharedRing:
		add("--numjobs", strconv.Itoa(c.Jobs), fmt.Sprintf("%d devices need at least as many jobs", n), "give more, or --shared-ring to drive all of them by each ring")
	}
	if c.SharedRing && n == 1 {
		add("--shared-ring", "", "there is only one device to share it", "name several devices, or leave the flag out")
	}
	if c.SharedRing && c.Depth.QD < n {
		add("--qd", strconv.Itoa(c.Depth.QD), fmt.Sprintf("a ring shared by %d devices needs a slot for each", n), fmt.Sprintf("give %d or more", n))
	}
	if c.SharedRing && c.RW.Commands() {
		add("--shared-ring", "", fmt.Sprintf("--rw %s needs a ring for each device", c.RW), "leave out --shared-ring")
	}
	for i, cpu := range c.CPUs {
		if cpu < 0 || cpu > iosetup.MaxCPU {
			add("--cpu", strconv.Itoa(cpu), fmt.Sprintf("must be 0 to %d", iosetup.MaxCPU), "give numbers of online processors")
		}
		if slices.Contains(c.CPUs[:i], cpu) {
			add("--cpu", strconv.Itoa(cpu), "a processor may be given only once", "remove the second one: jobs take turns by themselves")
		}
	}
}

func (c *Config) validateTimes(add func(flag, value, problem, remedy string)) {
	if c.Runtime < 0 || c.Runtime > compare.MaxRuntime {
		add("--runtime", c.Runtime.String(), fmt.Sprintf("must be above 0 and at most %v", compare.MaxRuntime), "give a time such as 30s")
	} else if c.Runtime == 0 && c.Number == 0 && c.IOSize == 0 && c.RW != workload.Append {
		add("--runtime", "0s", "nothing else ends the run", "give a time such as 30s, --number-ios or --io-size")
	}
	if c.Number > 0 && c.IOSize > 0 {
		add("--io-size", strconv.FormatUint(c.IOSize, 10), "--number-ios says when to end already", "give one of them")
	}
	if c.Warmup < 0 || c.Warmup > compare.MaxRuntime {
		add("--warmup", c.Warmup.String(), fmt.Sprintf("must be 0 to %v", compare.MaxRuntime), "give 0 for none, or a time such as 1s")
	}
	if c.RW == workload.Append && c.Warmup > 0 {
		add("--warmup", c.Warmup.String(), "appends fill each zone once, so that none can be spent unmeasured", "leave it out")
	}
}

func (c *Config) validateLoad(add func(flag, value, problem, remedy string)) {
	d, err := workload.ParseDistribution(c.Distribution)
	switch {
	case err != nil:
		add("--random-distribution", strconv.Quote(c.Distribution), "no such distribution", "give random, zipf:THETA such as zipf:1.2, or pareto:H such as pareto:0.2")
	case d != (workload.Distribution{}) && !c.RW.Random():
		add("--random-distribution", c.Distribution, fmt.Sprintf("--rw %s draws no addresses", c.RW), "use a random pattern, such as randread")
	}
	if c.ReadPercent < 0 || c.ReadPercent > 100 {
		add("--rwmixread", strconv.Itoa(c.ReadPercent), "must be 0 to 100 per cent", "give the share of reads, such as 70")
	}
	const maxRate = 1e9
	if c.RateIOPS > maxRate {
		add("--rate-iops", strconv.FormatUint(c.RateIOPS, 10), fmt.Sprintf("must be at most %.0f", maxRate), "leave it out for no limit")
	}
	if c.RateProcess != Linear && c.RateProcess != Poisson {
		add("--rate-process", strconv.Quote(c.RateProcess), "no such process", "give linear or poisson")
	} else if c.RateProcess == Poisson && c.RateIOPS == 0 && c.Rate == 0 {
		add("--rate-process", Poisson, "there is no rate to spread", "add --rate-iops or --rate")
	}
}

// jobs is the number of jobs that a Jobs of 0 means.
func (c *Config) jobs() int {
	switch {
	case c.Jobs > 0:
		return c.Jobs
	case c.SharedRing:
		return 1
	}
	return len(c.Devices)
}

// drives are the numbers of the devices that a job drives.
func (c *Config) drives(job int) []int {
	if !c.SharedRing {
		return []int{job % len(c.Devices)}
	}
	all := make([]int, len(c.Devices))
	for i := range all {
		all[i] = i
	}
	return all
}

// rate is the most commands per second of a job, 0 for no limit.
func (c *Config) rate() float64 {
	iops, bytes := float64(c.RateIOPS), float64(c.Rate)/float64(c.BlockSize)
	if iops == 0 || bytes > 0 && bytes < iops {
		return bytes
	}
	return iops
}
