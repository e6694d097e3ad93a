package nvme

import "fmt"

// SizeError says that a buffer is shorter than the structure to be decoded
// from it or encoded into it.
type SizeError struct {
	// Structure names what was to be decoded or encoded.
	Structure string
	// Need and Given are sizes in bytes.
	Need, Given int
}

// Error names the structure and both sizes.
func (e *SizeError) Error() string {
	return fmt.Sprintf("%s needs %d bytes, given %d", e.Structure, e.Need, e.Given)
}

func need(structure string, b []byte, n int) error {
	if len(b) < n {
		return &SizeError{Structure: structure, Need: n, Given: len(b)}
	}
	return nil
}
