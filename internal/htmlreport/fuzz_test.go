package htmlreport

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/record"
)

var (
	elements   = regexp.MustCompile(`<\s*/?\s*([a-zA-Z!][a-zA-Z0-9-]*)`)
	attributes = regexp.MustCompile(`(?i)\s(on[a-z]+|src|href|xlink:href|action|formaction|background|poster|data)\s*=`)
)

// plainElements are the elements of a page whose record holds nothing hostile.
func plainElements(t testing.TB) map[string]bool {
	r, err := New([]*record.Record{fullRecord("a.json", true), sweepRecord("sweep.json"), runRecord("run.json")}, Options{ToolVersion: "v2", Generated: time.Unix(1e9, 0)})
	require.NoError(t, err)
	var b strings.Builder
	require.NoError(t, r.Write(&b))
	known := map[string]bool{}
	for _, m := range elements.FindAllStringSubmatch(b.String(), -1) {
		known[strings.ToLower(m[1])] = true
	}
	return known
}

// FuzzPage: whatever a record file holds, the page has the elements of this
// package alone, no script, no handler and no reference to anywhere else.
func FuzzPage(f *testing.F) {
	cell := `"device":"d","path":"block","qd_batch":"8_2","rounds":[{"round":1,"rates":{"iops":1e5},"sample":{"ok":1}}],"iops":{"median":1e5,"ci_low":9e4,"ci_high":2e5}`
	for _, schema := range record.Schemas() {
		for _, text := range []string{"d", `\u003cscript\u003ealert(1)\u003c/script\u003e`, `\" onload=alert(1) x=\"`, `javascript:alert(1)`, `]]\u003e--\u003e\u003c!--`, `{{.}}`, `\u0000\ufffe\u202e`, `&amp;#x3c;b`} {
			f.Add(`{"schema":"` + schema + `","tool_version":"` + text + `","config":{"devices":["d"],"qd_batch":"8_2","paths":["block"],"depths":["8_2"],"rw":"` + text + `"},"environment":{"kernel":"` + text +
				`","devices":[{"path":"d","model":"` + text + `","serial":"` + text + `"}]},"warnings":["` + text + `"],"cells":[{` + cell + `}],"devices":[{"device":"` + text + `","iops":1,"iops_samples":{"count":5,"mean":4}}]}`)
		}
	}
	known := plainElements(f)
	f.Fuzz(func(t *testing.T, doc string) {
		r, err := record.Read("a\"><b>.json", strings.NewReader(doc))
		if err != nil {
			return
		}
		page, err := New([]*record.Record{r}, Options{ToolVersion: "v2", Generated: time.Unix(1e9, 0)})
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		var b strings.Builder
		require.NoError(t, page.Write(&b))
		out := b.String()
		for _, m := range elements.FindAllStringSubmatch(out, -1) {
			require.True(t, known[strings.ToLower(m[1])], "<%s> from %q", m[1], doc)
		}
		for _, tag := range regexp.MustCompile(`<[a-zA-Z][^>]*>`).FindAllString(out, -1) {
			if m := attributes.FindString(regexp.MustCompile(`"[^"]*"`).ReplaceAllString(tag, `""`)); m != "" {
				require.Equal(t, " href=", m, tag)
				require.Contains(t, tag, `href="data:,"`)
			}
		}
	})
}
