package iosetup

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nvmepass/nvmepass/internal/badflag"
)

// Array is how the ring's submission queue names its entries.
type Array string

// The three kinds of submission queue.
const (
	// ArrayIndex is the index array of every kernel: entries stay in their places.
	ArrayIndex Array = "index"
	// ArrayNone is NO_SQARRAY (Linux 6.6): entries are copied to the next place.
	ArrayNone Array = "none"
	// ArrayRewind is NO_SQARRAY with SQ_REWIND (Linux 7.0): each batch starts at place 0.
	ArrayRewind Array = "rewind"
)

// MaxSQPollIdle is the longest idle time of the kernel's submission thread; the kernel takes 32-bit milliseconds.
const MaxSQPollIdle = time.Hour

// Mode is what is asked of a ring beside path and depth. What took effect is an [Effective].
type Mode struct {
	// FixedBuffers asks for buffers registered with the ring.
	FixedBuffers bool `json:"fixed_buffers"`
	// RegisteredFiles asks for the file to be registered with the ring.
	RegisteredFiles bool `json:"registered_files"`
	// RegisteredRing asks for the ring to be entered by a registered index.
	RegisteredRing bool `json:"registered_ring"`
	// CoopTaskrun and DeferTaskrun say when the kernel may run completion work: COOP_TASKRUN, DEFER_TASKRUN.
	CoopTaskrun  bool `json:"coop_taskrun"`
	DeferTaskrun bool `json:"defer_taskrun"`
	// Array is the kind of submission queue.
	Array Array `json:"submission_array"`
	// HugePages asks for buffers in huge pages.
	HugePages bool `json:"huge_pages"`
	// Vectored sends each command with a vector of one part: NVME_URING_CMD_IO_VEC, READV or WRITEV.
	Vectored bool `json:"vectored"`
	// HybridPoll sleeps for part of the expected time before it polls (IORING_SETUP_HYBRID_IOPOLL, Linux 6.13); polled paths only.
	HybridPoll bool `json:"hybrid_poll"`
	// SQPoll has a kernel thread take the submissions. SQPollIdle is how long it spins without work before it sleeps, 0 for the
	// kernel's default of 1 s, and SQPollCPU the processor it is pinned to, nil for none.
	SQPoll     bool          `json:"sqpoll"`
	SQPollIdle time.Duration `json:"sqpoll_idle_ns"`
	SQPollCPU  *int          `json:"sqpoll_cpu"`
}

// DefaultMode is the fastest mode that needs no processor of its own and no kernel newer than others.
func DefaultMode() Mode {
	return Mode{FixedBuffers: true, RegisteredFiles: true, RegisteredRing: true, CoopTaskrun: true, DeferTaskrun: true, Array: ArrayIndex}
}

// Switch is one setting of a Mode that can be turned over by itself.
type Switch struct {
	// Name is that of the flag, such as "fixedbufs".
	Name string
	// Default is the state in [DefaultMode].
	Default bool
	// Polled says that the switch means something on polled paths alone.
	Polled bool
	on     func(*Mode) bool
	set    func(*Mode, bool)
}

var switches = []Switch{
	{Name: "fixedbufs", Default: true, on: func(m *Mode) bool { return m.FixedBuffers }, set: func(m *Mode, v bool) { m.FixedBuffers = v }},
	{Name: "registerfiles", Default: true, on: func(m *Mode) bool { return m.RegisteredFiles }, set: func(m *Mode, v bool) { m.RegisteredFiles = v }},
	{Name: "registerring", Default: true, on: func(m *Mode) bool { return m.RegisteredRing }, set: func(m *Mode, v bool) { m.RegisteredRing = v }},
	{Name: "coop-taskrun", Default: true, on: func(m *Mode) bool { return m.CoopTaskrun }, set: func(m *Mode, v bool) { m.CoopTaskrun = v }},
	{Name: "defer-taskrun", Default: true, on: func(m *Mode) bool { return m.DeferTaskrun }, set: func(m *Mode, v bool) { m.DeferTaskrun = v }},
	{Name: "no-sqarray", on: func(m *Mode) bool { return m.Array == ArrayNone }, set: arraySetter(ArrayNone)},
	{Name: "sq-rewind", on: func(m *Mode) bool { return m.Array == ArrayRewind }, set: arraySetter(ArrayRewind)},
	{Name: "hugepages", on: func(m *Mode) bool { return m.HugePages }, set: func(m *Mode, v bool) { m.HugePages = v }},
	{Name: "vectored", on: func(m *Mode) bool { return m.Vectored }, set: func(m *Mode, v bool) { m.Vectored = v }},
	{Name: "hybrid-poll", Polled: true, on: func(m *Mode) bool { return m.HybridPoll }, set: func(m *Mode, v bool) { m.HybridPoll = v }},
	{Name: "sqpoll", on: func(m *Mode) bool { return m.SQPoll }, set: func(m *Mode, v bool) { m.SQPoll = v }},
}

