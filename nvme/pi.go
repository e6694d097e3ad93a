package nvme

import (
	"encoding/binary"
	"fmt"
)

// PI is one protection information tuple. Guard is the checksum in as many
// bits as the layout's format has; Ref and Storage share the tag space.
type PI struct {
	Guard   uint64
	App     uint16
	Ref     uint64
	Storage uint64
}

// appTagEscape in the application tag switches the checks of the block off; in
// type 3 the reference tag has to be all ones too.
const appTagEscape = 0xffff

// AppendPI appends the encoded tuple, big-endian as in T10 DIF: guard,
// application tag, storage and reference tag. It appends nothing if the
// layout has no protection information.
func (l Layout) AppendPI(b []byte, t PI) []byte {
	be := binary.BigEndian
	if l.PI == PINone {
		return b
	}
	hi, lo := l.tagWords(t.Storage, t.Ref)
	switch l.PIFormat {
	case Guard16:
		b = be.AppendUint16(b, uint16(t.Guard))
		b = be.AppendUint16(b, t.App)
		return be.AppendUint32(b, uint32(lo))
	case Guard32:
		b = be.AppendUint32(b, uint32(t.Guard))
		b = be.AppendUint16(b, t.App)
		b = be.AppendUint16(b, uint16(hi))
		return be.AppendUint64(b, lo)
	}
	b = be.AppendUint64(b, t.Guard)
	b = be.AppendUint16(b, t.App)
	b = be.AppendUint16(b, uint16(lo>>32))
	return be.AppendUint32(b, uint32(lo))
}

// DecodePI reads one tuple.
func (l Layout) DecodePI(b []byte) (PI, error) {
	if err := need("protection information", b, int(l.PISize())); err != nil {
		return PI{}, err
	}
	if l.PI == PINone {
		return PI{}, fmt.Errorf("protection information: layout %s has none", l)
	}
	return l.pi(b), nil
}

func (l *Layout) pi(b []byte) PI {
	be := binary.BigEndian
	var t PI
	var hi, lo uint64
	switch l.PIFormat {
	case Guard16:
		t.Guard, t.App = uint64(be.Uint16(b)), be.Uint16(b[2:])
		lo = uint64(be.Uint32(b[4:]))
	case Guard32:
		t.Guard, t.App = uint64(be.Uint32(b)), be.Uint16(b[4:])
		hi, lo = uint64(be.Uint16(b[6:])), be.Uint64(b[8:])
	default:
		t.Guard, t.App = be.Uint64(b), be.Uint16(b[8:])
		lo = uint64(be.Uint16(b[10:]))<<32 | uint64(be.Uint32(b[12:]))
	}
	t.Storage, t.Ref = l.splitTags(hi, lo)
	return t
}

// guard is the checksum of a block's data and of the metadata in front of the
// tuple.
func (l *Layout) guard(data, before []byte) uint64 {
	switch l.PIFormat {
	case Guard16:
		return uint64(CRC16(CRC16(0, data), before))
	case Guard32:
		return uint64(CRC32C(CRC32C(0, data), before))
	}
	return CRC64(CRC64(0, data), before)
}

// block is the part of the buffers that belongs to block i: its data, its
// metadata in front of the tuple, and the tuple.
func (l *Layout) block(data, meta []byte, i int) (d, before, tuple []byte) {
	ms, unit := int(l.MetadataSize), int(l.Unit())
	d = data[i*unit:][:unit]
	if l.Extended {
		d, meta = d[:l.LBASize], d[l.LBASize:]
	} else {
		meta = meta[i*ms:][:ms]
	}
	size := int(l.PISize())
	if l.PIFirst {
		return d, nil, meta[:size]
	}
	return d, meta[:ms-size], meta[ms-size:]
}

// piBlocks is the number of blocks in the buffers.
func (l *Layout) piBlocks(data, meta []byte) (int, error) {
	if !l.valid() {
		return 0, l.Validate()
	}
	if l.PI == PINone {
		return 0, fmt.Errorf("protection information: layout %s has none", *l)
	}
	n, err := l.Blocks(uint64(len(data)))
	if err != nil {
		return 0, fmt.Errorf("protection information: data buffer: %w", err)
	}
	want := n * uint64(l.MetadataSize)
	if l.Extended {
		want = 0
	}
	if uint64(len(meta)) != want {
		return 0, fmt.Errorf("protection information: metadata buffer of %d bytes, but %d blocks of layout %s take %d", len(meta), n, *l, want)
	}
	return int(n), nil
}

