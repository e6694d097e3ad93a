package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/nvmepass/nvmepass/internal/verify"
	"github.com/nvmepass/nvmepass/nvme"
)

// judge holds what was read against a namespace's model. It belongs to one
// goroutine.
type judge struct {
	model  *model
	layout nvme.Layout // of a block in data, and in metadata if that is apart
	image  *verify.Image
	data   []byte // of the block that is expected
	meta   []byte
	legal  []*write
	found  []*write
}

func newJudge(m *model, layout nvme.Layout, seed uint64) *judge {
	return &judge{
		model: m, layout: layout, image: verify.NewImage(layout, seed, true),
		data: make([]byte, layout.Unit()), meta: make([]byte, layout.MetadataLen(1)),
	}
}

// verdict is what came of a read.
type verdict struct {
	// verified blocks are as they may be; mixed ones among them were read while
	// they were written.
	verified, mixed uint64
	mismatches      []finding
}

// finding is a block that is not as it may be.
type finding struct {
	lba             uint64
	expected, found string
}

// fill writes the blocks of a write into the buffers of a command.
func (j *judge) fill(data, meta []byte, w *write) error {
	j.image.Generation = w.generation
	return j.image.Fill(data, meta, w.slba, w.n)
}

// expect puts what a write leaves in a block into j.data and j.meta.
func (j *judge) expect(w *write, lba uint64) error {
	if w.kind != stamped {
		clear(j.data)
		clear(j.meta)
		return nil
	}
	j.image.Generation = w.generation
	return j.image.Fill(j.data, j.meta, lba, 1)
}

// read judges n blocks from slba that a read, begun at start, found, and ends that
// read in the model. data begins skip bytes into the first block and may end
// within the last one; meta is nil if it was not read.
func (j *judge) read(slba uint64, n uint32, start uint64, data []byte, skip int, meta []byte) (v verdict, err error) {
	unit, ms := int(j.layout.Unit()), int(j.layout.MetadataLen(1))
	j.found = append(j.found[:0], make([]*write, n)...)
	for i := range int(n) {
		lba := slba + uint64(i)
		part := data[:min(len(data), unit-skip)]
		var md []byte
		if meta != nil && ms > 0 {
			md = meta[i*ms : (i+1)*ms]
		}
		w, mixed, err := j.block(lba, start, part, skip, md)
		switch {
		case err != nil:
			j.model.endRead(slba, n, start, nil)
			return v, err
		case w != nil && len(part) == unit:
			j.found[i] = w
			v.verified++
		case w != nil:
			v.verified++ // a part that several writes may share tells nothing of the others
		case mixed:
			v.verified++
			v.mixed++
		default:
			v.mismatches = append(v.mismatches, j.describe(lba, part, skip, md))
		}
		data, skip = data[len(part):], 0
	}
	j.model.endRead(slba, n, start, j.found)
	return v, nil
}

// block finds the write whose data a block holds, nil if there is none; mixed tells
// whether it is a mixture that may be.
func (j *judge) block(lba, start uint64, got []byte, skip int, md []byte) (w *write, mixed bool, err error) {
	var racing bool
	j.legal, racing = j.model.legal(j.legal[:0], lba, start)
	for _, w := range slices.Backward(j.legal) { // the last one is the likeliest
		if err := j.expect(w, lba); err != nil {
			return nil, false, err
		}
		if bytes.Equal(got, j.data[skip:skip+len(got)]) && (md == nil || bytes.Equal(md, j.meta)) {
			return w, false, nil
		}
	}
	if !racing {
		return nil, false, nil
	}
	explained, explainedMeta := make([]bool, len(got)), make([]bool, len(md))
	for _, w := range j.legal {
		if err := j.expect(w, lba); err != nil {
			return nil, false, err
		}
		agree(explained, got, j.data[skip:])
		agree(explainedMeta, md, j.meta)
	}
	return nil, all(explained) && all(explainedMeta), nil
}

func agree(explained []bool, got, want []byte) {
	for i := range got {
		explained[i] = explained[i] || got[i] == want[i]
	}
}

func all(b []bool) bool {
	for _, x := range b {
		if !x {
			return false
		}
	}
	return true
}

// describe names what a block, judged last, should and does hold.
func (j *judge) describe(lba uint64, got []byte, skip int, md []byte) finding {
	f := finding{lba: lba}
	var expected []string
	likeliest := &write{kind: zeroed}
	for _, w := range j.legal {
		expected = append(expected, w.text())
		if w.kind == stamped {
			likeliest = w
		}
	}
	f.expected = strings.Join(expected, ", or ")
	if len(got) < len(j.data) {
		f.found = fmt.Sprintf("bytes %d to %d of the block are %s", skip, skip+len(got)-1, sample(got))
		return f
	}
	j.image.Generation = likeliest.generation
	m := j.image.Check(got, md, 0, lba)
	if m == nil {
		f.found = "what " + likeliest.text() + " left, with other metadata than " + sample(j.meta)
		return f
	}
	f.found = m.Text()
	for _, x := range m.Found {
		if x.Stamp != nil && x.Stamp.Seed == j.image.Seed {
			f.found += fmt.Sprintf("; bytes %d to %d: LBA %d, write %d by %s", x.From, x.To-1, x.Stamp.LBA, x.Stamp.Generation>>writerBits, writerOf(x.Stamp.Generation))
		}
	}
	return f
}

// sample is the beginning of some bytes.
func sample(b []byte) string {
	if len(b) > 32 {
		return fmt.Sprintf("%x...", b[:32])
	}
	return fmt.Sprintf("%x", b)
}

// text names a write.
func (w *write) text() string {
	number := w.generation >> writerBits
	switch {
	case number == 0:
		return "zeros from the beginning"
	case w.kind == zeroed:
		return fmt.Sprintf("zeros of write %d by %s", number, w.by)
	case w.kind == hinted:
		return fmt.Sprintf("zeros of deallocation %d by %s", number, w.by)
	}
	return fmt.Sprintf("write %d by %s", number, w.by)
}
