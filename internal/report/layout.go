package report

import "strings"

// table is a list of rows of equal length; the first row is the header.
type table struct {
	rows [][]string
	// left is the number of leading columns that are left-aligned; the others are right-aligned.
	left int
}

func (t *table) add(fields ...string) { t.rows = append(t.rows, fields) }

// write appends the table to b, two spaces between columns, no space at the end of a line.
func (t *table) write(b *strings.Builder) {
	var widths []int
	for _, row := range t.rows {
		for i, field := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], width(field))
		}
	}
	for _, row := range t.rows {
		var line strings.Builder
		for i, field := range row {
			if i > 0 {
				line.WriteString("  ")
			}
			pad := strings.Repeat(" ", widths[i]-width(field))
			if i < t.left {
				line.WriteString(field + pad)
			} else {
				line.WriteString(pad + field)
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
}

// fixedSpace is a space at which wrap does not break. No other text holds it, since ascii escapes it.
const fixedSpace = "\x1f"

// maxUnbroken is the longest item that unbroken keeps in one piece.
const maxUnbroken = 36

// unbroken joins items with commas, such that wrap does not break inside the short ones.
func unbroken(items ...string) string {
	out := make([]string, len(items))
	for i, item := range items {
		if out[i] = item; len(item) <= maxUnbroken {
			out[i] = strings.ReplaceAll(item, " ", fixedSpace)
		}
	}
	return strings.Join(out, ", ")
}

// wrap appends text to b in lines of at most the given columns, broken at spaces where there are any. Lines after the first are
// indented by indent spaces.
func wrap(b *strings.Builder, text string, columns, indent int) {
	column := 0
	newline := func() {
		b.WriteString("\n" + strings.Repeat(" ", indent))
		column = indent
	}
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
		case column+1+width(word) <= columns:
			b.WriteString(" ")
			column++
		default:
			newline()
		}
		word = strings.ReplaceAll(word, fixedSpace, " ")
		for room := columns - column; width(word) > room; room = columns - column {
			b.WriteString(word[:room])
			word = word[room:]
			newline()
		}
		b.WriteString(word)
		column += width(word)
	}
	b.WriteString("\n")
}
