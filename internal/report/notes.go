package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nvmepass/nvmepass/internal/compare"
)

// maxErrorsPerCell bounds how many different errors of one cell are told.
const maxErrorsPerCell = 3

// notes are the numbered remarks under a table. Cells with the same remark share its number.
type notes struct {
	texts []string
	cells [][]string
}

// add returns the number of the remark, from 1.
func (n *notes) add(cell, text string) int {
	i := slices.Index(n.texts, text)
	if i < 0 {
		i = len(n.texts)
		n.texts, n.cells = append(n.texts, text), append(n.cells, nil)
	}
	n.cells[i] = append(n.cells[i], cell)
	return i + 1
}

// mark returns the reference that follows a cell's figure, such as "[2]", or nothing where there is no remark.
func (n *notes) mark(c *compare.CellResult) string {
	text := remark(c)
	if text == "" {
		return ""
	}
	return fmt.Sprintf("[%d]", n.add(strings.TrimSpace(c.Depth.String()+" "+string(c.Path)+" "+c.Variant), text))
}

func (n *notes) write(b *strings.Builder, width int) {
	for i, text := range n.texts {
		wrap(b, fmt.Sprintf("[%d] %s: %s", i+1, ascii(strings.Join(n.cells[i], ", ")), ascii(text)), width, 4)
	}
}

// remark says why rounds of a cell have no figure and which commands failed; it is empty when all went well. Rounds that were
// only cut short by the end of the run are no fault of the cell and not told.
func remark(c *compare.CellResult) string {
	var parts []string
	failed, total := 0, uint64(0)
	var reasons []string
	byText := map[string]uint64{}
	for i := range c.Rounds {
		r := &c.Rounds[i]
		if r.Error != "" && !r.Interrupted {
			failed++
			if !slices.Contains(reasons, r.Error) {
				reasons = append(reasons, r.Error)
			}
		}
		if r.Sample != nil {
			total += r.Sample.Run.Failed
			for text, count := range r.Sample.Errors {
				byText[text] += count
			}
		}
	}
	if failed > 0 {
		parts = append(parts, fmt.Sprintf("%d of %d rounds failed: %s", failed, len(c.Rounds), some(reasons)))
	}
	if total > 0 {
		texts := slices.SortedFunc(maps.Keys(byText), func(x, y string) int {
			if byText[x] != byText[y] {
				if byText[x] > byText[y] {
					return -1
				}
				return 1
			}
			return strings.Compare(x, y)
		})
		for i, text := range texts {
			texts[i] = fmt.Sprintf("%s x %d", text, byText[text])
		}
		part := fmt.Sprintf("%d commands failed", total)
		if len(texts) > 0 {
			part += ": " + some(texts)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "; ")
}

func some(texts []string) string {
	more := ""
	if len(texts) > maxErrorsPerCell {
		more = fmt.Sprintf(" and %d more", len(texts)-maxErrorsPerCell)
		texts = texts[:maxErrorsPerCell]
	}
	return strings.Join(texts, ", ") + more
}
