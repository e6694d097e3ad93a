package htmlreport

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"time"

	"github.com/nvmepass/nvmepass/internal/chart"
	"github.com/nvmepass/nvmepass/internal/record"
)

//go:embed page.html.tmpl
var pageTemplate string

//go:embed page.css
var pageCSS string

// Options say what the head of the page tells.
type Options struct {
	// Title is the page's; empty is "nvmepass report".
	Title string
	// ToolVersion is that of the program that writes the page.
	ToolVersion string
	// Generated is when; the zero time leaves it out.
	Generated time.Time
}

// Report is a page with its charts.
type Report struct {
	page   page
	charts []NamedChart
}

type page struct {
	Title, ToolVersion, Generated string
	CSS                           template.CSS
	Emulated                      bool
	Records                       []*record.Record
	Sections                      []*section
	Environment, Config           table
	Problems                      []problem
}

// section is everything about one kind of record and one metric.
type section struct {
	ID, Heading, Lead string
	Emulated          bool
	Bars, Ratios      []plot
	Ablation, Curves  []plot
	Latency           []plot
	Figures           []table
	RatioTables       []table
	Published         []table
	Percentiles       []table
	Costs, Effective  []table
}

// plot is a chart as the page has it.
type plot struct {
	Title string
	SVG   template.HTML
}

// problem is what went wrong in a record.
type problem struct {
	Record   string
	Warnings []string
	Errors   []string
}

var kindHeadings = map[string]string{
	"compare": "Paths compared", "run": "Workload", "nop": "The ring alone", "sweep": "Block sizes across the limit of one command",
}

// New lays out the page of some records.
func New(records []*record.Record, opt Options) (*Report, error) {
	if len(records) == 0 {
		return nil, errors.New("report: no record; give files written with --save or -o json")
	}
	r := &Report{page: page{Title: opt.Title, ToolVersion: opt.ToolVersion, CSS: template.CSS(pageCSS + chart.CSS), Records: records}}
	if r.page.Title == "" {
		r.page.Title = "nvmepass report"
	}
	if !opt.Generated.IsZero() {
		r.page.Generated = opt.Generated.UTC().Format("2006-01-02 15:04 MST")
	}
	for i, g := range groups(records) {
		r.page.Sections = append(r.page.Sections, r.section(i, g))
	}
	for _, rec := range records {
		r.page.Emulated = r.page.Emulated || rec.Emulated
		if p := problems(rec); len(p.Warnings)+len(p.Errors) > 0 {
			r.page.Problems = append(r.page.Problems, p)
		}
	}
	r.page.Environment = settingTable("Environment", records, func(r *record.Record) []record.Setting { return r.Environment })
	r.page.Config = settingTable("Configuration as asked for", records, func(r *record.Record) []record.Setting { return r.Config })
	return r, nil
}

func (r *Report) section(i int, g *group) *section {
	s := &section{ID: fmt.Sprintf("s%d", i+1), Heading: kindHeadings[g.kind], Emulated: g.emulated()}
	unit, _ := record.Unit(g.metric)
	s.Lead = unit
	add := func(to *[]plot, charts []NamedChart) {
		for _, c := range charts {
			c.Name = s.ID + "-" + c.Name
			r.charts = append(r.charts, c)
			*to = append(*to, plot{c.Scene.Title, template.HTML(c.Scene.SVG())}) // package chart escapes it
		}
	}
	add(&s.Bars, g.bars())
	add(&s.Curves, g.curves())
	if !g.variantsOnly() {
		add(&s.Ratios, g.ratios())
		s.RatioTables = g.ratioTables()
	}
	add(&s.Ablation, g.ablation())
	add(&s.Latency, g.latency())
	s.Figures, s.Costs, s.Effective, s.Percentiles = g.figures(), g.costTables(), g.effectiveTables(), g.percentileTable()
	s.Published = g.publishedTables()
	return s
}

// variantsOnly tells whether ratios are those of switches alone.
func (g *group) variantsOnly() bool { return g.kind == "nop" }

func problems(rec *record.Record) problem {
	p := problem{Record: rec.Name, Warnings: rec.Warnings}
	if rec.Interrupted {
		p.Warnings = append([]string{"INTERRUPTED: " + rec.StopReason}, p.Warnings...)
	}
	for i := range rec.Cells {
		for _, e := range rec.Cells[i].Errors {
			k := &rec.Cells[i].Key
			text := fmt.Sprintf("%s %s %s %s: %s", k.Device, k.Row, k.Column, k.Variant, e)
			p.Errors = append(p.Errors, text)
		}
	}
	const most = 40
	if n := len(p.Errors); n > most {
		p.Errors = append(p.Errors[:most:most], fmt.Sprintf("and %d more", n-most))
	}
	return p
}

// Charts are the drawings of the page, in its order, with different names.
func (r *Report) Charts() []NamedChart { return r.charts }

var pageParsed = template.Must(template.New("page").Parse(pageTemplate))

// Write writes the page, or nothing if it cannot be rendered.
func (r *Report) Write(w io.Writer) error {
	var b bytes.Buffer
	if err := pageParsed.Execute(&b, &r.page); err != nil {
		return fmt.Errorf("render report: %w", err)
	}
	_, err := w.Write(b.Bytes())
	return err
}
