package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/nvmepass/nvmepass/internal/compare"
)

// defaultTerminalWidth serves where a terminal does not tell its width.
const defaultTerminalWidth = 80

// Progress shows how far a comparison is. On a terminal it rewrites one line before and after each step; elsewhere it writes a
// line after each round. It shows no figures. Errors of its writer are ignored, since progress is not worth a failed run.
type Progress struct {
	w     io.Writer
	isTTY bool
	width int
	shown int // columns of the line on the terminal that may need to be overwritten
}

// NewProgress returns a Progress that writes to w. The width is the terminal's in columns, 0 where it is not known.
func NewProgress(w io.Writer, isTTY bool, width int) *Progress {
	if width <= 0 {
		width = defaultTerminalWidth
	}
	return &Progress{w: w, isTTY: isTTY, width: width}
}

// Update shows one state; it fits as the progress function of [compare.Run].
func (p *Progress) Update(s compare.Progress) {
	if p.isTTY {
		p.rewrite(statusLine(s))
		return
	}
	if s.Ended && s.Steps > 0 && s.Rounds > 0 && s.Done%(s.Steps/s.Rounds) == 0 {
		_, _ = fmt.Fprintf(p.w, "round %d of %d done, %d of %d cells%s, %s left\n",
			s.Step.Round, s.Rounds, s.Done, s.Steps, failures(s.Failed), duration(s.Remaining))
	}
}

// Finish clears the terminal's line, so that what follows starts on an empty one. It may be called more than once.
func (p *Progress) Finish() {
	if p.isTTY && p.shown > 0 {
		p.rewrite("")
		_, _ = io.WriteString(p.w, "\r")
	}
}

// statusLine is ordered by importance, because a narrow terminal cuts its end.
func statusLine(s compare.Progress) string {
	percent := 0
	if s.Steps > 0 {
		percent = s.Done * 100 / s.Steps
	}
	return fmt.Sprintf("%3d%%  %s left  round %d/%d  %s%s", percent, duration(s.Remaining), s.Step.Round, s.Rounds,
		ascii(s.Step.String()), failures(s.Failed))
}

func failures(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", %d failed", n)
}

// rewrite replaces the terminal's line. The last column stays free: a character there makes some terminals wrap.
func (p *Progress) rewrite(line string) {
	line = line[:min(len(line), max(p.width-1, 0))]
	_, _ = io.WriteString(p.w, "\r"+line+strings.Repeat(" ", max(p.shown-len(line), 0)))
	p.shown = len(line)
}
