package report

import (
	"fmt"
	"io"

	"github.com/nvmepass/nvmepass/internal/jobs"
)

// RunBaseline writes published figures beside those of a run. Errors are those
// of w.
func RunBaseline(w io.Writer, r *jobs.Result, p *jobs.Published) error {
	t := runText{r: r, text: text{width: DefaultWidth}}
	t.section(fmt.Sprintf("%s: %s (%s)", ascii(p.Name), ascii(p.Source), ascii(p.Conditions)))
	tab := table{left: 1}
	tab.add("IOPS", "before", "after", "change", "here"+emulated(r.Environment.Emulated))
	for i, before := range p.Before {
		here := ""
		if i == 0 {
			here = "-"
			if v := r.Total.IOPS; v != nil {
				here = fmt.Sprintf("%.0f", *v)
			}
		}
		tab.add(fmt.Sprintf("run %d", i+1), fmt.Sprintf("%.0f", before), fmt.Sprintf("%.0f", p.After[i]), fmt.Sprintf("%+.1f%%", 100*(p.After[i]/before-1)), here)
	}
	tab.write(&t.b)
	_, err := io.WriteString(w, t.b.String())
	return err
}
