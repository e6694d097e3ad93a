package test

import (
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/docs/schema"
)

// TestOutputsAreOfTheirSchema: what every command writes as JSON on a real driver is
// what docs/schema says of it.
func TestOutputsAreOfTheirSchema(t *testing.T) {
	d := device(t, want{lba: 512, ms: 0, poll: 1, write: true})
	node := d.Path()
	compiler := jsonschema.NewCompiler()
	entries, err := schema.Files.ReadDir(".")
	require.NoError(t, err)
	for _, e := range entries {
		f, err := schema.Files.Open(e.Name())
		require.NoError(t, err)
		doc, err := jsonschema.UnmarshalJSON(f)
		require.NoError(t, err)
		require.NoError(t, f.Close())
		require.NoError(t, compiler.AddResource(e.Name(), doc))
	}
	seen := map[string]bool{}
	// One of each kind, and at length what else each kind can hold.
	lines := []string{
		"list", "info " + node + " /dev/nvme0", "smart " + node, "doctor", "compare " + node + " --rounds 1 --runtime 20ms --warmup 0 --depths 1_1",
		"run " + node + " --number-ios 1000 --latency", "sweep " + node + " --rounds 1 --runtime 20ms --warmup 0 --bs-list 4k,1m --paths block,sync", "nop --rounds 1 --runtime 20ms --warmup 0 --depths 1_1",
		"io read " + node, "verify " + node + " --size 64k --seed 6",
		"run /dev/null",
	}
	more := []string{
		"compare " + node + " --rounds 1 --runtime 20ms --warmup 0 --depths 1_1 --ablate",
		"run " + node + " --rw randrw --allow-write --force-overwrite --runtime 1 --size 1m",
		"sweep " + node + " --rounds 1 --runtime 20ms --warmup 0", "nop --rounds 1 --runtime 20ms --warmup 0 --op uring-cmd --ablate",
		"io read " + node + " --dry-run", "admin get-feature /dev/nvme0 --feature-id 0x7f", "io flush " + node + " --latency --show-command",
		"admin identify " + node, "admin identify /dev/nvme0", "admin identify " + node + " -n 0", "admin get-log " + node + " --log-id smart", "admin get-feature /dev/nvme0 --feature-id queues",
		"verify " + node + " --do both --allow-write --force-overwrite --size 64k --seed 5",
	}
	for _, line := range append(lines, more[:long(0, len(more))]...) {
		_, out, errs := nvmepass(t, append(strings.Fields(line), "-o", "json")...)
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(out))
		require.NoError(t, err, "%s: %s%s", line, out, errs)
		m, ok := doc.(map[string]any)
		require.True(t, ok, line)
		name, ok := m["schema"].(string)
		require.True(t, ok, "%s has no schema", line)
		s, err := compiler.Compile(schema.File(name))
		require.NoError(t, err, line)
		require.NoError(t, s.Validate(doc), "%s\n%s", line, out)
		seen[schema.File(name)] = true
	}
	require.Len(t, seen, len(entries)-1, "diff alone needs no drive: %v", seen)
}
