package report

import (
	"github.com/nvmepass/nvmepass/internal/compare"
)

// ablation says for each switch of the mode what turning it over alone does to each path.
func (t *text) ablation(device string, n *notes) {
	var variants []string
	seen := map[string]bool{}
	for i := range t.r.Cells {
		if v := t.r.Cells[i].Variant; v != "" && t.r.Cells[i].Device == device && !seen[v] {
			seen[v] = true
			variants = append(variants, v)
		}
	}
	if len(variants) == 0 {
		return
	}
	t.section("Ablation" + t.emulated() + ": IOPS with one switch turned over, as a ratio to the same cell above, paired by round; same: the interval contains 1.00")
	tab := table{left: 2}
	header := []string{"QD_batch", "switch"}
	for _, path := range t.r.Config.Paths {
		header = append(header, ascii(string(path)))
	}
	tab.add(header...)
	for _, depth := range t.r.Config.Depths {
		for _, variant := range variants {
			row := []string{depth.String(), ascii(variant)}
			for _, path := range t.r.Config.Paths {
				c := t.r.Cell(compare.Cell{Device: device, Path: path, Depth: depth, Variant: variant})
				row = append(row, turned(c, n))
			}
			tab.add(row...)
		}
	}
	tab.write(&t.b)
}

// turned writes a variant's ratio to its base. Where the switch did not take effect in any round, the ratio would compare a mode
// with itself, so that this is said instead.
func turned(c *compare.CellResult, n *notes) string {
	switch {
	case c == nil || len(c.Rounds) == 0:
		return "-"
	case c.Measured == 0:
		return "error" + n.mark(c)
	case c.WithoutEffect:
		return "no effect here"
	}
	return ratioText(c.RatioToBase)
}
