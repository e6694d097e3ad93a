package trial

import (
	"errors"
	"fmt"
	"time"

	"github.com/nvmepass/nvmepass/internal/compare"
	"github.com/nvmepass/nvmepass/internal/iosetup"
)

// Round is one run of one cell.
type Round struct {
	// Round counts from 1; Order is the step's place in the plan, from 1.
	Round int `json:"round"`
	Order int `json:"order"`
	// Started is in UTC, to the millisecond.
	Started time.Time `json:"started"`
	// Error says why the round is not used; empty when it is.
	Error string `json:"error"`
	// Interrupted says that the end of the whole run cut this round short, so
	// that Error is no fault of the cell.
	Interrupted bool `json:"interrupted"`
	// Rates are derived from Sample. Bandwidth is nil where commands move no data.
	compare.Rates
	// Sample is nil when nothing was issued. A sample beside an error counts in
	// the totals only.
	Sample *compare.Sample `json:"sample"`
}

// Used tells whether the round counts in the cell's figures.
func (r *Round) Used() bool { return r.Error == "" && r.Sample != nil }

// Failed tells whether the round has no figure for another reason than an
// interruption of the whole run.
func (r *Round) Failed() bool { return r.Error != "" && !r.Interrupted }

// completeShare is the share of the wanted window from which a run that was
// cancelled meanwhile still counts as whole.
const completeShare = 0.95

// newRound records one step. The error it returns is the reason why the round
// is not used.
func newRound(s *Settings, step Step, started time.Time, sample compare.Sample, err error, cancelled bool) (Round, error) {
	round := Round{Round: step.Round, Order: step.Order, Started: timestamp(started)}
	window := time.Duration(sample.WindowNS)
	switch {
	case cancelled && (err != nil || float64(window) < completeShare*float64(s.Runtime)):
		round.Interrupted = true
		if err == nil {
			err = fmt.Errorf("interrupted after %v of %v", window.Round(time.Millisecond), s.Runtime)
		}
	case err == nil:
		err = addsUp(&sample)
	}
	if err != nil {
		round.Error = err.Error()
	}
	if err == nil || sample.Run != (compare.Counts{}) || sample.WindowNS != 0 {
		normalize(&sample)
		round.Sample, round.Rates = &sample, sample.Rates()
		if sample.Bytes == 0 {
			round.BytesPerSecond = nil
		}
	}
	return round, err
}

// addsUp returns an error when a sample's counts cannot be right.
func addsUp(s *compare.Sample) error {
	switch ended := s.Run.OK + s.Run.Failed + s.Run.Cancelled; {
	case s.Run.Issued != ended:
		return fmt.Errorf("accounting: issued %d, but %d ended: commands were lost or counted twice, so the figure is not used", s.Run.Issued, ended)
	case s.OK > s.Run.OK || s.Failed > s.Run.Failed || s.Cancelled > s.Run.Cancelled:
		return fmt.Errorf("accounting: the window has more commands (ok %d, failed %d, cancelled %d) than the whole run (%d, %d, %d): the figure is not used",
			s.OK, s.Failed, s.Cancelled, s.Run.OK, s.Run.Failed, s.Run.Cancelled)
	case s.WindowNS <= 0:
		return errors.New("the run ended before its measured window began: give a longer --runtime")
	}
	return nil
}

// normalize makes lists and maps present also when empty, so that a record that
// is read back equals the one written.
func normalize(s *compare.Sample) {
	if s.Settings.RingFlags == nil {
		s.Settings.RingFlags = []string{}
	}
	if s.Errors == nil {
		s.Errors = map[string]uint64{}
	}
}

// timestamp drops what JSON does not keep: the monotonic clock, the zone, and
// digits that mean nothing here.
func timestamp(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// Effective is what took effect in the first used round; nil if there is none.
func Effective(rounds []Round) *iosetup.Effective {
	for i := range rounds {
		if rounds[i].Used() {
			return &rounds[i].Sample.Settings
		}
	}
	return nil
}
