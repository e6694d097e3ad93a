package compare

import (
	"github.com/nvmepass/nvmepass/internal/iosetup"
	"github.com/nvmepass/nvmepass/internal/stats"
)

// aggregate derives everything that follows from the rounds.
func (r *Result) aggregate() {
	r.Totals = Counts{}
	for i := range r.Cells {
		cell := &r.Cells[i]
		cell.aggregate()
		for j := range cell.Rounds {
			if s := cell.Rounds[j].Sample; s != nil {
				r.Totals.add(s.Run)
			}
		}
	}
	for i := range r.Cells {
		cell := &r.Cells[i]
		if cell.Variant != "" {
			if base := r.Cell(Cell{Device: cell.Device, Path: cell.Path, Depth: cell.Depth}); base != nil {
				cell.RatioToBase = pairedRatio(cell, base)
				cell.WithoutEffect = ranAlike(cell, base)
			}
			continue
		}
		if cell.Path == iosetup.Block {
			continue
		}
		if block := r.Cell(Cell{Device: cell.Device, Path: iosetup.Block, Depth: cell.Depth}); block != nil {
			cell.RatioToBlock = pairedRatio(cell, block)
		}
	}
	r.Warnings = r.warnings()
}

func (c *CellResult) aggregate() {
	c.Measured = 0
	for i := range c.Rounds {
		if c.Rounds[i].used() {
			c.Measured++
		}
	}
	iops := c.collect(func(r *Round) *float64 { return r.Rates.IOPS })
	c.IOPS = Estimate{Median: median(iops)}
	if iv, ok := stats.RateInterval(iops); ok {
		c.IOPS.CILow, c.IOPS.CIHigh = &iv.Low, &iv.High
	}
	c.BytesPerSecond = median(c.collect(func(r *Round) *float64 { return r.Rates.BytesPerSecond }))
	c.SubmitPerCall = median(c.collect(func(r *Round) *float64 { return r.Sample.SubmitPerCall }))
	c.ReapPerCall = median(c.collect(func(r *Round) *float64 { return r.Sample.ReapPerCall }))
	c.MeanInFlight = median(c.collect(func(r *Round) *float64 { return r.Sample.MeanInFlight }))
	c.UserCPUNSPerIO = median(c.collect(func(r *Round) *float64 { return r.Rates.UserCPUNSPerIO }))
	c.SystemCPUNSPerIO = median(c.collect(func(r *Round) *float64 { return r.Rates.SystemCPUNSPerIO }))
}

// collect returns one figure of each used round that has it.
func (c *CellResult) collect(figure func(*Round) *float64) []float64 {
	var xs []float64
	for i := range c.Rounds {
		if r := &c.Rounds[i]; r.used() {
			if v := figure(r); v != nil {
				xs = append(xs, *v)
			}
		}
	}
	return xs
}

func median(xs []float64) *float64 {
	m, ok := stats.Median(xs)
	if !ok {
		return nil
	}
	return &m
}

// pairedRatio divides cell by block in every round that has both; nil when there is none.
func pairedRatio(cell, block *CellResult) *Ratio {
	base := map[int]float64{}
	for i := range block.Rounds {
		if r := &block.Rounds[i]; r.used() && r.Rates.IOPS != nil {
			base[r.Round] = *r.Rates.IOPS
		}
	}
	var rates, bases []float64
	for i := range cell.Rounds {
		r := &cell.Rounds[i]
		if !r.used() || r.Rates.IOPS == nil {
			continue
		}
		if b, ok := base[r.Round]; ok {
			rates, bases = append(rates, *r.Rates.IOPS), append(bases, b)
		}
	}
	ratio, ok := stats.PairedRatio(rates, bases)
	if !ok {
		return nil
	}
	out := &Ratio{Estimate: Estimate{Median: &ratio.Median}, Pairs: len(rates), Verdict: stats.Same(ratio)}
	if ratio.HasInterval {
		out.CILow, out.CIHigh = &ratio.Interval.Low, &ratio.Interval.High
	}
	return out
}

// ranAlike tells whether two cells have the same effective settings in all of their measured rounds.
func ranAlike(a, b *CellResult) bool {
	var first *iosetup.Effective
	for _, c := range []*CellResult{a, b} {
		for i := range c.Rounds {
			if !c.Rounds[i].used() {
				continue
			}
			s := &c.Rounds[i].Sample.Settings
			if first == nil {
				first = s
			} else if !first.Equal(s) {
				return false
			}
		}
	}
	return first != nil
}
