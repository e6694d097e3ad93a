package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nvmepass/nvmepass/internal/units"
)

// options of a soak.
type options struct {
	duration time.Duration
	blocks   uint64 // verified, 0 to go by duration
	kernels  []string
	devices  []string
	seed     uint64
	span     uint64 // bytes of each namespace, 0 for all
	hang     time.Duration
	out      string
	without  string // faults, separated by commas
	report   string
	records  []string // to report from, instead of a run
	// consent to overwrite devices.
	allowWrite, force bool

	lab      bool // this process runs in the lab's guest
	sabotage string
}

// Limits of options.
const (
	maxDuration = 20 * time.Hour // a guest may live for 24 h
	minHang     = 10 * time.Second
	// deviceSpan is what is used of a drive that is not the lab's, unless told
	// otherwise: all that is used is held in memory, block by block.
	deviceSpan = 64 << 20
	maxSpan    = 4 << 30
)

const usage = `Usage: go run ./test/soak [flags]                     soak in the lab
       go run ./test/soak -device /dev/ng0n1 -allow-write  soak a drive of yours
       go run ./test/soak -report FILE RECORD...           write a page from records

Verified reads and writes by all paths at once, under faults, until -for is over
or -blocks are verified. Exit code 0: nothing found; 1: usage; 3: a failure that no
fault explains, a leak, or no result; 4: a block that does not hold what it may;
5: something hung; 130: interrupted.
`

func parseOptions(args []string, stderr io.Writer) (*options, error) {
	o := &options{}
	var blocks, kernels, devices, span string
	f := flag.NewFlagSet("soak", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.DurationVar(&o.duration, "for", 10*time.Minute, "how long, on each kernel")
	f.StringVar(&blocks, "blocks", "", "how many verified blocks on each kernel, such as 10M, instead of -for")
	f.StringVar(&kernels, "kernel", "newest", "kernels of the lab: version prefixes or newest, separated by commas; all for 6.1,6.12,newest")
	f.StringVar(&devices, "device", "", "generic nodes of drives of yours, separated by commas, instead of the lab; their first -span bytes are overwritten")
	f.BoolVar(&o.allowWrite, "allow-write", false, "overwrite what -device names")
	f.BoolVar(&o.force, "force-overwrite", false, "also if it is in use or holds a file system")
	f.Uint64Var(&o.seed, "seed", 0, "seed of everything that is drawn, 0 for a new one")
	f.StringVar(&span, "span", "", "bytes of each namespace that are used, such as 64m; default all in the lab, 64m with -device")
	f.DurationVar(&o.hang, "hang", time.Minute, "the longest that an operation may take")
	f.StringVar(&o.out, "o", "", "file for the record as JSON")
	f.StringVar(&o.report, "report", "", "file for the page on the records")
	f.StringVar(&o.without, "without", "", "faults that are left out, by their names in the record, separated by commas")
	f.BoolVar(&o.lab, "in-lab", false, "")
	f.StringVar(&o.sabotage, "sabotage", "", "")
	f.Usage = func() {
		_, _ = fmt.Fprint(stderr, usage, "\n")
		f.VisitAll(func(x *flag.Flag) {
			if x.Usage != "" { // the others are not for people
				_, _ = fmt.Fprintf(stderr, "  -%s\t%s (%s)\n", x.Name, x.Usage, quoted(x.DefValue))
			}
		})
	}
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	o.records = f.Args()
	for o.seed == 0 {
		o.seed = rand.Uint64() >> 16
	}
	var err error
	if o.blocks, err = parseCount(blocks); err != nil {
		return nil, fmt.Errorf("-blocks %s: %w", blocks, err)
	}
	if span != "" {
		n, err := units.ParseSize(span)
		if err != nil || n < 1<<20 || n > maxSpan {
			return nil, fmt.Errorf("-span %s: need 1m to 4g", span)
		}
		o.span = uint64(n)
	}
	if kernels == "all" {
		kernels = "6.1,6.12,newest"
	}
	o.kernels = strings.Split(kernels, ",")
	if devices != "" {
		o.devices = strings.Split(devices, ",")
		if o.span == 0 {
			o.span = deviceSpan
		}
	}
	return o, o.check()
}

func quoted(s string) string {
	if s == "" {
		return "no default"
	}
	return "default " + s
}

func (o *options) check() error {
	switch {
	case o.duration <= 0 || o.duration > maxDuration:
		return fmt.Errorf("-for %v: need more than 0 and at most %v", o.duration, maxDuration)
	case o.hang < minHang:
		return fmt.Errorf("-hang %v: need %v at least, since a controller's reset takes seconds", o.hang, minHang)
	case len(o.records) > 0 && o.report == "":
		return fmt.Errorf("argument %q: records are for -report FILE", o.records[0])
	case o.allowWrite && len(o.devices) == 0:
		return errors.New("-allow-write: nothing of yours is written without -device")
	case o.unknownFault() != "":
		return fmt.Errorf("-without %s: there is no such fault; there are %s", o.unknownFault(), strings.Join(faultNames(), ", "))
	case o.sabotage != "" && sabotages[o.sabotage] == "":
		return fmt.Errorf("-sabotage %s: there is no such", o.sabotage)
	}
	return nil
}

// unknownFault is the first of without that is none.
func (o *options) unknownFault() string {
	for _, name := range o.leftOut() {
		if !slices.Contains(faultNames(), name) {
			return name
		}
	}
	return ""
}

func (o *options) leftOut() []string {
	if o.without == "" {
		return nil
	}
	return strings.Split(o.without, ",")
}

// parseCount reads a count such as 250000, 500k or 10M; empty is 0.
func parseCount(s string) (uint64, error) {
	if s == "" {
		return 0, nil
	}
	factor := uint64(1)
	digits := s
	switch s[len(s)-1] {
	case 'k', 'K':
		factor, digits = 1e3, s[:len(s)-1]
	case 'm', 'M':
		factor, digits = 1e6, s[:len(s)-1]
	case 'g', 'G':
		factor, digits = 1e9, s[:len(s)-1]
	}
	n, err := strconv.ParseUint(digits, 10, 32)
	if err != nil || n == 0 {
		return 0, errors.New("need a whole number, with k, M or G behind it for thousands, millions or billions")
	}
	return n * factor, nil
}
