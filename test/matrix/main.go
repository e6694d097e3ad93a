// Command matrix runs the integration tests in the lab: every shape of guest on
// every kernel that is asked for. It fails if a test fails, or if one was
// skipped in every shape of a kernel, because then nothing tested it there.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/nvmepass/nvmepass/internal/lab"
	"github.com/nvmepass/nvmepass/test/labrun"
)

// shape is one guest to run the tests in.
type shape struct {
	name       string
	drives     []string
	pollQueues int
	run        string // go test -run: what this shape can tell, "" for all
}

// shapes offer together what the tests ask for; see want in package test.
var shapes = append([]shape{
	{name: "polled", drives: []string{
		"size=64m,backend=memory,lba=512",
		"size=64m,backend=memory,lba=4096",
		"size=64m,backend=memory,lba=4096,ms=64,mset=1",
		"size=64m,backend=memory,lba=512,ms=64",
		"size=64m,backend=memory,lba=512,ms=8,pi=1",
		"size=1g,backend=null,latency=2ms,serial=null0",
		"size=64m,backend=memory,iops=400,serial=slow0",
		"size=64m,backend=memory,error-sectors=2048,serial=bad0",
	}, pollQueues: 1},
	{name: "no-poll-queues", drives: []string{"size=64m,backend=memory,lba=512"}, run: "TestB0[45]|TestB3|TestIdentity|TestInterrupted|TestB47|TestScripts/nopoll"},
	{name: "multipath", drives: []string{"size=64m,backend=memory,lba=512,multipath"}, pollQueues: 1, run: "TestB0[45]|TestB3|TestIdentity|TestPollQueues|TestCompare|TestDataIsRight"},
	{name: "zoned", drives: []string{
		"size=64m,backend=memory,lba=4096,zoned,zone-size=4m,zone-capacity=3m,max-open=3,max-active=5,serial=zns4k",
		"size=3t,backend=memory,format=qcow2,lba=512,zoned,zone-size=4g,serial=znsbig",
		"size=16m,backend=memory,lba=4096,ms=8,mset,pi=1,zoned,zone-size=4m,serial=znspi1",
		"size=16m,backend=memory,lba=4096,ms=8,mset,pi=2,zoned,zone-size=4m,serial=znspi2",
	}, run: "TestZone|TestB52|TestScripts/zoned"},
}, layoutShapes()...)

// layoutShapes have a drive of every layout: block size, place and size of the
// metadata, protection type and guard.
func layoutShapes() (all []shape) {
	for _, lba := range []int{512, 4096} {
		for _, extended := range []bool{false, true} {
			s := shape{name: fmt.Sprintf("layouts-%d-separate", lba), run: "TestB49|TestB51"}
			place := ""
			if extended {
				s.name, place = fmt.Sprintf("layouts-%d-extended", lba), ",mset"
			} else {
				s.drives = append(s.drives, layoutDrive(lba, ""))
			}
			for _, format := range []string{
				"ms=8", "ms=8,pi=1", "ms=8,pi=2", "ms=8,pi=3",
				"ms=16", "ms=16,pi=1", "ms=16,pi=2", "ms=16,pi=3", "ms=16,pi=1,pif=2", "ms=16,pi=2,pif=2", "ms=16,pi=3,pif=2", "ms=16,pi=1,pil",
				"ms=64", "ms=64,pi=1", "ms=64,pi=2", "ms=64,pi=3", "ms=64,pi=1,pif=2", "ms=64,pi=2,pif=2", "ms=64,pi=3,pif=2", "ms=64,pi=1,pil", "ms=64,pi=1,pif=2,pil",
			} {
				s.drives = append(s.drives, layoutDrive(lba, ","+format+place))
			}
			all = append(all, s)
		}
	}
	return all
}

// layoutDrive is small and has few queues, since a guest has many of them.
func layoutDrive(lba int, format string) string {
	return fmt.Sprintf("size=2m,backend=memory,queues=2,lba=%d%s", lba, format)
}

func main() {
	kernels := flag.String("kernels", "6.1,6.12,newest", "kernels to run on: version prefixes, or newest")
	run := flag.String("run", "", "only tests that match (go test -run)")
	only := flag.String("shape", "", "only this shape")
	race := flag.Bool("race", false, "build the tests with the race detector: many times slower, so give -run as well")
	parallel := flag.Int("parallel", 2, "guests at a time; a guest has two processors and mostly keeps one busy")
	verbose := flag.Bool("v", false, "show the tests' output")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	tally, err := runMatrix(ctx, strings.Split(*kernels, ","), *only, *run, *parallel, *race, *verbose)
	if err != nil {
		fmt.Fprintln(os.Stderr, "matrix:", err)
	}
	fmt.Printf("%d passed, %d failed, %d skipped\n", tally.passed, tally.failed, len(tally.skipped))
	if err != nil || tally.failed > 0 {
		os.Exit(1)
	}
}

// tally sums up over all kernels. A test counts once for each kernel.
type tally struct {
	passed, failed int
	skipped        []string
}

