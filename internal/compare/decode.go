package compare

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Decode reads one result in the JSON form of [Schema]. It refuses another schema and anything after the document; keys that
// it does not know, as a later version may write, are left out.
func Decode(r io.Reader) (*Result, error) {
	dec := json.NewDecoder(r)
	var raw json.RawMessage
	if err := dec.Decode(&raw); err != nil {
		return nil, fmt.Errorf("read comparison: not a JSON document: %w; give a file written with -o json", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("read comparison: more than one JSON document; give a file written with -o json")
	}
	return decodeDocument(raw)
}

func decodeDocument(raw []byte) (*Result, error) {
	var head struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return nil, fmt.Errorf("read comparison: %w; give a file written with -o json", err)
	}
	if head.Schema != Schema {
		return nil, fmt.Errorf("read comparison: schema %q: this version reads %q; record the comparison anew", head.Schema, Schema)
	}
	res := new(Result)
	if err := json.Unmarshal(raw, res); err != nil {
		return nil, fmt.Errorf("read comparison: %w; give a file that this version wrote", err)
	}
	return res, nil
}
