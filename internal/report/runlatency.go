package report

import (
	"strconv"
	"time"

	"github.com/nvmepass/nvmepass/internal/latency"
)

// latencies has a column for each direction of each device and of all.
func (t *runText) latencies() {
	type column struct {
		name string
		s    *latency.Summary
	}
	var columns []column
	for i := range t.r.Devices {
		for _, d := range t.r.Devices[i].Directions {
			columns = append(columns, column{ascii(t.r.Devices[i].Device) + " " + d.Direction, d.Latency})
		}
	}
	if len(t.r.Devices) > 1 {
		for _, d := range t.r.Total.Directions {
			columns = append(columns, column{"total " + d.Direction, d.Latency})
		}
	}
	if !t.r.Config.Latency {
		return
	}
	from := "submission of its batch"
	if t.r.Config.RateIOPS > 0 || t.r.Config.Rate > 0 {
		from = "the time at which the rate had it due"
	}
	t.section("Latency" + t.emulated() + ": from " + from + " to the reaping of its batch")
	// One table for a few columns, so that it fits any number of devices.
	const most = 4
	for len(columns) > 0 {
		n := min(most, len(columns))
		tab := table{left: 1}
		header := []string{""}
		for _, c := range columns[:n] {
			header = append(header, c.name)
		}
		tab.add(header...)
		line := func(name string, value func(s *latency.Summary) string) {
			fields := []string{name}
			for _, c := range columns[:n] {
				v := "-"
				if c.s != nil {
					v = value(c.s)
				}
				fields = append(fields, v)
			}
			tab.add(fields...)
		}
		line("min", func(s *latency.Summary) string { return nanoseconds(float64(s.MinNS)) })
		line("mean", func(s *latency.Summary) string { return nanoseconds(s.MeanNS) })
		line("stddev", func(s *latency.Summary) string { return nanoseconds(s.StddevNS) })
		for _, p := range latency.Percents() {
			line("p"+strconv.FormatFloat(p, 'f', -1, 64), func(s *latency.Summary) string {
				v, ok := s.At(p)
				if !ok {
					return "-"
				}
				return nanoseconds(float64(v))
			})
		}
		line("max", func(s *latency.Summary) string { return nanoseconds(float64(s.MaxNS)) })
		tab.write(&t.b)
		columns = columns[n:]
	}
}

// nanoseconds writes a time in the unit that suits it.
func nanoseconds(ns float64) string {
	const most = 0.9995 // of a unit, which three digits round up to one
	switch {
	case ns >= most*float64(time.Second):
		return significant(ns/1e9) + " s"
	case ns >= most*float64(time.Millisecond):
		return significant(ns/1e6) + " ms"
	case ns >= most*float64(time.Microsecond):
		return significant(ns/1e3) + " us"
	}
	return significant(ns) + " ns"
}
