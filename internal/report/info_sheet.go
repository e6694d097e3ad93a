package report

import (
	"fmt"
	"strings"
)

// sheetWidth is the widest line of a sheet in columns.
const sheetWidth = 100

// sheet is text with a key and a value on each line.
type sheet struct {
	b strings.Builder
	// keys is how many columns the keys take.
	keys int
}

// title begins a section.
func (s *sheet) title(format string, args ...any) {
	s.verdict(plain, fmt.Sprintf(format, args...))
}

// verdict is a title in a colour: bad, warn or good.
func (s *sheet) verdict(colour func(string) string, text string) {
	if s.b.Len() > 0 {
		s.b.WriteString("\n")
	}
	wrap(&s.b, colour(ascii(text)), sheetWidth, 2)
}

// row adds one line; a long value goes on below itself. No value is a dash.
func (s *sheet) row(key, value string) {
	if value = ascii(value); value == "" {
		value = "-"
	}
	pad := max(s.keys-len(key), 1) + 1
	wrap(&s.b, strings.Repeat(fixedSpace, 2)+strings.ReplaceAll(key, " ", fixedSpace)+strings.Repeat(fixedSpace, pad)+value, sheetWidth, s.keys+3)
}

// rowf is row with a format.
func (s *sheet) rowf(key, format string, args ...any) { s.row(key, fmt.Sprintf(format, args...)) }

// note adds a remark.
func (s *sheet) note(text string) {
	wrap(&s.b, strings.Repeat(fixedSpace, 2)+"note:"+fixedSpace+ascii(text), sheetWidth, 8)
}

// decimalSize writes a size in bytes with a decimal unit, as drives are sold: 1.92 TB.
func decimalSize(n uint64) string {
	units := []string{"B", "kB", "MB", "GB", "TB", "PB", "EB"}
	v, i := float64(n), 0
	for v >= 999.5 && i < len(units)-1 {
		v, i = v/1000, i+1
	}
	if i == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return significant(v) + " " + units[i]
}

func yesNo(v bool) string {
	if v {
		return "yes"
	}
	return "no"
}

// dash stands for what is not known.
func dash(s string) string {
	if s = ascii(s); s == "" {
		return "-"
	}
	return s
}