func runMatrix(ctx context.Context, kernels []string, only, run string, parallel int, race, verbose bool) (tally, error) {
	var sum tally
	dir, err := os.MkdirTemp("", "nvmepass-matrix-")
	if err != nil {
		return sum, err
	}
	defer os.RemoveAll(dir)
	bin, err := labrun.Build(ctx, dir, "./test", race)
	if err != nil {
		return sum, err
	}
	var jobs []*job
	for _, name := range kernels {
		kernel, err := labrun.FindKernel(name)
		if err != nil {
			return sum, err
		}
		if skip := sameEverywhere(kernel.Path); skip != "" {
			fmt.Printf("kernel %s: left to the oldest and the newest kernel: %s\n", kernel.Version, skip)
		}
		for _, s := range shapes {
			if only == "" || s.name == only {
				jobs = append(jobs, &job{kernel: kernel, shape: s})
			}
		}
	}
	err = runJobs(ctx, jobs, parallel, func(ctx context.Context, j *job) (err error) {
		began := time.Now()
		if j.got, err = runShape(ctx, j.kernel.Path, j.shape, bin, run, verbose); err != nil {
			return fmt.Errorf("kernel %s, shape %s: %w", j.kernel.Version, j.shape.name, err)
		}
		fmt.Printf("kernel %s, shape %s: %s in %.0fs\n", j.kernel.Version, j.shape.name, j.got, time.Since(began).Seconds())
		return nil
	})
	if err != nil {
		return sum, err
	}
	for version, all := range byKernel(jobs) {
		for _, name := range all.names() {
			switch r := all[name]; r.outcome {
			case pass:
				sum.passed++
			case fail:
				sum.failed++
				fmt.Printf("FAIL: %s on kernel %s\n", name, version)
			case skip:
				sum.skipped = append(sum.skipped, name)
				fmt.Printf("SKIPPED everywhere: %s on kernel %s: %s\n", name, version, r.reason)
			}
		}
	}
	if len(sum.skipped) > 0 && only == "" && run == "" {
		return sum, fmt.Errorf("%d tests ran in no shape: give a shape the drive that they need", len(sum.skipped))
	}
	return sum, nil
}

// envLong asks the tests for long runs, which then last for hours.
const envLong = "NVMEPASS_TEST_LONG"

// sameEverywhere matches long tests of this program rather than of the kernel.
// The oldest and the newest kernel have them; on those between they would only
// take time.
func sameEverywhere(kernel string) string {
	if os.Getenv(envLong) != "" || !strings.Contains(filepath.Base(kernel), "-6.12.") {
		return ""
	}
	return "^(TestB44OpenRunClose|TestKVLog.*|TestThousandGoroutines|TestNopCommand|TestB45.*|TestIOCommand.*|TestVerifyCommand.*|TestScripts|TestB54Consent|TestB13DeviceEnd|TestCompareCommand|TestRunCommandMemory)$"
}

func runShape(ctx context.Context, kernel string, s shape, bin labrun.Binaries, run string, verbose bool) (results, error) {
	limit := 30 * time.Minute
	if os.Getenv(envLong) != "" {
		limit = 4 * time.Hour
	}
	cfg := lab.Config{
		Kernel: kernel, Binary: bin.Tool, PollQueues: s.pollQueues, MemoryMiB: 2048, Timeout: limit + 2*time.Minute,
		Program: []string{bin.Tests, "-test.v", "-test.timeout=" + limit.String()}, Dir: "test",
	}
	if skip := sameEverywhere(kernel); skip != "" {
		cfg.Program = append(cfg.Program, "-test.skip="+skip)
	}
	if run == "" {
		run = s.run
	}
	if run != "" {
		cfg.Program = append(cfg.Program, "-test.run="+run)
	}
	var err error
	if cfg.Drives, err = labrun.Drives(s.drives); err != nil {
		return nil, err
	}
	cfg.Env = []string{"NVMEPASS_TEST_DEVICE=/dev/ng*n*", "NVMEPASS_TEST_DESTRUCTIVE=1", "NVMEPASS_TEST_BINARY=/init"}
	// In CI, what a test lacks of the machine is a failure.
	cfg.Env = append(cfg.Env, labrun.PassEnv(envLong, "CI")...)
	files, env := nvmeCLI()
	cfg.InFiles, cfg.Env = files, append(cfg.Env, env...)
	var out bytes.Buffer
	cfg.Stdout, cfg.Stderr, cfg.Notes = &out, &out, io.Discard
	if verbose {
		cfg.Stdout, cfg.Stderr = io.MultiWriter(&out, os.Stdout), os.Stderr
	}
	res, err := lab.Run(ctx, cfg)
	got := parse(out.String())
	if err != nil || res.ExitCode != 0 {
		if !verbose {
			fmt.Print(out.String())
		}
		if err == nil && got.count(fail) == 0 {
			err = fmt.Errorf("the test binary ended with exit code %d", res.ExitCode)
		}
	}
	if err == nil && len(got) == 0 {
		err = fmt.Errorf("no test ran")
	}
	return got, err
}