// refTagAt is the reference tag of block i of a range.
func (l *Layout) refTagAt(slba, first uint64, i int) uint64 {
	switch l.PI {
	case PIType1:
		return l.RefTagOf(slba + uint64(i))
	case PIType2:
		return l.RefTagOf(first + uint64(i))
	}
	return l.RefTagOf(first)
}

// GeneratePI writes the tuple of each block in the buffers: data holds whole
// blocks from slba on, meta their metadata (empty if the layout is extended).
// Guard in tags is ignored; Ref is the reference tag of the first block for
// type 2, of all blocks for type 3, and ignored for type 1. It does not
// allocate unless it fails.
func (l Layout) GeneratePI(data, meta []byte, slba uint64, tags PI) error {
	n, err := l.piBlocks(data, meta)
	if err != nil {
		return err
	}
	first := tags.Ref
	for i := range n {
		d, before, tuple := l.block(data, meta, i)
		tags.Guard = l.guard(d, before)
		tags.Ref = l.refTagAt(slba, first, i)
		l.AppendPI(tuple[:0], tags)
	}
	return nil
}

// PICheck says what [Layout.VerifyPI] expects.
type PICheck struct {
	// Check selects the parts. The reference tag is never checked with type 3.
	Check PRCheck
	// Storage asks for a check of the storage tag too.
	Storage bool
	// Want holds the expected tags; Ref as in [Layout.GeneratePI].
	Want PI
	// AppMask selects the bits of the application tag to compare.
	AppMask uint16
}

// PIError says which block does not fit its protection information. It
// matches [GuardCheckError], [ApplicationTagCheckError],
// [ReferenceTagCheckError] or [StorageTagCheckError] with errors.Is.
type PIError struct {
	// Code is the status a controller would give.
	Code Code
	// LBA is the block, Index its place in the buffer.
	LBA   uint64
	Index int
	// Got is what the tuple holds, Want what it should.
	Got, Want uint64
}

// Error names the block, the part and both values.
func (e *PIError) Error() string {
	return fmt.Sprintf("block %#x (%d of the buffer): %s: got %#x, want %#x", e.LBA, e.Index, e.Code.Name(), e.Got, e.Want)
}

// Is reports whether target is the Code.
func (e *PIError) Is(target error) bool {
	c, ok := target.(Code)
	return ok && c == e.Code
}

// VerifyPI checks the tuple of each block in the buffers, as a controller
// does, and returns a [PIError] for the first that does not fit. Blocks whose
// application tag is 0xffff (type 3: and whose reference tag is all ones) are
// not checked. It does not allocate unless it fails.
func (l Layout) VerifyPI(data, meta []byte, slba uint64, c PICheck) error {
	n, err := l.piBlocks(data, meta)
	if err != nil {
		return err
	}
	for i := range n {
		d, before, tuple := l.block(data, meta, i)
		got := l.pi(tuple)
		if got.App == appTagEscape && (l.PI != PIType3 || got.Ref == l.RefTagOf(^uint64(0))) {
			continue
		}
		fail := func(code Code, got, want uint64) error {
			return &PIError{Code: code, LBA: slba + uint64(i), Index: i, Got: got, Want: want}
		}
		if c.Check&CheckGuard != 0 {
			if want := l.guard(d, before); got.Guard != want {
				return fail(GuardCheckError, got.Guard, want)
			}
		}
		if c.Check&CheckApp != 0 && (got.App^c.Want.App)&c.AppMask != 0 {
			return fail(ApplicationTagCheckError, uint64(got.App), uint64(c.Want.App))
		}
		if c.Check&CheckRef != 0 && l.PI != PIType3 {
			if want := l.refTagAt(slba, c.Want.Ref, i); got.Ref != want {
				return fail(ReferenceTagCheckError, got.Ref, want)
			}
		}
		if c.Storage && got.Storage != c.Want.Storage {
			return fail(StorageTagCheckError, got.Storage, c.Want.Storage)
		}
	}
	return nil
}
