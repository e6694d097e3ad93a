package record

import (
	"strings"
	"time"

	"github.com/nvmepass/nvmepass/internal/compare"
	"github.com/nvmepass/nvmepass/internal/stats"
)

// Record is one recorded run.
type Record struct {
	// Name is what the reader of a report calls it, such as its file's name.
	Name string
	// Kind is the command that wrote it: "compare", "nop", "sweep" or "run".
	Kind string
	// Schema and ToolVersion are the document's.
	Schema      string
	ToolVersion string
	// Started is in UTC.
	Started time.Time
	// Title says in one line what was run.
	Title string
	// Interrupted says that the run ended before its plan; StopReason says why.
	Interrupted bool
	StopReason  string
	// Emulated says that figures come from an emulated drive or machine, and
	// EmulatedReason how that is known.
	Emulated       bool
	EmulatedReason string
	// Config is what was asked for, Environment where it ran, flattened, in the
	// order of the document.
	Config, Environment []Setting
	// Devices are the nodes as they were given; empty where there is none.
	Devices []Device
	// Cells are in the order of the table.
	Cells []Cell
	// X is the unit of Cell.X, empty where cells have none. Marks are places on
	// that axis that mean something.
	X     string
	Marks []Mark
	// Published are figures in print to show beside; nil where there are none.
	Published *Published
	// Warnings are the record's own.
	Warnings []string
}

// Published is a table of figures in print.
type Published struct {
	Name, Source, Conditions string
	Figures                  []PublishedFigure
}

// PublishedFigure is one of them, in the unit of the metric of its table.
type PublishedFigure struct {
	Row, Column string
	Value       float64
	// Ratio is to the cell that the record's own ratios are to; 0 where there is
	// none.
	Ratio float64
}

// Figure returns the figure of a cell, and whether there is one.
func (p *Published) Figure(row, column string) (PublishedFigure, bool) {
	if p != nil {
		for _, f := range p.Figures {
			if f.Row == row && f.Column == column {
				return f, true
			}
		}
	}
	return PublishedFigure{}, false
}

// Device is a node with its description.
type Device struct {
	Path, Description string
}

// Setting is one value of a configuration or an environment.
type Setting struct {
	// Name is the JSON key, with those above it, as in "devices[0].model".
	Name string
	// Value is "-" where there is none.
	Value string
}

// Mark is a place on the axis of [Record].X.
type Mark struct {
	At    float64
	Label string
}

// Key names a cell within its record.
type Key struct {
	// Device is the node as it was given, empty where there is none.
	Device string `json:"device"`
	// Row and Column are its place in the table, such as "128_32" and "passthru".
	Row    string `json:"row"`
	Column string `json:"column"`
	// Variant is the switch that is turned over, as in "--fixedbufs=false"; empty
	// for the mode as it was asked for.
	Variant string `json:"variant"`
	// Metric is what the rounds measure: "iops", "bytes_per_second", or a
	// percentile of latency such as "clat_p99_ns".
	Metric string `json:"metric"`
}

// Metrics of cells.
const (
	IOPS           = "iops"
	BytesPerSecond = "bytes_per_second"
)

// Cell is one figure with its rounds.
type Cell struct {
	Key
	// LowerIsBetter is true for times.
	LowerIsBetter bool
	// Rounds are the measured values, one of each used round, in the metric's
	// unit: per second or nanoseconds.
	Rounds []float64
	// Spread is what the rounds tell about the rate, also where only their mean
	// and deviation were recorded; nil where that is too little.
	Spread *stats.Spread
	// Planned is the number of rounds that were started.
	Planned int
	compare.Estimate
	// X is the place on the record's axis, where it has one.
	X float64
	// Ratio compares the cell with Reference, another cell in words such as
	// "block"; nil where there is none.
	Ratio     *compare.Ratio
	Reference string
	// WithoutEffect says of a variant that its switch took no effect.
	WithoutEffect bool
	// Effective is the mode in which the cell really ran; nil where it is not
	// known. Where rounds differ, values are joined by " / ".
	Effective []Setting
	// Costs are what the cell took beside, in the same order in all cells.
	Costs []Cost
	// Latency are curves of latency; nil where none was taken.
	Latency []LatencyCurve
	// Errors say why rounds have no figure.
	Errors []string
	// NotRun says that the cell was left out on purpose, for the reason in Errors.
	NotRun bool
}

// Cost is a figure beside the metric.
type Cost struct {
	Name  string
	Value *float64
}

// LatencyCurve is how latency was distributed.
type LatencyCurve struct {
	// Name is what it is of, such as "read".
	Name string
	// Points ascend.
	Points []Percentile
}

// Percentile is a latency in nanoseconds that Percent of commands stay below.
type Percentile struct {
	Percent, NS float64
}

// Cell returns the cell of a key, nil if there is none.
func (r *Record) Cell(k Key) *Cell {
	for i := range r.Cells {
		if r.Cells[i].Key == k {
			return &r.Cells[i]
		}
	}
	return nil
}

// Unit is the unit in which people read a metric, and how many of its own units
// that is.
func Unit(metric string) (name string, per float64) {
	switch {
	case metric == IOPS:
		return "KIOPS", 1e3
	case metric == BytesPerSecond:
		return "MiB/s", 1 << 20
	case strings.HasSuffix(metric, "_ns"):
		return strings.TrimSuffix(metric, "_ns") + " us", 1e3
	}
	return metric, 1
}
