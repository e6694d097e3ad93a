package ringtest

import (
	"os"
	"testing"
)

// Missing ends a test that lacks something of the machine: it is skipped with
// what is missing, but in CI, where everything has to be there, it fails.
func Missing(tb testing.TB, what string, err error) {
	tb.Helper()
	if os.Getenv("CI") != "" {
		tb.Fatalf("needs %s: %v", what, err)
	}
	tb.Skipf("needs %s: %v", what, err)
}
