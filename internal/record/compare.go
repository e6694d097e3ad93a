package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/nvmepass/nvmepass/internal/compare"
	"github.com/nvmepass/nvmepass/internal/iosetup"
	"github.com/nvmepass/nvmepass/internal/stats"
)

func readCompare(doc []byte, r *Record) error {
	res, err := compare.Decode(bytes.NewReader(doc))
	if err != nil {
		return err
	}
	fillCompare(r, res)
	return nil
}

// Of is the view of a result of any command that was not read from a file.
func Of(name string, result any) (*Record, error) {
	doc, err := json.Marshal(result)
	if err != nil {
		return nil, err
	}
	return Read(name, bytes.NewReader(doc))
}

func fillCompare(r *Record, res *compare.Result) {
	c := &res.Config
	r.ToolVersion, r.Started, r.Interrupted, r.StopReason, r.Warnings = res.ToolVersion, res.Started, res.Interrupted, res.StopReason, res.Warnings
	r.Title = fmt.Sprintf("%d B %s, rule %s, %d rounds of %v after %v warm-up, seed %d", c.BlockSize, c.RW, c.Rule, c.Rounds, c.Runtime, c.Warmup, c.Seed)
	r.environment(&res.Environment, c.Devices)
	for i := range res.Cells {
		r.Cells = append(r.Cells, compareCell(&res.Cells[i]))
	}
	r.Published = publishedTable(&res.Config)
}

// publishedTable is the table in print that has the cells of a comparison.
func publishedTable(c *compare.Config) *Published {
	base, err := compare.Baseline(compare.BaselineNames()[0])
	if err != nil {
		return nil
	}
	p := &Published{Name: base.Name, Source: base.Source, Conditions: base.Conditions}
	for _, d := range c.Depths {
		for _, path := range c.Paths {
			if v, ok := base.IOPS(path, d); ok {
				f := PublishedFigure{Row: d.String(), Column: string(path), Value: v}
				f.Ratio, _ = base.RatioToBlock(path, d)
				p.Figures = append(p.Figures, f)
			}
		}
	}
	if len(p.Figures) == 0 {
		return nil
	}
	return p
}

func compareCell(c *compare.CellResult) Cell {
	cell := Cell{
		Key:     Key{Device: c.Device, Row: c.Depth.String(), Column: string(c.Path), Variant: c.Variant, Metric: IOPS},
		Planned: len(c.Rounds), WithoutEffect: c.WithoutEffect,
		Ratio: c.RatioToBlock, Reference: string(iosetup.Block),
		Costs: costs(c.SubmitPerCall, c.ReapPerCall, c.MeanInFlight, c.UserCPUNSPerIO, c.SystemCPUNSPerIO),
	}
	if c.Variant != "" {
		cell.Ratio, cell.Reference = c.RatioToBase, "as asked for"
	}
	for i := range c.Rounds {
		round := &c.Rounds[i]
		var iops *float64
		if round.Rates != nil {
			iops = round.Rates.IOPS
		}
		cell.round(iops, round.Sample, round.Error, round.Interrupted)
	}
	cell.estimate()
	return cell
}

// estimate derives the cell's figures from its rounds, whatever the record says
// of them.
func (c *Cell) estimate() {
	c.Estimate, c.Spread = compare.Estimate{}, nil
	if m, ok := stats.Median(c.Rounds); ok {
		c.Median = &m
	}
	if s, ok := stats.SpreadOf(c.Rounds); ok {
		iv := s.Interval()
		c.Spread, c.CILow, c.CIHigh = &s, compare.Float(iv.Low), compare.Float(iv.High)
	}
}

// round adds one round to a cell.
func (c *Cell) round(value *float64, s *compare.Sample, problem string, interrupted bool) {
	switch {
	case problem != "":
		if !interrupted {
			if !slices.Contains(c.Errors, problem) {
				c.Errors = append(c.Errors, problem)
			}
		}
	case s != nil && value != nil:
		c.Rounds = append(c.Rounds, *value)
		c.mode(&s.Settings)
	}
}

// mode notes the mode in which a round ran. Where a setting changed between
// rounds, both values are kept.
func (c *Cell) mode(e *iosetup.Effective) {
	doc, err := json.Marshal(e)
	if err != nil {
		return // no value of an Effective is without a JSON form
	}
	settings, err := flatten(doc)
	if err != nil {
		return
	}
	if c.Effective == nil {
		c.Effective = settings
		return
	}
	for i, s := range settings {
		if i < len(c.Effective) && c.Effective[i].Name == s.Name && !strings.Contains(c.Effective[i].Value, s.Value) {
			c.Effective[i].Value += " / " + s.Value
		}
	}
}

func costs(submit, reap, inFlight, user, system *float64) []Cost {
	return []Cost{{"submit/call", submit}, {"reap/call", reap}, {"in flight", inFlight}, {"user ns/IO", user}, {"system ns/IO", system}}
}

// environment copies what every kind of record has.
func (r *Record) environment(e *compare.Environment, devices []string) {
	r.Emulated, r.EmulatedReason = e.Emulated, e.EmulatedReason
	for _, path := range devices {
		d := Device{Path: path}
		for i := range e.Devices {
			if e.Devices[i].Path == path {
				d.Description = describe(&e.Devices[i])
			}
		}
		r.Devices = append(r.Devices, d)
	}
}

func describe(d *compare.Device) string {
	parts := []string{strings.TrimSpace(d.Model)}
	if d.Firmware != "" {
		parts = append(parts, "firmware "+strings.TrimSpace(d.Firmware))
	}
	if d.LBAFormat.DataBytes > 0 {
		parts = append(parts, fmt.Sprintf("LBA %d B", d.LBAFormat.DataBytes))
	}
	if d.LBAFormat.MetadataBytes > 0 {
		parts = append(parts, fmt.Sprintf("%d B metadata, %s", d.LBAFormat.MetadataBytes, d.LBAFormat.MetadataLayout))
	}
	if parts[0] == "" {
		parts = parts[1:]
	}
	return strings.Join(parts, ", ")
}
