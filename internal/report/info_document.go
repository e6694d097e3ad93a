package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// Document writes v as one indented JSON document with a newline at its end. Integers are plain digits of any length, never
// rounded; a reader that takes them for floating point loses digits above 2^53.
func Document(w io.Writer, v any) error {
	var b bytes.Buffer // so that a failure leaves no half document
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("render as JSON: %w", err)
	}
	_, err := w.Write(b.Bytes())
	return err
}
