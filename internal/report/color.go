package report

import (
	"io"
	"strings"
)

// Marks stand around text that a terminal shows in colour. No other text holds
// them, since ascii escapes them, and they take no room.
const (
	markBad  = "\x01"
	markWarn = "\x02"
	markGood = "\x03"
	markEnd  = "\x04"
)

func plain(s string) string { return s }
func bad(s string) string   { return markBad + s + markEnd }
func warn(s string) string  { return markWarn + s + markEnd }
func good(s string) string  { return markGood + s + markEnd }

var (
	plainText = strings.NewReplacer(markBad, "", markWarn, "", markGood, "", markEnd, "")
	// Red, yellow and green in whatever shade the terminal's user chose for them.
	colourText = strings.NewReplacer(markBad, "\x1b[31m", markWarn, "\x1b[33m", markGood, "\x1b[32m", markEnd, "\x1b[0m")
)

// width is how many columns s takes.
func width(s string) int {
	n := len(s)
	for _, c := range []byte(s) {
		if c >= markBad[0] && c <= markEnd[0] {
			n--
		}
	}
	return n
}

type coloured struct{ io.Writer }

// Coloured returns a writer to w on which text has its verdicts in colour: red for
// what is worse or failed, yellow for doubt, green for better. It is for text; other
// formats have no colour on any writer.
func Coloured(w io.Writer) io.Writer { return coloured{w} }

// emit writes text that may hold marks.
func emit(w io.Writer, text string) error {
	if c, ok := w.(coloured); ok {
		_, err := io.WriteString(c.Writer, colourText.Replace(text))
		return err
	}
	_, err := io.WriteString(w, plainText.Replace(text))
	return err
}
