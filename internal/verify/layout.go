package verify

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/nvmepass/nvmepass/nvme"
)

// Image is how stamped blocks lie in the buffers of one command. It belongs to
// one goroutine at a time.
type Image struct {
	// Seed and Generation are those of the stamps that Fill writes and Check
	// expects.
	Seed       uint64
	Generation uint32

	host nvme.Layout
	// metadata says that metadata is compared.
	metadata bool
	want     []byte // of one block's data
	wantMeta []byte
	both     []byte // one after the other
}

// NewImage makes an Image for blocks of a layout as host memory sees them;
// metadata says whether Check compares that as well.
func NewImage(host nvme.Layout, seed uint64, metadata bool) *Image {
	return &Image{host: host, Seed: seed, metadata: metadata, want: make([]byte, host.LBASize), wantMeta: make([]byte, host.MetadataSize)}
}

// At are the data and the metadata of block i of a command.
func (m *Image) At(i int, data, meta []byte) (block, md []byte) {
	unit, lba, ms := int(m.host.Unit()), int(m.host.LBASize), int(m.host.MetadataSize)
	block = data[i*unit : i*unit+lba]
	switch {
	case ms == 0:
	case m.host.Extended:
		md = data[i*unit+lba : (i+1)*unit]
	default:
		md = meta[i*ms : (i+1)*ms]
	}
	return block, md
}

// Fill writes n blocks from slba into the buffers of a command; meta is nil
// unless metadata has a buffer of its own.
func (m *Image) Fill(data, meta []byte, slba uint64, n uint32) error {
	for i := range int(n) {
		block, md := m.At(i, data, meta)
		FillBlock(block, slba+uint64(i), m.Seed, m.Generation)
		fillMetadata(md, slba+uint64(i), m.Seed, m.Generation)
	}
	return m.protect(data[:m.host.DataLen(n)], meta[:m.host.MetadataLen(n)], slba)
}

// protect makes the protection information of whole blocks from slba, as far as
// the host does. With type 2 the reference tag is the address's, as with type 1,
// so that it does not depend on the size of commands.
func (m *Image) protect(data, meta []byte, slba uint64) error {
	if m.host.PI == nvme.PINone || m.host.MetadataSize == 0 {
		return nil
	}
	var tags nvme.PI
	if m.host.PI == nvme.PIType2 {
		tags.Ref = m.host.RefTagOf(slba)
	}
	return m.host.GeneratePI(data, meta, slba, tags)
}

// Check compares block i of a command, whose LBA is lba, and returns nil if it is
// what was written.
func (m *Image) Check(data, meta []byte, i int, lba uint64) *Mismatch {
	block, md := m.At(i, data, meta)
	FillBlock(m.want, lba, m.Seed, m.Generation)
	expected := Stamp{LBA: lba, Seed: m.Seed, Generation: m.Generation}
	if bad := judge(block, m.want, expected); bad != nil {
		return bad
	}
	if !m.metadata || len(md) == 0 {
		return nil
	}
	fillMetadata(m.wantMeta, lba, m.Seed, m.Generation)
	if err := m.protectOne(lba); err != nil {
		return &Mismatch{LBA: lba, Kind: Protection, Expected: expected, Note: err.Error()}
	}
	if bytes.Equal(md, m.wantMeta) {
		return nil
	}
	bad := &Mismatch{LBA: lba, Kind: Metadata, Expected: expected}
	bad.differ(md, m.wantMeta)
	if from, to := m.tuple(); to > 0 && bytes.Equal(md[:from], m.wantMeta[:from]) && bytes.Equal(md[to:], m.wantMeta[to:]) {
		bad.Kind = Protection
		bad.Note = m.tupleText(md[from:to], m.wantMeta[from:to])
	}
	return bad
}

// protectOne completes want and wantMeta, which are those of one block.
func (m *Image) protectOne(lba uint64) error {
	if !m.host.Extended {
		return m.protect(m.want, m.wantMeta, lba)
	}
	m.both = append(append(m.both[:0], m.want...), m.wantMeta...)
	err := m.protect(m.both, nil, lba)
	copy(m.wantMeta, m.both[m.host.LBASize:])
	return err
}

// tuple is where the protection information lies in the metadata; empty without.
func (m *Image) tuple() (from, to int) {
	size, ms := int(m.host.PISize()), int(m.host.MetadataSize)
	if m.host.PIFirst || size == 0 {
		return 0, size
	}
	return ms - size, ms
}

// tupleText names the parts of protection information that differ.
func (m *Image) tupleText(got, want []byte) string {
	g, err := m.host.DecodePI(got)
	if err != nil {
		return err.Error()
	}
	w, err := m.host.DecodePI(want)
	if err != nil {
		return err.Error()
	}
	var parts []string
	for _, x := range []struct {
		name      string
		got, want uint64
	}{{"guard", g.Guard, w.Guard}, {"application tag", uint64(g.App), uint64(w.App)}, {"reference tag", g.Ref, w.Ref}, {"storage tag", g.Storage, w.Storage}} {
		if x.got != x.want {
			parts = append(parts, fmt.Sprintf("%s %#x instead of %#x", x.name, x.got, x.want))
		}
	}
	return strings.Join(parts, ", ")
}
