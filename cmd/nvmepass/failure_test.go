package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/docs/schema"
	"github.com/nvmepass/nvmepass/internal/report"
)

// requireNoResult: nothing was printed but, to who asked for JSON, the failure.
func requireNoResult(t *testing.T, out string) {
	t.Helper()
	if out == "" {
		return
	}
	var f report.Failure
	require.NoError(t, json.Unmarshal([]byte(out), &f), out)
	require.Equal(t, report.FailureSchema, f.Schema)
}

var update = flag.Bool("update", false, "write the golden files anew")

// TestFailureDocument is as it is documented.
func TestFailureDocument(t *testing.T) {
	code, out, _ := command(t, "compare", "-o", "json", "--depths", "1_2")
	require.Equal(t, exitUsage, code)
	const golden = "testdata/error.json"
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(out), 0o644))
	}
	b, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(b), out)
}

// TestB23FailuresAreJSON: who asks for JSON gets one document, also of a command
// that never had a result, however the flag is written and wherever it stands.
func TestB23FailuresAreJSON(t *testing.T) {
	b, err := schema.Files.ReadFile(schema.File(report.FailureSchema))
	require.NoError(t, err)
	form, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	require.NoError(t, c.AddResource("error", form))
	valid, err := c.Compile("error")
	require.NoError(t, err)

	for name, of := range formats {
		for _, how := range [][]string{{"-o", "json"}, {"-ojson"}, {"-o=json"}, {"--output", "json"}, {"--output=json"}} {
			args := []string{name}
			switch name {
			case "io", "admin":
				args = append(args, map[string]string{"io": "read", "admin": "identify"}[name])
			}
			for _, args := range [][]string{
				append(append(args, how...), "--no-such-flag"),
				append(append(args, "--no-such-flag"), how...),
				append(append(args, how...), "/dev/no-such-device", "/dev/no-such-device2"),
			} {
				if name == "list" && args[len(args)-1] == "/dev/no-such-device2" {
					continue // it takes none
				}
				code, out, errs := command(t, args...)
				require.NotZero(t, code, "%v", args)
				doc, err := jsonschema.UnmarshalJSON(strings.NewReader(out))
				require.NoError(t, err, "%v: %s", args, out)
				if strings.Contains(out, `"nvmepass.`+name) { // doctor and info have a result: that there is no such device
					continue
				}
				require.NoError(t, valid.Validate(doc), "%v: %s", args, out)
				var f report.Failure
				require.NoError(t, json.Unmarshal([]byte(out), &f))
				require.Equal(t, code, f.ExitCode)
				require.Equal(t, errs, "nvmepass: "+f.Error+"\n", "%v", args)
				require.True(t, strings.HasPrefix(f.Command, "nvmepass "+name), f.Command)
			}
		}
		require.Contains(t, of, "json")
	}
	for _, args := range [][]string{
		{"compare", "--no-such-flag"}, {"compare", "--no-such-flag", "-o", "csv"}, {"compare", "--no-such-flag", "--", "-o", "json"},
		{"lab", "--no-such-flag", "-o", "json"}, {"compare", "--no-such-flag", "-o"}, {"no-such-command", "-o", "json"},
		{"report", "-o", "json", "/nonexistent"}, {"report", "-ojson", "--no-such-flag"}, // there it is a file
		{"compare", "--save", "-o", "json"}, {"io", "read", "/dev/none", "--data", "-o", "json"}, // the value of another
	} {
		code, out, _ := command(t, args...)
		require.Contains(t, []int{exitUsage, exitDevice}, code)
		require.Empty(t, out, "%v", args)
	}
	_, out, _ := command(t, "io", "read", "--no-such-flag", "--output-format=json")
	require.Contains(t, out, report.FailureSchema, "nvme-cli's name of it")
	code, out, _ := command(t, "compare", "--help", "-o", "json")
	require.Zero(t, code)
	require.NotContains(t, out, report.FailureSchema)
}

// TestGuestFailure: what a command in the lab ended with is not said twice.
func TestGuestFailure(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, report.Document(&b, report.Failure{Schema: report.FailureSchema, Error: "no such drive", ExitCode: 2}))
	err := guestFailure(b.Bytes(), 2)
	require.Equal(t, "no such drive", message(err))
	require.Equal(t, 2, exitCode(t.Context(), err))
	require.ErrorAs(t, err, new(saidError))
	require.Empty(t, message(guestFailure(nil, 0)))
	require.Equal(t, exitUsage, exitCode(t.Context(), guestFailure(nil, 0)))
	require.NoError(t, guestFailure([]byte(`{"schema":"nvmepass.compare/1"}`), 2))
	require.NoError(t, guestFailure([]byte(`no JSON`), 2))
}

// TestFailureDocumentLost: a document that cannot be printed is told, once.
func TestFailureDocumentLost(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	require.NoError(t, err)
	errs, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	require.NoError(t, err)
	require.Equal(t, exitUsage, run(t.Context(), []string{"run", "-o", "json"}, full, errs))
	text, err := os.ReadFile(errs.Name())
	require.NoError(t, err)
	require.Equal(t, 2, strings.Count(string(text), "nvmepass: "), "%s", text)
	require.Contains(t, string(text), "no space left")
	require.NoError(t, full.Close())
	require.NoError(t, errs.Close())
}
