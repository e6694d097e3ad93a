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
	// the submitting thread is busy for that share of the time that a batch takes
	// in all. The rate falls by as much where nothing goes on meanwhile, as at a
	// queue depth of 1.
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
	return &delayedQueue{Queue: q, in: s.inject, perTurn: turnTime(), began: time.Now()}
}

// delayedQueue is a queue whose submitting thread is busy before each batch. It
// is busy for a number of turns of a loop and not until a point in time, since
// reading the clock takes microseconds in an emulated guest.
type delayedQueue struct {
	workload.Queue
	in      Injection
	perTurn float64 // nanoseconds
	batches int     // since began
	began   time.Time
	turns   int // before each batch, for a slowdown
	sum     uint64
}

// resettle is the number of batches after which the turns are chosen anew.
const resettle = 64

func (q *delayedQueue) ReadBatch(slots []int, slbas []uint64, nlb uint32) error {
	turns := q.turns
	if q.in.Delay > 0 {
		turns = int(float64(len(slots)) * float64(q.in.Delay) / q.perTurn)
	} else if q.batches++; q.batches == resettle {
		now := time.Now()
		// The time of a batch has the delay in it, of which it is to be a share.
		q.turns = int(q.in.Slowdown * float64(now.Sub(q.began)) / resettle / q.perTurn)
		q.batches, q.began = 0, now
	}
	q.sum = turn(q.sum, turns)
	return q.Queue.ReadBatch(slots, slbas, nlb)
}

// turn goes round a loop that the compiler keeps, since its result is used.
func turn(x uint64, turns int) uint64 {
	for range turns {
		x ^= x<<13 | 1
		x ^= x >> 7
	}
	return x
}

// calibration is how long turns are measured. Something else disturbs them
// meanwhile about as often as later, so that their share of the time is right.
const calibration = 10 * time.Millisecond

// turnTime is the mean time of one turn in nanoseconds.
func turnTime() float64 {
	const turns = 5000
	sum := turn(0, turns) // warms up
	done := 0
	begin := time.Now()
	elapsed := time.Duration(0)
	for elapsed < calibration {
		sum = turn(sum, turns)
		done += turns
		elapsed = time.Since(begin)
	}
	return float64(elapsed)/float64(done) + float64(sum&1)*1e-9
}
