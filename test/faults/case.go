package faults

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/nvmepass/nvmepass/internal/lab"
)

// Case is one fault.
type Case struct {
	// Name of the case: lower-case words joined by hyphens, unique.
	Name string
	// Fault says what is injected, and how; Must says what must happen then. Both
	// are cells of the table in docs/reliability.md.
	Fault, Must string
	// Bound is the longest that Run may take, with the end of its process.
	Bound time.Duration
	// Shape is the guest that the case runs in. Cases that name the same one
	// share a boot, and run in the order of Cases.
	Shape *Shape
	// Exit is the exit code that Must promises of nvmepass, and that the last run
	// of it in the case must return (Guest.Tool, Guest.Wait); LibraryOnly where the
	// tool does not run.
	Exit int
	// Leaks marks a case in which commands never come back, so that memory stays
	// mapped on purpose until the process ends.
	Leaks bool
	// Run injects the fault and requires what Must says. Where the running kernel
	// really lacks what it takes, it says so with Guest.Lacks; a case that ran on
	// no kernel is a failure of the whole run.
	Run func(t *testing.T, g *Guest) Outcome
}

// LibraryOnly as Case.Exit says that a case does not run the tool.
const LibraryOnly = -1

// Outcome counts the commands of a case, and says what was seen. Issued must be
// the sum of the others, and must not be 0 unless Nothing is set.
type Outcome struct {
	Issued, OK, Failed, Cancelled uint64
	// Lost commands were given up after the stall limit and are still with the
	// kernel; only where Case.Leaks is set.
	Lost uint64 `json:",omitempty"`
	// Without is what was left out on this kernel, with the reason; it stands
	// beside the kernel's result.
	Without string `json:",omitempty"`
	// Nothing says that no command may be sent at all.
	Nothing bool
	// Note goes into the table: one short sentence on what was seen, the same in
	// every run (no times, counts that vary, or addresses).
	Note string
}

// Add sums up the counts; the first note that says something stays.
func (o Outcome) Add(other Outcome) Outcome {
	o.Issued += other.Issued
	o.OK += other.OK
	o.Failed += other.Failed
	o.Cancelled += other.Cancelled
	o.Lost += other.Lost
	o.Note = cmp.Or(o.Note, other.Note)
	o.Without = cmp.Or(o.Without, other.Without)
	return o
}

// Check returns what is wrong with the counts.
func (o Outcome) Check() error {
	switch {
	case o.Issued != o.OK+o.Failed+o.Cancelled+o.Lost:
		return fmt.Errorf("issued %d is not ok %d + failed %d + cancelled %d + given up %d", o.Issued, o.OK, o.Failed, o.Cancelled, o.Lost)
	case o.Nothing && o.Issued != 0:
		return fmt.Errorf("%d commands were issued, though none may be", o.Issued)
	case !o.Nothing && o.Issued == 0:
		return fmt.Errorf("no command was issued, so that the case shows nothing")
	}
	return nil
}

// Shape is a guest: its drives and its kernel's arguments.
type Shape struct {
	// Name of the shape, unique.
	Name string
	// Drives as lab.ParseDrive reads them. A case finds its drive by serial number.
	Drives []string
	// PollQueues is nvme.poll_queues; Append holds further kernel arguments.
	PollQueues int
	Append     string
	// CPUs and MemoryMiB of the guest; 0 is 2 CPUs and 1024 MiB.
	CPUs, MemoryMiB int
	// Actions are what the cases may ask of the host with lab.Ask.
	Actions []lab.Verb
	// Slow leaves a shape out of the short run of CI (-check).
	Slow bool
}

// Group is a chapter of the table.
type Group struct {
	Title string
	Cases []Case
}

// Groups returns all cases, in the order of the table.
func Groups() []Group {
	return []Group{{"Drives", driveCases()}, {"Kernels and users", userCases()}}
}

// Cases returns all cases, in the order of the table.
func Cases() (all []Case) {
	for _, g := range Groups() {
		all = append(all, g.Cases...)
	}
	return all
}

// Shapes returns every shape that a case names, in the order of the cases.
func Shapes() (all []*Shape) {
	for _, c := range Cases() {
		if !slices.Contains(all, c.Shape) {
			all = append(all, c.Shape)
		}
	}
	return all
}

// Result is what the guest reports of one case, as one line of JSON.
type Result struct {
	Name    string  `json:"name"`
	Result  string  `json:"result"` // pass, fail, skip
	Seconds float64 `json:"seconds"`
	// Exit is the tool's exit code, LibraryOnly if it did not run.
	Exit    int     `json:"exit"`
	Reason  string  `json:"reason,omitempty"` // of a failure or a skip
	Outcome Outcome `json:"outcome"`
}

// Values of Result.Result.
const (
	Pass = "pass"
	Fail = "fail"
	Skip = "skip"
)

// ResultPrefix begins a line with a Result.
const ResultPrefix = "FAULT "

// maxBound keeps a case from taking up a guest.
const maxBound = 4 * time.Minute

var caseName = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// Validate returns what is wrong with the list of cases.
func Validate(cases []Case) error {
	names, shapes := map[string]bool{}, map[string]*Shape{}
	for _, c := range cases {
		switch {
		case !caseName.MatchString(c.Name):
			return fmt.Errorf("case %q: the name must be lower-case words joined by hyphens", c.Name)
		case names[c.Name]:
			return fmt.Errorf("case %s is there twice", c.Name)
		case c.Fault == "" || c.Must == "" || c.Run == nil || c.Shape == nil:
			return fmt.Errorf("case %s lacks Fault, Must, Run or Shape", c.Name)
		case c.Bound <= 0 || c.Bound > maxBound:
			return fmt.Errorf("case %s: bound %v must be above 0 and at most %v", c.Name, c.Bound, maxBound)
		case c.Exit < LibraryOnly || c.Exit > 255:
			return fmt.Errorf("case %s: exit code %d must be from 0 to 255, or LibraryOnly", c.Name, c.Exit)
		}
		names[c.Name] = true
		if other := cmp.Or(shapes[c.Shape.Name], c.Shape); other != c.Shape {
			return fmt.Errorf("case %s: another shape has the name %s", c.Name, c.Shape.Name)
		}
		shapes[c.Shape.Name] = c.Shape
		for _, d := range c.Shape.Drives {
			if _, err := lab.ParseDrive(d); err != nil {
				return fmt.Errorf("shape %s: %w", c.Shape.Name, err)
			}
		}
	}
	return nil
}

// Cases returns the shape's cases whose name matches.
func (s *Shape) Cases(wanted *regexp.Regexp) (cases []Case) {
	for _, c := range Cases() {
		if c.Shape == s && wanted.MatchString(c.Name) {
			cases = append(cases, c)
		}
	}
	return cases
}