func arraySetter(a Array) func(*Mode, bool) {
	return func(m *Mode, v bool) {
		if m.Array = ArrayIndex; v {
			m.Array = a
		}
	}
}

// Switches are the settings of a Mode that are on or off, in the order of their flags.
func Switches() []Switch { return slices.Clone(switches) }

// On tells whether the switch is on in m.
func (s Switch) On(m Mode) bool { return s.on(&m) }

// Turned is m with the switch in the other position.
func (s Switch) Turned(m Mode) Mode {
	s.set(&m, !s.on(&m))
	return m
}

// Set puts the switch in m into the given position.
func (s Switch) Set(m *Mode, on bool) { s.set(m, on) }

// Variants are the names that [ModeVariant] takes for m on a path: "" for m itself, then each switch turned alone, written as
// its flag, such as "--fixedbufs=false".
func Variants(m Mode, p Path) []string {
	names := []string{""}
	for _, s := range switches {
		if s.Polled && !p.Polled() {
			continue
		}
		if t := s.Turned(m); t.Validate() == nil {
			names = append(names, "--"+s.Name+"="+strconv.FormatBool(!s.On(m)))
		}
	}
	return names
}

// ModeVariant is m as a name of [Variants] changes it.
func ModeVariant(m Mode, name string) (Mode, error) {
	if name == "" {
		return m, nil
	}
	flag, value, ok := strings.Cut(strings.TrimPrefix(name, "--"), "=")
	on, err := strconv.ParseBool(value)
	if i := slices.IndexFunc(switches, func(s Switch) bool { return s.Name == flag }); ok && err == nil && i >= 0 {
		switches[i].set(&m, on)
		return m, nil
	}
	return m, &badflag.Error{Flag: "variant", Value: strconv.Quote(name), Problem: "no such switch", Remedy: "write it like --fixedbufs=false"}
}

// Validate returns nil, or the joined errors of all settings that are wrong.
func (m *Mode) Validate() error {
	var errs []error
	add := func(flag, value, problem, remedy string) {
		errs = append(errs, &badflag.Error{Flag: flag, Value: value, Problem: problem, Remedy: remedy})
	}
	if m.Array != ArrayIndex && m.Array != ArrayNone && m.Array != ArrayRewind {
		add("--sq-array", strconv.Quote(string(m.Array)), "no such kind of submission queue", "give index, none or rewind")
	}
	if m.SQPoll && m.Array == ArrayRewind {
		add("--sqpoll", "", "the kernel takes no SQ_REWIND with its own submission thread", "leave out --sq-rewind")
	}
	if !m.SQPoll && m.SQPollIdle != 0 {
		add("--sqpoll-idle", m.SQPollIdle.String(), "there is no submission thread without --sqpoll", "add --sqpoll")
	}
	if !m.SQPoll && m.SQPollCPU != nil {
		add("--sqpoll-cpu", strconv.Itoa(*m.SQPollCPU), "there is no submission thread without --sqpoll", "add --sqpoll")
	}
	if d := m.SQPollIdle; d < 0 || d > MaxSQPollIdle || d%time.Millisecond != 0 {
		add("--sqpoll-idle", d.String(), fmt.Sprintf("must be whole milliseconds, 0 to %v", MaxSQPollIdle), "give a time such as 100ms, or 0 for the kernel's default")
	}
	if m.SQPollCPU != nil && (*m.SQPollCPU < 0 || *m.SQPollCPU > MaxCPU) {
		add("--sqpoll-cpu", strconv.Itoa(*m.SQPollCPU), fmt.Sprintf("must be 0 to %d", MaxCPU), "give the number of an online processor")
	}
	return errors.Join(errs...)
}

// MaxCPU is the highest CPU number: Linux can be built for at most 8192 (NR_CPUS).
const MaxCPU = 8191
