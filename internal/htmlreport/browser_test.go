package htmlreport

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/ringtest"
)

// A browser shows every chart and has nothing to say about the page: no error,
// and no resource that the policy refuses.
func TestBrowserShowsThePage(t *testing.T) {
	browser := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			browser = path
			break
		}
	}
	if browser == "" {
		ringtest.Missing(t, "Chromium (the package chromium)", exec.ErrNotFound)
	}
	report, page := render(t, fullRecord("old.json", true), fullRecord("new.json", false), sweepRecord("sweep.json"), runRecord("run.json"))
	dir := t.TempDir()
	file := filepath.Join(dir, "report.html")
	require.NoError(t, os.WriteFile(file, []byte(page), 0o600))
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, browser, "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir="+filepath.Join(dir, "profile"),
		"--enable-logging=stderr", "--dump-dom", "file://"+file)
	var log strings.Builder
	cmd.Stderr = &log
	dom, err := cmd.Output()
	require.NoError(t, err, log.String())
	require.Equal(t, len(report.Charts()), strings.Count(string(dom), "<svg"))
	require.NotContains(t, log.String(), "CONSOLE")
}
