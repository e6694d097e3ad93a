// Package schema_test keeps the JSON Schemas in this folder equal to what the Go
// types of the records say, comments included, and validates real outputs
// against them.
package schema_test

import (
	"bytes"
	"encoding"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"math/big"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/docs/schema"
	"github.com/nvmepass/nvmepass/internal/compare"
	"github.com/nvmepass/nvmepass/internal/diff"
	"github.com/nvmepass/nvmepass/internal/doctor"
	"github.com/nvmepass/nvmepass/internal/inventory"
	"github.com/nvmepass/nvmepass/internal/iosetup"
	"github.com/nvmepass/nvmepass/internal/jobs"
	"github.com/nvmepass/nvmepass/internal/nopbench"
	"github.com/nvmepass/nvmepass/internal/report"
	"github.com/nvmepass/nvmepass/internal/single"
	"github.com/nvmepass/nvmepass/internal/sweep"
	"github.com/nvmepass/nvmepass/internal/verify"
	"github.com/nvmepass/nvmepass/nvme"
)

var update = flag.Bool("update", false, "write the schemas anew")

// documents are what -o json writes, and the types that it is written from.
var documents = []struct {
	schema string
	value  any
}{
	{compare.Schema, compare.Result{}},
	{jobs.Schema, jobs.Result{}},
	{nopbench.Schema, nopbench.Result{}},
	{sweep.Schema, sweep.Result{}},
	{diff.Schema, diff.Result{}},
	{inventory.ListSchema, inventory.List{}},
	{inventory.InfoSchema, inventory.Info{}},
	{inventory.HealthSchema, inventory.HealthReport{}},
	{doctor.Schema, doctor.Report{}},
	{single.Schema, single.Document{}},
	{verify.Schema, verify.Result{}},
	{report.FailureSchema, report.Failure{}},
}

func TestSchemasAreUpToDate(t *testing.T) {
	for _, d := range documents {
		g := generator{defs: map[string]any{}, comments: map[string]map[string]string{}, t: t}
		doc := g.object(reflect.TypeOf(d.value))
		doc["$schema"] = "https://json-schema.org/draft/2020-12/schema"
		doc["title"] = d.schema
		doc["$defs"] = g.defs
		doc["properties"].(map[string]any)["schema"] = map[string]any{"const": d.schema}
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		require.NoError(t, enc.Encode(doc))
		if *update {
			require.NoError(t, os.WriteFile(schema.File(d.schema), b.Bytes(), 0o644))
		}
		got, err := os.ReadFile(schema.File(d.schema))
		require.NoError(t, err, "go test ./docs/schema -update writes it")
		require.Equal(t, b.String(), string(got), "go test ./docs/schema -update writes %s anew", schema.File(d.schema))
	}
}

// generator makes schemas of Go types.
type generator struct {
	defs     map[string]any
	comments map[string]map[string]string // of fields, by package path and "Type.Field"
	t        *testing.T
}

// written are the types that do not look in JSON as they do in Go.
var written = map[reflect.Type]map[string]any{
	reflect.TypeFor[time.Time]():     {"type": "string", "format": "date-time"},
	reflect.TypeFor[iosetup.Depth](): {"type": "string", "pattern": "^[0-9]+_[0-9]+$"},
	reflect.TypeFor[nvme.Uint128]():  {"type": "integer", "minimum": 0},
	reflect.TypeFor[*big.Int]():      {"type": []any{"integer", "null"}},
}

func (g *generator) schema(t reflect.Type) map[string]any {
	if s := written[t]; s != nil {
		return maps.Clone(s)
	}
	for _, marshaler := range []reflect.Type{reflect.TypeFor[encoding.TextMarshaler](), reflect.TypeFor[json.Marshaler]()} {
		require.False(g.t, t.Implements(marshaler), "%v writes itself: say in written how", t)
	}
	switch t.Kind() {
	case reflect.Pointer:
		s := g.schema(t.Elem())
		if kind, ok := s["type"].(string); ok {
			s["type"] = []any{kind, "null"}
			return s
		}
		return map[string]any{"anyOf": []any{s, map[string]any{"type": "null"}}}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.Int, reflect.Int32, reflect.Int64:
		return map[string]any{"type": "integer"}
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return map[string]any{"type": "integer", "minimum": 0}
	case reflect.Interface:
		return map[string]any{} // anything
	case reflect.Array:
		return map[string]any{"type": "array", "items": g.schema(t.Elem()), "minItems": t.Len(), "maxItems": t.Len()}
	case reflect.Slice:
		return map[string]any{"type": "array", "items": g.schema(t.Elem())}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": g.schema(t.Elem())}
	case reflect.Struct:
		name := filepath.Base(t.PkgPath()) + "." + t.Name()
		if g.defs[name] == nil {
			g.defs[name] = true // ends a recursion
			g.defs[name] = g.object(t)
		}
		return map[string]any{"$ref": "#/$defs/" + name}
	}
	require.Fail(g.t, "no schema for "+t.String())
	return nil
}

