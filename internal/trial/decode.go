package trial

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Decode reads one JSON record of the given schema into v. It refuses another
// schema and anything after the document; keys that v does not have, as a later
// version may write, are left out.
func Decode(r io.Reader, schema string, v any) error {
	dec := json.NewDecoder(r)
	var raw json.RawMessage
	if err := dec.Decode(&raw); err != nil {
		return fmt.Errorf("read record: not a JSON document: %w; give a file written with --save", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("read record: more than one JSON document; give a file written with --save")
	}
	var head struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return fmt.Errorf("read record: %w; give a file written with --save", err)
	}
	if head.Schema != schema {
		return fmt.Errorf("read record: schema %q: this command reads %q; give a record that it wrote", head.Schema, schema)
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return fmt.Errorf("read record: %w; give a file that this version wrote", err)
	}
	return nil
}
