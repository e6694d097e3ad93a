package nvme

import "encoding/binary"

// CopyFormat is the format of the source range entries of a copy.
type CopyFormat uint8

// Source range formats (NVM command set specification, "Copy command").
const (
	// CopyFormat0: this namespace, 16-bit guard.
	CopyFormat0 CopyFormat = iota
	// CopyFormat1: this namespace, 32-bit or 64-bit guard.
	CopyFormat1
	// CopyFormat2: any namespace, 16-bit guard.
	CopyFormat2
	// CopyFormat3: any namespace, 32-bit or 64-bit guard.
	CopyFormat3
)

// EntrySize is the size in bytes of one source range entry, 0 for formats
// that are not known.
func (f CopyFormat) EntrySize() uint32 {
	switch f {
	case CopyFormat0, CopyFormat2:
		return copyEntry16
	case CopyFormat1, CopyFormat3:
		return copyEntry64
	}
	return 0
}

const (
	copyEntry16 = 32 // for a guard of 16 bits
	copyEntry64 = 40 // for a guard of 32 or 64 bits
)

// MaxCopyRanges is the most source ranges of one copy; the namespace's own
// limits ([IdentifyNamespace.MSRC], MSSRL, MCL) are usually lower.
const MaxCopyRanges = 256

// CopyLimits are what a namespace takes in one copy; 0 is no limit.
type CopyLimits struct {
	// Ranges is the most source ranges, RangeBlocks the most logical blocks
	// of one range, Blocks the most in all.
	Ranges, RangeBlocks, Blocks uint32
}

// CopyLimits are the namespace's MSRC, MSSRL and MCL. They mean something
// where the controller has the command ([ONCS.Copy]).
func (n *IdentifyNamespace) CopyLimits() CopyLimits {
	return CopyLimits{Ranges: uint32(n.MSRC) + 1, RangeBlocks: uint32(n.MSSRL), Blocks: n.MCL}
}

// CopyRange is one source range of a copy.
type CopyRange struct {
	// NSID is the source namespace, for formats 2 and 3.
	NSID uint32
	SLBA uint64
	// NLB is the number of logical blocks, 1 to [MaxNLB]; it is encoded
	// zero-based.
	NLB uint32
	// FastOnly asks for a fast copy or none, for formats 2 and 3.
	FastOnly bool
	// RefTag, StorageTag, AppTag and AppMask are what the controller expects
	// in the source's protection information. Of the first two the layout's
	// low bits are encoded, so that RefTag may be the SLBA for type 1.
	RefTag          uint64
	StorageTag      uint64
	AppTag, AppMask uint16
}

const copyFastOnly = 1 << 15 // SOPT, Fast Copy Only

// AppendTo appends the encoded entry in the given format, little-endian but
// for the storage and reference tags of formats 1 and 3, which are big-endian
// like those in the protection information itself. (Implementations differ
// on the tags of formats 0 and 2 and on application tags: QEMU takes them as
// little-endian, nvme-cli changed from that to big-endian in 2026.) l is the source namespace's layout,
// which places the storage tag.
func (r CopyRange) AppendTo(b []byte, f CopyFormat, l Layout) []byte {
	le := binary.LittleEndian
	multi := f == CopyFormat2 || f == CopyFormat3
	if !multi {
		r.NSID, r.FastOnly = 0, false
	}
	b = le.AppendUint32(b, r.NSID)
	b = append(b, 0, 0, 0, 0)
	b = le.AppendUint64(b, r.SLBA)
	b = le.AppendUint16(b, uint16(r.NLB-1))
	b = append(b, 0, 0, 0, 0)
	var sopt uint16
	if r.FastOnly {
		sopt = copyFastOnly
	}
	b = le.AppendUint16(b, sopt)
	hi, lo := l.tagWords(r.StorageTag, r.RefTag)
	if f == CopyFormat0 || f == CopyFormat2 {
		b = le.AppendUint32(b, uint32(lo))
	} else {
		b = append(b, 0, 0)
		b = binary.BigEndian.AppendUint16(b, uint16(hi))
		b = binary.BigEndian.AppendUint64(b, lo)
	}
	b = le.AppendUint16(b, r.AppTag)
	return le.AppendUint16(b, r.AppMask)
}

