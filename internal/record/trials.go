package record

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/nvmepass/nvmepass/internal/nopbench"
	"github.com/nvmepass/nvmepass/internal/sweep"
	"github.com/nvmepass/nvmepass/internal/trial"
	"github.com/nvmepass/nvmepass/internal/units"
)

func readNop(doc []byte, r *Record) error {
	res, err := nopbench.Decode(bytes.NewReader(doc))
	if err != nil {
		return err
	}
	c := &res.Config
	r.ToolVersion, r.Warnings = res.ToolVersion, res.Warnings
	r.outcome(&res.Outcome)
	r.Title = fmt.Sprintf("%s, rule %s, %s", c.Op, c.Rule, settings(&c.Settings))
	r.environment(&res.Environment, nil)
	for i := range res.Cells {
		c := &res.Cells[i]
		cell := Cell{
			Key:   Key{Row: c.Depth.String(), Column: string(c.Op), Variant: c.Variant, Metric: IOPS},
			Ratio: c.RatioToBase, Reference: "as asked for", WithoutEffect: c.WithoutEffect, Costs: trialCosts(&c.Summary),
		}
		cell.trials(c.Rounds, func(r *trial.Round) *float64 { return r.IOPS })
		r.Cells = append(r.Cells, cell)
	}
	if base, err := nopbench.Baseline(nopbench.BaselineNames()[0]); err == nil {
		r.Published = &Published{Name: base.Name, Source: base.Source, Conditions: base.Conditions, Figures: []PublishedFigure{
			{Row: "before", Column: string(nopbench.NOP), Value: base.Before}, {Row: "after", Column: string(nopbench.NOP), Value: base.After, Ratio: base.After / base.Before},
		}}
	}
	return nil
}

func readSweep(doc []byte, r *Record) error {
	res, err := sweep.Decode(bytes.NewReader(doc))
	if err != nil {
		return err
	}
	c := &res.Config
	r.ToolVersion, r.Warnings = res.ToolVersion, res.Warnings
	r.outcome(&res.Outcome)
	r.Title = fmt.Sprintf("random reads by block size, %d in flight, %s", c.QD, settings(&c.Settings))
	r.environment(&res.Environment, []string{c.Device})
	r.X = "bytes"
	if limit := res.Limits.OneCommand; limit > 0 {
		r.Marks = []Mark{{float64(limit), "one command: " + units.FormatSize(int64(min(limit, 1<<62)))}}
	}
	for i := range res.Cells {
		c := &res.Cells[i]
		cell := Cell{
			Key: Key{Device: res.Config.Device, Row: units.FormatSize(int64(c.BlockSize)), Column: string(c.Path), Metric: BytesPerSecond},
			X:   float64(c.BlockSize), Costs: append(trialCosts(&c.Summary), Cost{"commands/read", new(float64(c.Commands))}),
		}
		cell.trials(c.Rounds, func(r *trial.Round) *float64 { return r.BytesPerSecond })
		if c.NotRun != "" {
			cell.NotRun, cell.Errors = true, append(cell.Errors, "not run: "+c.NotRun)
		}
		r.Cells = append(r.Cells, cell)
	}
	if base, err := sweep.Baseline(sweep.BaselineNames()[0]); err == nil {
		r.Published = &Published{Name: base.Name, Source: base.Source, Conditions: base.Conditions + ", where one command moved at most " + units.FormatSize(int64(base.Limit))}
		for i, size := range base.Sizes {
			for j, p := range base.Paths {
				r.Published.Figures = append(r.Published.Figures, PublishedFigure{Row: units.FormatSize(int64(size)), Column: string(p), Value: base.MiBps[i][j] * (1 << 20)})
			}
		}
	}
	return nil
}

// outcome copies what every record of interleaved rounds has.
func (r *Record) outcome(o *trial.Outcome) {
	r.Started, r.Interrupted, r.StopReason = o.Started, o.Interrupted, o.StopReason
}

func settings(s *trial.Settings) string {
	return strconv.Itoa(s.Rounds) + fmt.Sprintf(" rounds of %v after %v warm-up, seed %d", s.Runtime, s.Warmup, s.Seed)
}

func trialCosts(s *trial.Summary) []Cost {
	return costs(s.SubmitPerCall, s.ReapPerCall, s.MeanInFlight, s.UserCPUNSPerIO, s.SystemCPUNSPerIO)
}

// trials adds all rounds of a cell.
func (c *Cell) trials(rounds []trial.Round, value func(*trial.Round) *float64) {
	c.Planned = len(rounds)
	for i := range rounds {
		c.round(value(&rounds[i]), rounds[i].Sample, rounds[i].Error, rounds[i].Interrupted)
	}
	c.estimate()
}
