// Package guesttest is compiled into a test binary that the lab's own tests run in the guest.
package guesttest

import "os"

// Golden reads the file that the test expects beside it.
func Golden() (string, error) {
	b, err := os.ReadFile("testdata/golden.txt")
	return string(b), err
}