// DecodeCopyRange reads one entry of the given format; see
// [CopyRange.AppendTo].
func DecodeCopyRange(b []byte, f CopyFormat, l Layout) (CopyRange, error) {
	size := f.EntrySize()
	if size == 0 {
		return CopyRange{}, refuse(SetNVM, OpCopy, 0, "desfmt", "source range format %d is not known; it is 0 to 3", f)
	}
	if err := need("copy source range", b, int(size)); err != nil {
		return CopyRange{}, err
	}
	le := binary.LittleEndian
	r := CopyRange{SLBA: le.Uint64(b[8:]), NLB: uint32(le.Uint16(b[16:])) + 1}
	if f == CopyFormat2 || f == CopyFormat3 {
		r.NSID = le.Uint32(b)
		r.FastOnly = le.Uint16(b[22:])&copyFastOnly != 0
	}
	var hi, lo uint64
	if size == copyEntry16 {
		lo = uint64(le.Uint32(b[24:]))
		b = b[28:]
	} else {
		hi = uint64(binary.BigEndian.Uint16(b[26:]))
		lo = binary.BigEndian.Uint64(b[28:])
		b = b[36:]
	}
	r.StorageTag, r.RefTag = l.splitTags(hi, lo)
	r.AppTag, r.AppMask = le.Uint16(b), le.Uint16(b[2:])
	return r, nil
}

// CopyOptions are the parts of a copy that are usually left alone.
type CopyOptions struct {
	// Format of the entries; format 0 unless the namespace has a 32-bit or
	// 64-bit guard, or ranges name other namespaces.
	Format CopyFormat
	// Limits are what the destination namespace takes in one copy; the zero
	// value limits nothing.
	Limits CopyLimits
	// ReadPRACT and ReadPRCHK are the protection actions on the sources. With
	// formats 2 and 3 the sources may have protection information where the
	// destination has none.
	ReadPRACT bool
	ReadPRCHK PRCheck
	// ReadCheckStorageTag asks for a check of the sources' storage tags.
	ReadCheckStorageTag bool
	// Write holds the options of the destination: FUA, LR, protection,
	// tags, directive, time limit, limits.
	Write IOOptions
}

const (
	cdw12CopyFormatShift = 8
	cdw12PRINFORShift    = 12
	cdw12STCR            = 1 << 25
)

