package report

import (
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/nvmepass/nvmepass/internal/jobs"
)

// RunLive writes the lines of a run while it goes on, in t/io_uring's form. On a
// terminal it rewrites one line, which also tells how much time is left;
// elsewhere it writes a line for each sample. Errors of its writer are ignored.
type RunLive struct{ p *Progress }

// NewRunLive returns a RunLive that writes to w; see NewProgress.
func NewRunLive(w io.Writer, isTTY bool, width int) *RunLive {
	return &RunLive{NewProgress(w, isTTY, width)}
}

// Update shows one sample.
func (l *RunLive) Update(s jobs.Live) {
	line := liveLine(&s)
	if !l.p.isTTY {
		_, _ = io.WriteString(l.p.w, line+"\n")
		return
	}
	if s.Share > 0 {
		line = fmt.Sprintf("%3d%%  %s left  %s", int(s.Share*100), duration(s.Remaining), line)
	}
	l.p.rewrite(line)
}

// Finish clears the terminal's line.
func (l *RunLive) Finish() { l.p.Finish() }

func liveLine(s *jobs.Live) string {
	line := fmt.Sprintf("IOPS=%s, BW=%s, IOS/call=%s, inflight=%.0f", iopsText(s.IOPS), bandwidthText(s.BytesPerSecond),
		perCall(s.SubmitPerCall, s.ReapPerCall), s.InFlight)
	if s.Failed > 0 {
		line += ", failed=" + strconv.FormatUint(s.Failed, 10)
	}
	if s.Warmup {
		line += " (warm-up)"
	}
	return line
}

// iopsText and bandwidthText change units where t/io_uring does.
func iopsText(v float64) string {
	switch {
	case v >= 1e6:
		return fmt.Sprintf("%.2fM", v/1e6)
	case v >= 1e5:
		return fmt.Sprintf("%.2fK", v/1e3)
	}
	return fmt.Sprintf("%.0f", v)
}

func bandwidthText(bytes float64) string {
	mib := bytes / (1 << 20)
	switch {
	case mib > 2000:
		return fmt.Sprintf("%.2fGiB/s", mib/1024)
	case mib < 10:
		return significant(mib) + "MiB/s"
	}
	return fmt.Sprintf("%.0fMiB/s", mib)
}

func perCall(submit, reap float64) string {
	return fmt.Sprintf("%.0f/%.0f", math.Round(submit), math.Round(reap))
}
