package single

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/nvme"
)

var update = flag.Bool("update", false, "write the golden files anew")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(path, got, 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
}

func verb(t *testing.T, name string) *Verb {
	t.Helper()
	kind, name, _ := strings.Cut(name, " ")
	verbs := IOVerbs()
	if kind == "admin" {
		verbs = AdminVerbs()
	}
	for _, v := range verbs {
		if v.Name == name {
			return v
		}
	}
	require.Fail(t, "no such verb", name)
	return nil
}

// drive is a target with limits.
func drive(l nvme.Layout) *Target {
	return &Target{Path: "/dev/ng0n1", NSID: 1, Layout: l, Limits: nvme.Limits{NSID: 1, Blocks: 1 << 40, MaxTransfer: 1 << 20}, ZoneExtension: 64}
}

var plain = nvme.Layout{LBASize: 512}

// TestGoldenDryRuns: every verb's entry, by field and dword.
func TestGoldenDryRuns(t *testing.T) {
	pi := nvme.Layout{LBASize: 4096, MetadataSize: 8, PI: nvme.PIType1}
	for _, tt := range []struct {
		verb, file string
		layout     nvme.Layout
		o          Options
	}{
		{"io read", "read", plain, Options{StartBlock: 0x1234567890, Blocks: 8, FUA: true, LR: true, Hint: 0x43, TimeoutMS: 5000}},
		{"io read", "read-pi", pi, Options{StartBlock: 16, Blocks: 2, PRInfo: 7, AppTag: 0xabcd, AppMask: 0xffff}},
		{"io write", "write-pi", pi, Options{StartBlock: 16, Blocks: 2, PRInfo: 7, RefTag: 5, HasRefTag: true, DirType: 2, DirSpec: 3}},
		{"io compare", "compare", plain, Options{StartBlock: 1, Blocks: 1}},
		{"io verify", "verify", plain, Options{StartBlock: 1, Blocks: 65536}},
		{"io flush", "flush", plain, Options{}},
		{"io trim", "trim", plain, Options{Ranges: []string{"0x10:8", "64:1"}}},
		{"io write-zeroes", "write-zeroes", plain, Options{StartBlock: 1, Blocks: 3, Deallocate: true}},
		{"io write-uncorrectable", "write-uncorrectable", plain, Options{StartBlock: 1}},
		{"io copy", "copy", plain, Options{Ranges: []string{"0:8", "64:8"}, Destination: 1024}},
		{"io append", "append", plain, Options{StartBlock: 0x8000, Blocks: 2}},
		{"io zone-report", "zone-report", plain, Options{Descriptors: 10, State: "full", Partial: true}},
		{"io zone-report", "zone-report-extended", plain, Options{Extended: true}},
		{"io zone-open", "zone-open", plain, Options{StartBlock: 0x8000, ZRWA: true}},
		{"io zone-reset", "zone-reset", plain, Options{SelectAll: true}},
		{"io raw", "raw", plain, Options{Opcode: 0x90, CDW: [16]uint32{2: 2, 3: 3, 10: 10, 15: 15}, DataLen: 16}},
		{"admin identify", "identify", plain, Options{HasCNS: true, CNS: nvme.CNSSetNamespace, CSI: 2}},
		{"admin get-log", "get-log", plain, Options{LID: nvme.LogSMART, RAE: true}},
		{"admin get-feature", "get-feature", plain, Options{FID: nvme.FeatNumberOfQueues, Select: 1}},
		{"admin set-feature", "set-feature", plain, Options{FID: nvme.FeatVolatileWriteCache, Value: 1, Save: true}},
		{"admin raw", "format", plain, Options{Opcode: 0x80, CDW: [16]uint32{10: 0x212}}},
	} {
		t.Run(tt.file, func(t *testing.T) {
			v := verb(t, tt.verb)
			target := drive(tt.layout)
			switch {
			case v.Admin:
				target = &Target{NSID: 1, Set: nvme.SetAdmin}
			case v.Zoned:
				target.Set, target.Limits.Set = nvme.SetZNS, nvme.SetZNS
			}
			r, err := v.Prepare(&tt.o, target, &Source{Dry: true})
			require.NoError(t, err)
			d := NewDocument(r, "")
			d.DryRun = true
			d.Encode(r)
			var b bytes.Buffer
			require.NoError(t, Text(&b, d))
			golden(t, "dry-"+tt.file+".txt", b.Bytes())
		})
	}
}

// TestGoldenOutcomes: success with a dump, with decoded data, and failures, in
// text and JSON.
func TestGoldenOutcomes(t *testing.T) {
	read := func() *Request {
		r, err := verb(t, "io read").Prepare(&Options{StartBlock: 0x10, Blocks: 1}, drive(plain), &Source{})
		require.NoError(t, err)
		copy(r.Data, "hello \x1b[31m drive")
		r.Data[511] = 0xff
		return r
	}
	smart := func() *Request {
		r, err := verb(t, "admin get-log").Prepare(&Options{LID: nvme.LogFirmwareSlot}, &Target{Set: nvme.SetAdmin}, &Source{})
		require.NoError(t, err)
		r.Data[0] = 1
		copy(r.Data[8:], "1.0\x01\xff")
		return r
	}
	status := &nvme.StatusError{Status: nvme.Status(0x4000 | 0x2000 | 0x80), Opcode: nvme.OpRead, NSID: 1, SLBA: 16, NLB: 1}
	for _, tt := range []struct {
		name    string
		r       *Request
		err     error
		latency bool
		file    string
	}{
		{"read", read(), nil, true, ""},
		{"read-file", read(), nil, false, "out\x1b.bin"},
		{"firmware", smart(), nil, false, ""},
		{"status", read(), status, false, ""},
		{"error", read(), os.ErrDeadlineExceeded, false, ""},
	} {
		d := NewDocument(tt.r, "/dev/ng0n1")
		d.Finish(tt.r, 0x1234, 42*time.Microsecond, tt.latency, tt.err, tt.file, "")
		var text, doc bytes.Buffer
		require.NoError(t, Text(&text, d))
		golden(t, tt.name+".txt", text.Bytes())
		enc := json.NewEncoder(&doc)
		enc.SetIndent("", "  ")
		require.NoError(t, enc.Encode(d))
		golden(t, tt.name+".json", doc.Bytes())
		require.NotContains(t, text.String(), "\x1b")
	}
}