// NewCopy builds a copy of the ranges, in order, to the blocks from dst of
// namespace nsid. The caller encodes the ranges into the data buffer with
// [CopyRange.AppendTo] and sets Addr. Write.Limits apply to the destination,
// and to sources that lie in nsid.
func NewCopy(nsid uint32, l Layout, dst uint64, ranges []CopyRange, o CopyOptions) (Command, error) {
	set := o.Write.Limits.Set
	if len(ranges) == 0 || len(ranges) > MaxCopyRanges {
		return Command{}, refuse(set, OpCopy, nsid, "nr", "%d ranges; one command takes 1 to %d", len(ranges), MaxCopyRanges)
	}
	if o.Format.EntrySize() == 0 {
		return Command{}, refuse(set, OpCopy, nsid, "desfmt", "source range format %d is not known; it is 0 to 3", o.Format)
	}
	if !l.valid() {
		return Command{}, refuse(set, OpCopy, nsid, "layout", "%v", l.Validate())
	}
	if l.PI != PINone && (l.PIFormat == Guard16) != (o.Format.EntrySize() == copyEntry16) {
		return Command{}, refuse(set, OpCopy, nsid, "desfmt",
			"source range format %d does not fit layout %s: a guard of 16 bits takes format 0 or 2, a longer one 1 or 3", o.Format, l)
	}
	if o.Limits.Ranges != 0 && uint64(len(ranges)) > uint64(o.Limits.Ranges) {
		return Command{}, refuse(set, OpCopy, nsid, "nr", "%d ranges; the namespace takes at most %d in one command (MSRC); split it", len(ranges), o.Limits.Ranges)
	}
	c := Command{Opcode: OpCopy, NSID: nsid, TimeoutMS: o.Write.TimeoutMS}
	multi := o.Format == CopyFormat2 || o.Format == CopyFormat3
	var total uint64
	for i, r := range ranges {
		if r.NLB == 0 || r.NLB > MaxNLB {
			return Command{}, refuse(set, OpCopy, nsid, "nlb", "range %d has %d blocks; it takes 1 to %d", i, r.NLB, MaxNLB)
		}
		if o.Limits.RangeBlocks != 0 && r.NLB > o.Limits.RangeBlocks {
			return Command{}, refuse(set, OpCopy, nsid, "nlb", "range %d has %d blocks; the namespace takes at most %d in one range (MSSRL); split it",
				i, r.NLB, o.Limits.RangeBlocks)
		}
		if multi && r.NSID == 0 {
			return Command{}, refuse(set, OpCopy, nsid, "snsid", "range %d names no source namespace, which format %d needs", i, o.Format)
		}
		if !multi && (r.NSID != 0 || r.FastOnly) {
			return Command{}, refuse(set, OpCopy, nsid, "snsid", "range %d has a source namespace or fast-only, which need format 2 or 3", i)
		}
		if !multi || r.NSID == nsid {
			if err := checkRange(&c, r.SLBA, r.NLB, &o.Write.Limits); err != nil {
				return Command{}, err
			}
		}
		total += uint64(r.NLB)
	}
	if o.Limits.Blocks != 0 && total > uint64(o.Limits.Blocks) {
		return Command{}, refuse(set, OpCopy, nsid, "nlb", "%d blocks in all; the namespace takes at most %d in one command (MCL); split it", total, o.Limits.Blocks)
	}
	// total is at most 2^24, so that it fits the count of checkRange.
	if err := checkRange(&c, dst, uint32(total), &o.Write.Limits); err != nil {
		return Command{}, err
	}
	c.SetSLBA(dst)
	c.CDW12 = uint32(len(ranges)-1) | uint32(o.Format)<<cdw12CopyFormatShift
	if o.Write.FUA {
		c.CDW12 |= cdw12FUA
	}
	if o.Write.LR {
		c.CDW12 |= cdw12LR
	}
	if o.Write.Hint != 0 {
		return Command{}, refuse(set, OpCopy, nsid, "dsm", "access hint 0x%02x: only read and write take one", uint8(o.Write.Hint))
	}
	if o.Write.Directive != DirectiveNone || o.Write.DSPEC != 0 {
		if err := c.setDirective(&o.Write); err != nil {
			return Command{}, err
		}
	}
	if err := c.setProtection(&l, dst, &o.Write); err != nil {
		return Command{}, err
	}
	if o.ReadPRACT || o.ReadPRCHK != 0 || o.ReadCheckStorageTag {
		if l.PI == PINone && !multi {
			return Command{}, refuse(set, OpCopy, nsid, "prinfor", "the namespace (%s) has no protection information; leave it out", l)
		}
		if l.PI == PIType3 && !multi && o.ReadPRCHK&CheckRef != 0 {
			return Command{}, refuse(set, OpCopy, nsid, "prinfor", "protection type 3 has no reference tag check; leave CheckRef out")
		}
		if o.ReadPRCHK > CheckAll {
			return Command{}, refuse(set, OpCopy, nsid, "prinfor", "PRCHK %d is beyond %d (guard, application and reference tag)", o.ReadPRCHK, CheckAll)
		}
		prinfor := uint32(o.ReadPRCHK)
		if o.ReadPRACT {
			prinfor |= 8
		}
		c.CDW12 |= prinfor << cdw12PRINFORShift
		c.setCDW12(cdw12STCR, o.ReadCheckStorageTag)
	}
	c.DataLen = uint32(len(ranges)) * o.Format.EntrySize()
	return c.within(&o.Write.Limits)
}
