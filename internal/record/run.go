package record

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"github.com/nvmepass/nvmepass/internal/compare"
	"github.com/nvmepass/nvmepass/internal/jobs"
	"github.com/nvmepass/nvmepass/internal/stats"
)

// allDevices is the device of a run's sum.
const allDevices = "all devices"

func readRun(doc []byte, r *Record) error {
	res, err := jobs.Decode(bytes.NewReader(doc))
	if err != nil {
		return err
	}
	c := &res.Config
	r.ToolVersion, r.Started, r.Interrupted, r.Warnings = res.ToolVersion, res.Started, res.Interrupted, res.Warnings
	if r.Interrupted {
		r.StopReason = "from outside"
	}
	r.Title = fmt.Sprintf("%d B %s, rule %s, numjobs %d, %v after %v warm-up, seed %d", c.BlockSize, c.RW, c.Rule, c.Jobs, c.Runtime, c.Warmup, c.Seed)
	r.environment(&res.Environment, c.Devices)
	for i := range res.Devices {
		r.Cells = append(r.Cells, runCell(res, res.Devices[i].Device, &res.Devices[i].Figures))
	}
	if len(res.Devices) > 1 {
		r.Devices = append(r.Devices, Device{Path: allDevices})
		r.Cells = append(r.Cells, runCell(res, allDevices, &res.Total))
	}
	return nil
}

// runCell is one device of a run. Its rounds are the seconds of the window, of
// which the record keeps mean and deviation.
func runCell(res *jobs.Result, device string, f *jobs.Figures) Cell {
	c := &res.Config
	cell := Cell{
		Key:      Key{Device: device, Row: c.Depth.String(), Column: string(c.Path), Metric: IOPS},
		Estimate: compare.Estimate{Median: f.IOPS},
	}
	if s := f.Samples; s != nil {
		cell.Planned = s.Count
		if sp, ok := stats.SpreadOfMoments(s.Count, s.Mean, s.Stddev); ok {
			cell.Spread = &sp
			iv := sp.Interval()
			cell.CILow, cell.CIHigh = compare.Float(iv.Low), compare.Float(iv.High)
		}
	}
	if g := f.Ring; g != nil {
		cell.Costs = costs(g.SubmitPerCall, g.ReapPerCall, g.MeanInFlight, g.UserCPUNSPerIO, g.SystemCPUNSPerIO)
	}
	for _, d := range f.Directions {
		if d.Latency == nil {
			continue
		}
		curve := LatencyCurve{Name: d.Direction}
		for _, p := range d.Latency.Percentiles {
			curve.Points = append(curve.Points, Percentile{p.Percent, float64(p.NS)})
		}
		cell.Latency = append(cell.Latency, curve)
	}
	for i := range res.Jobs {
		j := &res.Jobs[i]
		if device != allDevices && !slices.Contains(j.Devices, device) {
			continue
		}
		cell.mode(&j.Settings)
		if j.Error != "" && !slices.Contains(cell.Errors, j.Error) {
			cell.Errors = append(cell.Errors, j.Error)
		}
	}
	for _, text := range slices.Sorted(maps.Keys(res.Errors)) {
		cell.Errors = append(cell.Errors, fmt.Sprintf("%d commands failed: %s", res.Errors[text], text))
	}
	return cell
}
