package verify

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// Text writes a result for people.
func Text(w io.Writer, r *Result) error {
	var b strings.Builder
	c := &r.Config
	fmt.Fprintf(&b, "%s: layout %s, LBA %d-%d, seed %d, generation %d, by %s\n", r.Device, r.Layout, r.FirstLBA, r.FirstLBA+r.Blocks-1, c.Seed, r.Generation, c.Path)
	if c.Writes() {
		fmt.Fprintf(&b, "written    %d blocks\n", r.Written)
	}
	if c.Do != DoWrite {
		what := "data"
		if r.MetadataCompared {
			what = "data and metadata"
		}
		fmt.Fprintf(&b, "verified   %d blocks, %s\n", r.Verified, what)
		fmt.Fprintf(&b, "mismatched %d blocks\n", r.Mismatched)
	}
	for i := range r.Mismatches {
		b.WriteString("  " + r.Mismatches[i].Text() + "\n")
	}
	more(&b, r.Mismatched, len(r.Mismatches), "blocks")
	if r.Failed > 0 {
		fmt.Fprintf(&b, "failed     %d commands, %d blocks\n", r.Failed, r.FailedBlocks)
	}
	for _, f := range r.Failures {
		fmt.Fprintf(&b, "  %s of LBA %d-%d: %s\n", f.Op, f.SLBA, f.SLBA+uint64(f.NLB)-1, f.Error)
	}
	more(&b, r.Failed, len(r.Failures), "commands")
	if r.Interrupted {
		b.WriteString("interrupted: the rest was neither written nor verified\n")
	}
	if c.Do == DoWrite && r.Failed == 0 && !r.Interrupted {
		fmt.Fprintf(&b, "to verify it: nvmepass verify %s --offset %d --size %d --seed %d --generation %d\n", r.Device, c.Offset, c.Size, c.Seed, r.Generation)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func more(b *strings.Builder, total uint64, shown int, what string) {
	if rest := total - uint64(shown); rest > 0 {
		fmt.Fprintf(b, "  and %d more %s (--max-reports)\n", rest, what)
	}
}

// Text is one line on how far a run is.
func (p *Progress) Text() string {
	percent := 100 * float64(p.Done) / float64(max(p.Total, 1))
	left := ""
	if p.Done > 0 && p.Elapsed > 0 {
		rest := time.Duration(float64(p.Elapsed) * float64(p.Total-p.Done) / float64(p.Done))
		left = fmt.Sprintf("  %v left", rest.Round(time.Second))
	}
	bad := ""
	if p.Mismatched > 0 {
		bad = fmt.Sprintf("  %d blocks mismatched", p.Mismatched)
	}
	return fmt.Sprintf("%3.0f%%%s  %s, loop %d of %d%s", percent, left, p.Op, p.Loop, p.Loops, bad)
}
