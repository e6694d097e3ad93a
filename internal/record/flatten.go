package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// maxDepth bounds the nesting that flatten follows; records nest 4 deep.
const maxDepth = 32

// flatten turns a JSON object into settings, in the document's order. Lists of
// plain values become one setting, those of objects one for each of their keys,
// those of "name: value" one for each name.
func flatten(doc []byte) ([]Setting, error) {
	dec := json.NewDecoder(bytes.NewReader(doc))
	dec.UseNumber()
	var out []Setting
	err := flattenValue(dec, "", 0, &out)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return out, nil
}

func flattenValue(dec *json.Decoder, name string, depth int, out *[]Setting) error {
	tok, err := dec.Token()
	if err != nil {
		return err
	}
	if depth > maxDepth {
		return fmt.Errorf("nested more than %d deep", maxDepth)
	}
	switch tok {
	case json.Delim('{'):
		return flattenObject(dec, name, depth, out)
	case json.Delim('['):
		return flattenList(dec, name, depth, out)
	}
	*out = append(*out, Setting{name, plain(tok)})
	return nil
}

func flattenObject(dec *json.Decoder, name string, depth int, out *[]Setting) error {
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return err
		}
		child := fmt.Sprint(key)
		if name != "" {
			child = name + "." + child
		}
		if err := flattenValue(dec, child, depth+1, out); err != nil {
			return err
		}
	}
	_, err := dec.Token()
	return err
}

func flattenList(dec *json.Decoder, name string, depth int, out *[]Setting) error {
	var items []Setting
	for i := 0; dec.More(); i++ {
		if err := flattenValue(dec, name+"["+strconv.Itoa(i)+"]", depth+1, &items); err != nil {
			return err
		}
	}
	if _, err := dec.Token(); err != nil {
		return err
	}
	var values []string
	for i, s := range items {
		if s.Name != name+"["+strconv.Itoa(i)+"]" {
			*out = append(*out, items...)
			return nil
		}
		values = append(values, s.Value)
	}
	if len(values) == 0 {
		values = []string{"-"}
	}
	if named := byName(name, values); named != nil {
		*out = append(*out, named...)
		return nil
	}
	*out = append(*out, Setting{name, strings.Join(values, ", ")})
	return nil
}

// byName is nil if not every value has a name of its own.
func byName(list string, values []string) (out []Setting) {
	seen := map[string]bool{}
	for _, v := range values {
		name, value, ok := strings.Cut(v, ": ")
		if !ok || seen[name] || strings.Contains(name, " ") {
			return nil
		}
		seen[name] = true
		out = append(out, Setting{list + "." + name, value})
	}
	return out
}

func plain(tok json.Token) string {
	switch v := tok.(type) {
	case nil:
		return "-"
	case string:
		if v == "" {
			return "-"
		}
		return v
	}
	return fmt.Sprint(tok)
}
