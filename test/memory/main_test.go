// Package memory holds tests of what the library takes from the kernel and gives
// back, on the machine itself: /dev/null takes its commands.
package memory

import (
	"testing"

	"github.com/nvmepass/nvmepass/internal/ringtest"
	"github.com/nvmepass/nvmepass/internal/unclosed/unclosedtest"
)

// TestMain fails the tests if they leave something open.
func TestMain(m *testing.M) { unclosedtest.Main(m) }

func missing(t *testing.T, what string, err error) {
	t.Helper()
	ringtest.Missing(t, what, err)
}
