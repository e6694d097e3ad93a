// Package unclosedtest fails the tests of a package that leave something open.
package unclosedtest

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"testing"

	"github.com/nvmepass/nvmepass/internal/unclosed"
)

// Main runs the tests of a package and ends the process, as m.Run does in a
// TestMain. It fails if a device, queue, ring or arena that they made is open
// then, and names where each was made.
func Main(m *testing.M) {
	unclosed.Enable()
	code := m.Run()
	if code == 0 {
		code = Check(os.Stderr)
	}
	os.Exit(code)
}

// Check is what Main does after the tests.
func Check(out *os.File) (code int) {
	runtime.GC() // reports what was dropped
	var open bytes.Buffer
	n, err := unclosed.Write(&open)
	if n == 0 && err == nil {
		return 0
	}
	fmt.Fprintf(out, "%d things were left open by the tests (%v):\n%s", n, err, open.Bytes())
	return 1
}
