package report

import (
	"io"
	"strings"

	"github.com/nvmepass/nvmepass/internal/verify"
)

// Verify writes a verification's result: see [verify.Text].
func Verify(w io.Writer, r *verify.Result) error {
	var b, out strings.Builder
	if err := verify.Text(&b, r); err != nil {
		return err
	}
	worse := map[string]bool{"mismatched": r.Mismatched > 0, "failed": r.Failed > 0, "interrupted:": r.Interrupted}
	for line := range strings.Lines(b.String()) {
		first, _, _ := strings.Cut(line, " ")
		if worse[first] {
			line = bad(strings.TrimSuffix(line, "\n")) + "\n"
		}
		out.WriteString(line)
	}
	return emit(w, out.String())
}
