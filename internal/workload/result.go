package workload

import (
	"slices"
	"time"

	"github.com/nvmepass/nvmepass/internal/latency"
	"github.com/nvmepass/nvmepass/uringcmd"
)

// Counts are numbers of commands.
type Counts struct {
	Issued, OK, Failed, Cancelled uint64
}

func (c Counts) minus(o Counts) Counts {
	return Counts{c.Issued - o.Issued, c.OK - o.OK, c.Failed - o.Failed, c.Cancelled - o.Cancelled}
}

// Window is what happened between the end of the warm-up and the end of the
// run time.
type Window struct {
	Began                 time.Time
	Time                  time.Duration
	OK, Failed, Cancelled uint64
	Enters                uint64        // system calls
	Submitted, Reaped     uint64        // commands
	InFlight              float64       // mean, taken at each system call
	UserCPU, SystemCPU    time.Duration // of the calling thread
	// Cells are the counts by direction and device; see Result.Cells.
	Cells []Counts
	// Latency has a histogram for each cell, nil without Config.Latency.
	Latency []*latency.Histogram
}

// Result is one run. Total.Issued = OK + Failed + Cancelled, unless Run returned
// uringcmd.ErrStalled: then what is missing is still in flight.
type Result struct {
	Total  Counts
	Window Window
	// Cells are Total by direction and device: cell d*Config.Devices + i is
	// direction number d of Pattern.Directions on device i. It is nil where
	// there is only one and nothing asks for more.
	Cells []Counts
	// Errors counts failed and cancelled commands by the text of their error.
	Errors map[string]uint64
}

// snapshot is everything that the window is the difference of.
type snapshot struct {
	at              time.Time
	total           Counts
	cells           []Counts
	stats           uringcmd.Stats
	sum, samples    uint64
	userCPU, sysCPU time.Duration
}

func window(a, b *snapshot) Window {
	if a.at.IsZero() {
		return Window{} // ended before the window began
	}
	w := Window{
		Began: a.at, Time: b.at.Sub(a.at),
		OK: b.total.OK - a.total.OK, Failed: b.total.Failed - a.total.Failed, Cancelled: b.total.Cancelled - a.total.Cancelled,
		Enters: b.stats.Enters - a.stats.Enters, Submitted: b.stats.Submitted - a.stats.Submitted, Reaped: b.stats.Reaped - a.stats.Reaped,
		UserCPU: b.userCPU - a.userCPU, SystemCPU: b.sysCPU - a.sysCPU,
		Cells: slices.Clone(b.cells),
	}
	for i := range w.Cells {
		w.Cells[i] = w.Cells[i].minus(a.cells[i])
	}
	if n := b.samples - a.samples; n > 0 {
		w.InFlight = float64(b.sum-a.sum) / float64(n)
	}
	return w
}
