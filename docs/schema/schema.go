// Package schema holds the JSON Schemas of what nvmepass writes with -o json,
// for tests that run far from the repository.
package schema

import (
	"embed"
	"strings"
)

// Files are the schemas, by the names that [File] gives them.
//
//go:embed *.json
var Files embed.FS

// File is the name of a schema's file: nvmepass.compare/1 is compare-1.json.
func File(schema string) string {
	return strings.ReplaceAll(strings.TrimPrefix(schema, "nvmepass."), "/", "-") + ".json"
}
