package report

import (
	"encoding/csv"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/diff"
	"github.com/nvmepass/nvmepass/internal/record"
)

// FuzzDiff: whatever two record files hold, they are compared or refused; each
// cell has a verdict, the text is plain, and the CSV is rectangular.
func FuzzDiff(f *testing.F) {
	doc := func(schema, text, rates string) string {
		return `{"schema":"` + schema + `","tool_version":"` + text + `","config":{"devices":["d"],"qd_batch":"8_2","paths":["block"],"depths":["8_2"]},"environment":{"kernel":"` + text + `","devices":[{"path":"d","model":"` + text +
			`"}]},"warnings":["` + text + `"],"cells":[{"device":"d","path":"block","qd_batch":"8_2","rounds":[` + rates + `]}]}`
	}
	round := `{"round":1,"rates":{"iops":1e5},"sample":{"ok":1}},{"round":2,"rates":{"iops":1.1e5},"sample":{"ok":1}},{"round":3,"rates":{"iops":0.9e5},"sample":{"ok":1}}`
	for _, schema := range record.Schemas() {
		f.Add(doc(schema, "x", round), doc(schema, `\u001b[2J\u202e`, strings.ReplaceAll(round, "e5", "e300")))
		f.Add(doc(schema, `\n\r\t\u0000`, strings.ReplaceAll(round, "1e5", "-1")), doc(schema, "é", ""))
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		old, err := record.Read("old\x1b.json", strings.NewReader(a))
		if err != nil {
			return
		}
		updated, err := record.Read("new.json", strings.NewReader(b))
		if err != nil {
			return
		}
		r, err := diff.Compare(old, updated, diff.Options{})
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		for _, c := range r.Cells {
			require.Contains(t, diff.Verdicts(), c.Verdict)
		}
		var text, doc, table strings.Builder
		require.NoError(t, DiffText(&text, r))
		requirePrintable(t, text.String())
		require.NoError(t, DiffJSON(&doc, r))
		require.True(t, json.Valid([]byte(doc.String())))
		require.NoError(t, DiffCSV(&table, r))
		_, err = csv.NewReader(strings.NewReader(table.String())).ReadAll()
		require.NoError(t, err)
	})
}