// object is the schema of a struct, with the fields of embedded ones among its own.
func (g *generator) object(t reflect.Type) map[string]any {
	properties := map[string]any{}
	required := []string{}
	g.fields(t, properties, &required)
	return map[string]any{"type": "object", "properties": properties, "required": required}
}

func (g *generator) fields(t reflect.Type, properties map[string]any, required *[]string) {
	for f := range t.Fields() {
		tag, tagged := f.Tag.Lookup("json")
		if f.Anonymous && !tagged {
			g.fields(f.Type, properties, required)
			continue
		}
		if !f.IsExported() || tag == "-" {
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		require.NotEmpty(g.t, name, "%v.%s has no JSON key", t, f.Name)
		s := g.schema(f.Type)
		if text := g.comment(t, f.Name); text != "" {
			s["description"] = text
		}
		properties[name] = s
		if !strings.Contains(options, "omitempty") && !strings.Contains(options, "omitzero") {
			*required = append(*required, name)
		}
	}
}

// comment is the comment of a field in its source.
func (g *generator) comment(t reflect.Type, field string) string {
	const module = "github.com/nvmepass/nvmepass/"
	of := g.comments[t.PkgPath()]
	if of == nil {
		of = map[string]string{}
		g.comments[t.PkgPath()] = of
		dir := filepath.Join("..", "..", strings.TrimPrefix(t.PkgPath(), module))
		paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
		require.NoError(g.t, err)
		for _, path := range paths {
			parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
			require.NoError(g.t, err)
			ast.Inspect(parsed, func(n ast.Node) bool {
				spec, ok := n.(*ast.TypeSpec)
				if !ok {
					return true
				}
				if st, ok := spec.Type.(*ast.StructType); ok {
					for _, f := range st.Fields.List {
						for _, name := range f.Names {
							of[spec.Name.Name+"."+name.Name] = strings.Join(strings.Fields(f.Doc.Text()), " ")
						}
					}
				}
				return true
			})
		}
	}
	return of[t.Name()+"."+field]
}

// compiled is the schema of documents of one kind.
func compiled(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	s, err := jsonschema.NewCompiler().Compile(schema.File(name))
	require.NoError(t, err)
	return s
}

// TestRealOutputsValidate: the golden files are real outputs.
func TestRealOutputsValidate(t *testing.T) {
	schemas := map[string]*jsonschema.Schema{}
	for _, d := range documents {
		schemas[d.schema] = compiled(t, d.schema)
	}
	seen := map[string]int{}
	for _, pattern := range []string{"../../internal/*/testdata/*.json.golden", "../../internal/*/testdata/*.json", "../../cmd/nvmepass/testdata/*.json"} {
		paths, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, path := range paths {
			b, err := os.ReadFile(path)
			require.NoError(t, err)
			doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
			require.NoError(t, err, path)
			m, _ := doc.(map[string]any)
			name, _ := m["schema"].(string)
			if s := schemas[name]; s != nil {
				seen[name]++
				require.NoError(t, s.Validate(doc), path)
			}
		}
	}
	for _, d := range documents {
		require.Positive(t, seen[d.schema], "no golden file of %s", d.schema)
	}
}

// TestSchemasRefuse what is not such a record.
func TestSchemasRefuse(t *testing.T) {
	path := "../../internal/report/testdata/one-cell.json.golden"
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	s := compiled(t, compare.Schema)
	for name, change := range map[string]func(map[string]any){
		"another schema": func(m map[string]any) { m["schema"] = "nvmepass.compare/0" },
		"a key less":     func(m map[string]any) { delete(m, "environment") },
		"another type":   func(m map[string]any) { m["cells"] = "none" },
		"a cell's depth": func(m map[string]any) { m["cells"].([]any)[0].(map[string]any)["qd_batch"] = "8x2" },
		"a count below 0": func(m map[string]any) {
			m["totals"].(map[string]any)["ok"] = json.Number("-1")
		},
	} {
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
		require.NoError(t, err)
		m, ok := doc.(map[string]any)
		require.True(t, ok)
		require.NoError(t, s.Validate(m), name)
		change(m)
		require.Error(t, s.Validate(m), name)
	}
}

// TestEveryNewKeyIsAllowed: a later version may add keys.
func TestEveryNewKeyIsAllowed(t *testing.T) {
	b, err := os.ReadFile("../../internal/report/testdata/one-cell.json.golden")
	require.NoError(t, err)
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(strings.Replace(string(b), "{", fmt.Sprintf("{%q: 1,", "a_new_key"), 1)))
	require.NoError(t, err)
	require.NoError(t, compiled(t, compare.Schema).Validate(doc))
}
