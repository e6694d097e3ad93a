package verify

import (
	"bytes"
	"fmt"
	"strings"
)

// Kinds of what a sector holds, and so of what is wrong with a block.
const (
	// Misdirected: a sector of another block, so that one write or this read
	// went to the wrong place.
	Misdirected = "misdirected"
	// Lost: this block as an earlier pass left it, so that the write was lost.
	Lost = "lost write"
	// Newer: this block as a later pass left it.
	Newer = "newer generation"
	// OtherSeed: a block of another verification.
	OtherSeed = "other seed"
	// Zeros, Ones: never written, deallocated, or lost.
	Zeros = "zeros"
	Ones  = "ones"
	// Damaged: has the mark, and its checksum does not fit.
	Damaged = "damaged"
	// Foreign: not written by verify.
	Foreign = "foreign"
	// Torn: parts of the block differ in kind.
	Torn = "torn"
	// Metadata and Protection: the data is right and its metadata is not.
	Metadata   = "metadata"
	Protection = "protection information"

	good = "as expected"
)

// Extent is a part of a block whose sectors are of one kind.
type Extent struct {
	// From and To are bytes within the block's data, To excluded.
	From int    `json:"from"`
	To   int    `json:"to"`
	Kind string `json:"kind"`
	// Stamp is that of the first sector, nil if it has none that can be read.
	Stamp *Stamp `json:"stamp,omitempty"`
}

// Mismatch is a block that is not what was written.
type Mismatch struct {
	LBA      uint64 `json:"lba"`
	Kind     string `json:"kind"`
	Expected Stamp  `json:"expected"`
	// Found are the block's parts.
	Found []Extent `json:"found,omitempty"`
	// FirstByte is the first byte that differs, within the data or, for
	// metadata, within that; Bytes is how many do.
	FirstByte int `json:"first_byte"`
	Bytes     int `json:"bytes"`
	// Want and Got are up to 16 bytes from there on.
	Want string `json:"want"`
	Got  string `json:"got"`
	// Note says more, such as which tag of protection information differs.
	Note string `json:"note,omitempty"`
}

// Text is the report of a block in one line.
func (m *Mismatch) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "LBA %d (0x%x): %s: expected generation %d of seed %d", m.LBA, m.LBA, m.Kind, m.Expected.Generation, m.Expected.Seed)
	for i, x := range m.Found {
		if i == 0 {
			b.WriteString("; found ")
		} else {
			b.WriteString(", ")
		}
		if len(m.Found) > 1 {
			fmt.Fprintf(&b, "in bytes %d-%d ", x.From, x.To-1)
		}
		b.WriteString(x.text(&m.Expected))
	}
	if m.Note != "" {
		b.WriteString("; " + m.Note)
	}
	what := "byte"
	if m.Kind == Metadata {
		what = "byte of the metadata"
	}
	if m.Bytes > 0 {
		fmt.Fprintf(&b, "; %d bytes differ, the first is %s %d: want %s, got %s", m.Bytes, what, m.FirstByte, m.Want, m.Got)
	}
	return b.String()
}

func (x *Extent) text(want *Stamp) string {
	switch x.Kind {
	case good:
		return "what was expected"
	case Zeros:
		return "zeros"
	case Ones:
		return "bytes 0xff"
	case Foreign:
		return "data that verify did not write"
	}
	var parts []string
	if s := x.Stamp; s != nil {
		if s.LBA != want.LBA {
			parts = append(parts, fmt.Sprintf("the stamp of LBA %d (0x%x)", s.LBA, s.LBA))
		}
		if s.Generation != want.Generation {
			parts = append(parts, fmt.Sprintf("generation %d", s.Generation))
		}
		if s.Seed != want.Seed {
			parts = append(parts, fmt.Sprintf("seed %d", s.Seed))
		}
		if s.LBA == want.LBA && int(s.Sector) != x.From/SectorSize {
			parts = append(parts, fmt.Sprintf("its sector %d", s.Sector))
		}
	}
	text := strings.Join(parts, ", ")
	if x.Kind == Damaged {
		text = strings.TrimSuffix("a wrong checksum, "+text, ", ")
	}
	return text
}

// judge says what a block is that is not as expected; nil if it is. got and want
// are its data.
func judge(got, want []byte, expected Stamp) *Mismatch {
	if bytes.Equal(got, want) {
		return nil
	}
	m := &Mismatch{LBA: expected.LBA, Expected: expected}
	for from := 0; from+SectorSize <= len(got); from += SectorSize {
		x := sector(got[from:from+SectorSize], want[from:from+SectorSize], expected, from/SectorSize)
		x.From, x.To = from, from+SectorSize
		if n := len(m.Found); n > 0 && m.Found[n-1].same(&x) {
			m.Found[n-1].To = x.To
		} else {
			m.Found = append(m.Found, x)
		}
	}
	m.Kind = kindOf(m.Found)
	m.differ(got, want)
	return m
}

// kindOf is the kind of a block by its parts: torn if they differ, but that a
// damaged part among good ones is damage and no more.
func kindOf(parts []Extent) string {
	kind := good
	for _, x := range parts {
		switch {
		case x.Kind == good && len(parts) > 1:
		case kind == good:
			kind = x.Kind
		case kind != x.Kind:
			return Torn
		}
	}
	if len(parts) > 1 && kind != Damaged {
		return Torn
	}
	return kind
}

// differ records where two buffers of one length differ.
func (m *Mismatch) differ(got, want []byte) {
	for i := range got {
		if got[i] != want[i] {
			if m.Bytes == 0 {
				m.FirstByte = i
			}
			m.Bytes++
		}
	}
	to := min(m.FirstByte+16, len(got))
	m.Want, m.Got = fmt.Sprintf("%x", want[m.FirstByte:to]), fmt.Sprintf("%x", got[m.FirstByte:to])
}

// same tells whether the next sector belongs to the extent.
func (x *Extent) same(y *Extent) bool {
	if x.Kind != y.Kind || (x.Stamp == nil) != (y.Stamp == nil) {
		return false
	}
	if x.Stamp == nil {
		return true
	}
	a, b := *x.Stamp, *y.Stamp
	return a.LBA == b.LBA && a.Seed == b.Seed && a.Generation == b.Generation && int(a.Sector)+(x.To-x.From)/SectorSize == int(b.Sector)
}

func sector(got, want []byte, e Stamp, number int) Extent {
	e.Sector = uint16(number)
	if bytes.Equal(got, want) {
		return Extent{Kind: good, Stamp: &e}
	}
	s, marked, ok := read(got)
	switch {
	case !marked && allBytes(got, 0):
		return Extent{Kind: Zeros}
	case !marked && allBytes(got, 0xff):
		return Extent{Kind: Ones}
	case !marked:
		return Extent{Kind: Foreign}
	case !ok:
		return Extent{Kind: Damaged, Stamp: &s}
	case s.Seed != e.Seed:
		return Extent{Kind: OtherSeed, Stamp: &s}
	case s.LBA != e.LBA || s.Sector != e.Sector:
		return Extent{Kind: Misdirected, Stamp: &s}
	case s.Generation < e.Generation:
		return Extent{Kind: Lost, Stamp: &s}
	case s.Generation > e.Generation:
		return Extent{Kind: Newer, Stamp: &s}
	}
	return Extent{Kind: Foreign, Stamp: &s} // the same stamp over other data, with a checksum that fits
}

func allBytes(b []byte, v byte) bool {
	for _, x := range b {
		if x != v {
			return false
		}
	}
	return true
}
