package report

import (
	"bytes"
	"io"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/verify"
)

var sgr = regexp.MustCompile("\x1b\\[[0-9;]*m")

// verification is a result with everything that can go wrong.
func verification() *verify.Result {
	cfg := verify.DefaultConfig()
	cfg.Do, cfg.Size, cfg.MaxReports = verify.DoBoth, 1<<20, 1
	expected := verify.Stamp{LBA: 7, Seed: 1, Generation: 1}
	return &verify.Result{
		Schema: verify.Schema, Device: "/dev/ng0n1", Layout: "512", Config: cfg, Blocks: 2048, Written: 2048, Verified: 2040, Mismatched: 2, Failed: 2, FailedBlocks: 8,
		Generation: 1, Interrupted: true, ElapsedNS: 1e9,
		Mismatches: []verify.Mismatch{{
			LBA: 7, Kind: verify.Misdirected, Expected: expected, Found: []verify.Extent{{From: 0, To: 512, Kind: verify.Misdirected, Stamp: &verify.Stamp{LBA: 9, Seed: 1, Generation: 1}}},
			FirstByte: 8, Bytes: 470, Want: "07 00", Got: "09 00",
		}},
		Failures: []verify.Failure{{Op: "read", SLBA: 64, NLB: 4, Error: "Unrecovered Read Error (0x281)"}},
	}
}

// TestColour: verdicts have colour where it was asked for, and the text is the same
// without.
func TestColour(t *testing.T) {
	for name, render := range map[string]func(io.Writer) error{
		"doctor": func(w io.Writer) error { return Doctor(w, diagnosis(), true) },
		"diff":   func(w io.Writer) error { return DiffText(w, diffed(t)) },
		"verify": func(w io.Writer) error { return Verify(w, verification()) },
		"smart":  func(w io.Writer) error { return Health(w, healthReport()) },
	} {
		var plain, colour bytes.Buffer
		require.NoError(t, render(&plain))
		require.NoError(t, render(Coloured(&colour)))
		requirePrintable(t, plain.String())
		require.Equal(t, plain.String(), sgr.ReplaceAllString(colour.String(), ""), name)
		requireGolden(t, name+".colour.txt", colour.String())
		for _, w := range []io.Writer{brokenWriter{}, Coloured(brokenWriter{})} {
			require.ErrorIs(t, render(w), errBroken, name)
		}
	}
	var b bytes.Buffer
	require.NoError(t, Document(Coloured(&b), diagnosis()))
	require.NotRegexp(t, sgr, b.String(), "other formats have none")
}

// TestVerifyGolden: a verification as text and as JSON.
func TestVerifyGolden(t *testing.T) {
	requireGolden(t, "verify.txt", rendered(t, Verify, verification()))
	requireGolden(t, "verify.json", rendered(t, func(w io.Writer, r *verify.Result) error { return Document(w, r) }, verification()))
}
