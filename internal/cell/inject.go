package cell

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nvmepass/nvmepass/internal/badflag"
	"github.com/nvmepass/nvmepass/internal/workload"
)

// Injection slows a run down on purpose, so that what finds slowdowns can be
// tested with a real one. The zero value slows nothing down.
type Injection struct {
	// Delay is spent busy before each command is submitted.
	Delay time.Duration
	// Slowdown is the share by which rates fall, 0 to below 1: before each batch,
	// the submitting thread is busy for Slowdown/(1-Slowdown) of the time since
	// the last one. The rate falls by as much where nothing goes on meanwhile, as
	// at a queue depth of 1.
	Slowdown float64
	// EvenRounds leaves rounds of odd number alone, so that one run has both, and
	// drift hits both alike.
	EvenRounds bool
}

// ParseInjection reads a time for each command, such as 400ns, or a slowdown in
// per cent, such as 5%; "/even" after it is EvenRounds. Errors are
// [*badflag.Error].
func ParseInjection(s string) (Injection, error) {
	refuse := func(problem string) (Injection, error) {
		return Injection{}, &badflag.Error{Flag: "--inject-delay", Value: strconv.Quote(s), Problem: problem, Remedy: "give a time per command such as 400ns, or a slowdown such as 5%, and /even after it for every second round"}
	}
	var in Injection
	text, even := strings.CutSuffix(s, "/even")
	in.EvenRounds = even
	if percent, ok := strings.CutSuffix(text, "%"); ok {
		v, err := strconv.ParseFloat(percent, 64)
		if err != nil || !(v > 0 && v <= 90) {
			return refuse("a slowdown is above 0% and at most 90%")
		}
		in.Slowdown = v / 100
		return in, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 || d > time.Second {
		return refuse("a time per command is above 0 and at most 1s")
	}
	in.Delay = d
	return in, nil
}

// String says in a sentence what is slowed down, for a record's warnings.
func (in Injection) String() string {
	how := fmt.Sprintf("by %v per command", in.Delay)
	if in.Slowdown > 0 {
		how = fmt.Sprintf("by %g %%", 100*in.Slowdown)
	}
	if in.EvenRounds {
		return "rounds of even number were slowed down on purpose " + how
	}
	return "all rounds were slowed down on purpose " + how
}

// Flag writes the injection as [ParseInjection] reads it; empty for none.
func (in Injection) Flag() string {
	if in.Delay == 0 && in.Slowdown == 0 {
		return ""
	}
	s := in.Delay.String()
	if in.Slowdown > 0 {
		s = strconv.FormatFloat(100*in.Slowdown, 'g', -1, 64) + "%"
	}
	if in.EvenRounds {
		s += "/even"
	}
	return s
}

// Inject slows down the cells that run from now on.
func (s *Set) Inject(in Injection) { s.inject = in }

// delay puts the injection of a round before q.
func (s *Set) delay(q workload.Queue, round int) workload.Queue {
	if s.inject.Delay == 0 && s.inject.Slowdown == 0 || s.inject.EvenRounds && round%2 == 1 {
		return q
	}
	return &delayedQueue{Queue: q, in: s.inject, clock: clockCost()}
}

// clockCost is the time that a reading of the clock takes, which is some
// microseconds in an emulated guest.
func clockCost() time.Duration {
	const readings = 101
	begin := time.Now()
	end := begin
	for range readings {
		end = time.Now()
	}
	return end.Sub(begin) / readings
}

// delayedQueue is a queue whose submitting thread is busy before each batch.
type delayedQueue struct {
	workload.Queue
	in    Injection
	clock time.Duration
	last  time.Time // end of the last delay
}

func (q *delayedQueue) ReadBatch(slots []int, slbas []uint64, nlb uint32) error {
	now := time.Now()
	until := now.Add(time.Duration(len(slots)) * q.in.Delay)
	if share := q.in.Slowdown; share > 0 && !q.last.IsZero() {
		until = now.Add(time.Duration(float64(now.Sub(q.last)) * share / (1 - share)))
	}
	// Of the readings themselves, half of the first, of the last and on average of
	// the one that ends the loop are delay too.
	until = until.Add(-q.clock * 3 / 2)
	for now.Before(until) {
		now = time.Now()
	}
	q.last = now
	return q.Queue.ReadBatch(slots, slbas, nlb)
}
