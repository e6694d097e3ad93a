package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/nvmepass/nvmepass/internal/compare"
)

// JSON writes a result as one indented JSON document with a newline at its end, in the form of [compare.Schema].
// [compare.Decode] reads it back. Every integer is written in plain digits, without rounding, also above 2^53.
func JSON(w io.Writer, r *compare.Result) error {
	var b bytes.Buffer // so that a failure leaves no half document
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(r); err != nil {
		return fmt.Errorf("render comparison as JSON: %w", err)
	}
	_, err := w.Write(b.Bytes())
	return err
}
