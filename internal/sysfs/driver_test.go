package sysfs

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestIOTimeout(t *testing.T) {
	for text, want := range map[string]time.Duration{"": 30 * time.Second, "5\n": 5 * time.Second, "4294967\n": 4294967 * time.Second, "0": 30 * time.Second, "x": 30 * time.Second} {
		root := t.TempDir()
		if text != "" {
			dir := filepath.Join(root, "module", "nvme_core", "parameters")
			require.NoError(t, os.MkdirAll(dir, 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(dir, "io_timeout"), []byte(text), 0o600))
		}
		require.Equal(t, want, FS{Root: root}.IOTimeout(), "%q", text)
	}
}
