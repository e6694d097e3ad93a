package workload

import (
	"time"

	"github.com/nvmepass/nvmepass/internal/latency"
)

// detail is what a run keeps for each slot, where totals are not all that is
// asked for.
type detail struct {
	devices int
	cells   []Counts
	cellOf  []uint16 // of the command in a slot
	// The rest is nil unless commands are timed.
	start []int64 // of the command in a slot, since the run's epoch
	hist  []*latency.Histogram
	timed bool // commands that end now are recorded
}

func newDetail(cfg *Config, depth int) *detail {
	d := &detail{devices: max(cfg.Devices, 1), cellOf: make([]uint16, depth)}
	d.cells = make([]Counts, len(cfg.Pattern.Directions())*d.devices)
	for slot := range d.cellOf {
		d.cellOf[slot] = uint16(slot % d.devices)
	}
	if cfg.Latency {
		d.start = make([]int64, depth)
		for range d.cells {
			d.hist = append(d.hist, latency.New())
		}
	}
	return d
}

// issued notes commands of one direction that were published. starts has their
// times, or they all are now.
func (d *detail) issued(slots []int, direction int, starts []int64, now int64) {
	base := uint16(direction * d.devices)
	for i, slot := range slots {
		cell := base + uint16(slot%d.devices)
		d.cellOf[slot] = cell
		d.cells[cell].Issued++
		if d.start == nil {
			continue
		}
		d.start[slot] = now
		if starts != nil {
			d.start[slot] = starts[i]
		}
	}
}

// took counts a command that ended well.
func (d *detail) took(slot int, now int64) {
	cell := d.cellOf[slot]
	d.cells[cell].OK++
	if d.timed && d.hist != nil {
		d.hist[cell].Record(now - d.start[slot])
	}
}

// since is the time of the run in nanoseconds.
func (r *runner) since() int64 { return int64(time.Since(r.epoch)) }
