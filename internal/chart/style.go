package chart

import (
	"strconv"
	"strings"
)

// series is the number of colours, after which they begin anew.
const series = 8

// light are the colours of a chart in a file by itself, where many programs
// know no custom properties.
var light = strings.NewReplacer(
	"var(--ink)", "#1d2733", "var(--muted)", "#5d6b7a", "var(--rule)", "#d8dee6", "var(--paper)", "#ffffff",
	"var(--s0)", "#2f6db5", "var(--s1)", "#d9772b", "var(--s2)", "#2a9371", "var(--s3)", "#8059bd",
	"var(--s4)", "#c4476a", "var(--s5)", "#8a7a1f", "var(--s6)", "#3a9db5", "var(--s7)", "#7b8794",
)

// CSS styles charts with the custom properties --ink, --muted, --rule, --paper
// and --s0 to --s7.
const CSS = `.chart text{font-size:12px;font-family:system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;fill:var(--ink)}
.chart .title{font-size:14px;font-weight:600}
.chart .muted{fill:var(--muted)}
.chart .small{font-size:11px;fill:var(--muted)}
.chart .strong{font-weight:600}
.chart .paper{fill:var(--paper)}
.chart .grid{stroke:var(--rule);stroke-width:1}
.chart .axis{stroke:var(--muted);stroke-width:1}
.chart .one{stroke:var(--ink);stroke-width:1;stroke-dasharray:4 3}
.chart .mark{stroke:var(--s4);stroke-width:1.5;stroke-dasharray:5 4}
.chart .whisker{stroke:var(--ink);stroke-width:1.3}
.chart .hollow{fill:var(--paper);stroke:var(--ink);stroke-width:1.5}
.chart .f0{fill:var(--s0)}.chart .f1{fill:var(--s1)}.chart .f2{fill:var(--s2)}.chart .f3{fill:var(--s3)}.chart .f4{fill:var(--s4)}.chart .f5{fill:var(--s5)}.chart .f6{fill:var(--s6)}.chart .f7{fill:var(--s7)}
.chart polyline,.chart .l{fill:none;stroke-width:2}
.chart .faint{stroke-width:1.3;opacity:.45}
.chart .l0{stroke:var(--s0)}.chart .l1{stroke:var(--s1)}.chart .l2{stroke:var(--s2)}.chart .l3{stroke:var(--s3)}.chart .l4{stroke:var(--s4)}.chart .l5{stroke:var(--s5)}.chart .l6{stroke:var(--s6)}.chart .l7{stroke:var(--s7)}
`

func fill(i int) string   { return "f" + strconv.Itoa(i%series) }
func stroke(i int) string { return "l" + strconv.Itoa(i%series) }
