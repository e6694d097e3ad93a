package compare

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/nvmepass/nvmepass/internal/iosetup"
)

// Sample is what one run of one cell measured. The counts without "Run" in their place lie inside the measured window.
type Sample struct {
	// WindowNS is the length of the measured window in nanoseconds. Counts and time are taken from the same window.
	WindowNS int64 `json:"window_ns"`
	// OK, Failed and Cancelled count the commands that ended inside the window: well, with a kernel error or an NVMe status,
	// or cancelled by the driver.
	OK        uint64 `json:"ok"`
	Failed    uint64 `json:"failed"`
	Cancelled uint64 `json:"cancelled"`
	// Run counts the commands of the whole run: warm-up, window and drain.
	Run Counts `json:"run"`
	// Bytes were moved by the commands in OK, metadata of an extended LBA format included.
	Bytes uint64 `json:"bytes"`
	// Enters counts the io_uring_enter system calls inside the window.
	Enters uint64 `json:"enters"`
	// SubmitPerCall and ReapPerCall are commands submitted and completions reaped per io_uring_enter; nil when there was none.
	SubmitPerCall *float64 `json:"submit_per_call"`
	ReapPerCall   *float64 `json:"reap_per_call"`
	// MeanInFlight is the mean number of commands submitted and not yet reaped; nil when nothing was submitted.
	MeanInFlight *float64 `json:"mean_in_flight"`
	// UserCPUNS and SystemCPUNS are the submitting thread's processor time inside the window, in nanoseconds.
	UserCPUNS   int64 `json:"user_cpu_ns"`
	SystemCPUNS int64 `json:"system_cpu_ns"`
	// Settings are those that took effect, whatever was asked for.
	Settings iosetup.Effective `json:"settings"`
	// Errors counts the failed commands of the whole run by the text of their error, such as "EINVAL" or "LBA Out of Range
	// (0x80)".
	Errors map[string]uint64 `json:"errors"`
}

// Counts are numbers of commands. When a run has ended, Issued = OK + Failed + Cancelled.
type Counts struct {
	Issued    uint64 `json:"issued"`
	OK        uint64 `json:"ok"`
	Failed    uint64 `json:"failed"`
	Cancelled uint64 `json:"cancelled"`
}

func (c *Counts) add(o Counts) {
	c.Issued += o.Issued
	c.OK += o.OK
	c.Failed += o.Failed
	c.Cancelled += o.Cancelled
}

// Rates are the figures derived from one sample. Each is nil where it cannot be had.
type Rates struct {
	// IOPS are commands that ended well, per second; nil without a window, 0 when none ended well.
	IOPS *float64 `json:"iops"`
	// BytesPerSecond is the bandwidth of those commands.
	BytesPerSecond *float64 `json:"bytes_per_second"`
	// UserCPUNSPerIO and SystemCPUNSPerIO are processor time per command that ended well, in nanoseconds; nil when none did.
	UserCPUNSPerIO   *float64 `json:"user_cpu_ns_per_io"`
	SystemCPUNSPerIO *float64 `json:"system_cpu_ns_per_io"`
}

// IOPS returns the commands per second that ended well inside the window, and 0 without a window.
func (s *Sample) IOPS() float64 {
	if s.WindowNS <= 0 {
		return 0
	}
	return float64(s.OK) / (float64(s.WindowNS) / float64(time.Second))
}

// Rates returns the figures derived from the sample.
func (s *Sample) Rates() Rates {
	var r Rates
	if s.WindowNS > 0 {
		r.IOPS = Float(s.IOPS())
		r.BytesPerSecond = Float(float64(s.Bytes) / (float64(s.WindowNS) / float64(time.Second)))
	}
	if s.OK > 0 {
		r.UserCPUNSPerIO = Float(float64(s.UserCPUNS) / float64(s.OK))
		r.SystemCPUNSPerIO = Float(float64(s.SystemCPUNS) / float64(s.OK))
	}
	return r
}

// Float returns a pointer to v, or nil when v is NaN or infinite, as a quotient of two zeros is.
func Float(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// check returns an error when the sample's counts do not add up, and nil when they do.
func (s *Sample) check() error {
	ended := s.Run.OK + s.Run.Failed + s.Run.Cancelled
	switch {
	case s.Run.Issued != ended:
		return fmt.Errorf("accounting: issued %d, but ok %d + failed %d + cancelled %d = %d: "+
			"commands were lost or counted twice, so the figure is not used", s.Run.Issued, s.Run.OK, s.Run.Failed, s.Run.Cancelled, ended)
	case s.OK > s.Run.OK || s.Failed > s.Run.Failed || s.Cancelled > s.Run.Cancelled:
		return fmt.Errorf("accounting: the window has ok %d, failed %d, cancelled %d, more than the whole run's %d, %d, %d: "+
			"the figure is not used", s.OK, s.Failed, s.Cancelled, s.Run.OK, s.Run.Failed, s.Run.Cancelled)
	case s.WindowNS == 0 && s.OK == 0:
		return errors.New("the run ended before its measured window began: give a longer --runtime")
	case s.WindowNS <= 0:
		return fmt.Errorf("accounting: %d commands in a window of %d ns: the figure is not used", s.OK, s.WindowNS)
	}
	return nil
}

// normalize makes the sample fit for JSON: no NaN, lists and maps present even when empty.
func (s *Sample) normalize() {
	for _, p := range []**float64{&s.SubmitPerCall, &s.ReapPerCall, &s.MeanInFlight} {
		if *p != nil {
			*p = Float(**p)
		}
	}
	if s.Settings.RingFlags == nil {
		s.Settings.RingFlags = []string{}
	}
	if s.Errors == nil {
		s.Errors = map[string]uint64{}
	}
}
