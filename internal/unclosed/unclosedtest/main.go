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
		code = check(os.Stderr)
	}
	os.Exit(code)
}

func check(out *os.File) (code int) {
	runtime.GC() // reports what was dropped
	var open bytes.Buffer
	n, err := unclosed.Write(&open)
	if n == 0 && err == nil {
		return 0
	}
	fmt.Fprintf(out, "left open by the tests: %d\n%s", n, open.Bytes())
	if err != nil {
		fmt.Fprintf(out, "list what is open: %v\n", err)
	}
	return 1
}
