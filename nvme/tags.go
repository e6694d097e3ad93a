package nvme

// setProtection stores PRINFO and the tags.
func (c *Command) setProtection(l *Layout, slba uint64, o *IOOptions) error {
	if l.PI == PINone {
		if o.PRACT || o.PRCHK != 0 || o.CheckStorageTag || o.RefTag != 0 || o.AppTag != 0 || o.AppMask != 0 || o.StorageTag != 0 {
			return refuse(o.Limits.Set, c.Opcode, c.NSID, "prinfo",
				"the namespace (%s) has no protection information; leave PRACT, PRCHK and the tags out", *l)
		}
		return nil
	}
	if o.PRCHK > CheckAll {
		return refuse(o.Limits.Set, c.Opcode, c.NSID, "prinfo", "PRCHK %d is beyond %d (guard, application and reference tag)", o.PRCHK, CheckAll)
	}
	if l.PI == PIType3 && o.PRCHK&CheckRef != 0 {
		return refuse(o.Limits.Set, c.Opcode, c.NSID, "prinfo", "protection type 3 has no reference tag check; leave CheckRef out")
	}
	if o.PRACT {
		if c.Opcode == OpCompare || c.Opcode == OpVerify {
			return refuse(o.Limits.Set, c.Opcode, c.NSID, "prinfo", "PRACT is not allowed with this command; clear it")
		}
		c.CDW12 |= cdw12PRACT
	}
	c.SetPRCHK(o.PRCHK)
	c.SetSTC(o.CheckStorageTag)
	c.SetAppTag(o.AppTag, o.AppMask)
	ref := o.RefTag
	if l.PI == PIType1 {
		if ref != 0 {
			return refuse(o.Limits.Set, c.Opcode, c.NSID, "reftag", "%#x given, but with protection type 1 it follows from the SLBA; leave it 0", ref)
		}
		ref = l.RefTagOf(slba)
	} else if ref != l.RefTagOf(ref) {
		return refuse(o.Limits.Set, c.Opcode, c.NSID, "reftag", "%#x does not fit the namespace's %d-bit reference tag", ref, l.refTagBits())
	}
	if l.StorageTagBits < 64 && o.StorageTag>>l.StorageTagBits != 0 {
		return refuse(o.Limits.Set, c.Opcode, c.NSID, "storagetag", "%#x does not fit the namespace's %d-bit storage tag", o.StorageTag, l.StorageTagBits)
	}
	c.setTags(l, o.StorageTag, ref)
	return nil
}

// refTagBits is the number of bits that the storage tag leaves for the
// reference tag.
func (l *Layout) refTagBits() uint8 { return l.tagSpace() - min(l.StorageTagBits, l.tagSpace()) }

// RefTagOf is the reference tag of a block under protection type 1: as many
// low bits of the LBA as the layout has room for, 32 with a 16-bit guard and
// no storage tag.
func (l Layout) RefTagOf(lba uint64) uint64 {
	if n := l.refTagBits(); n < 64 {
		return lba & (1<<n - 1)
	}
	return lba
}

// tagWords packs storage and reference tag into the tag space, storage tag on
// top, as a 128-bit number. Of either it takes the bits that its part holds,
// so that none runs into the other.
func (l *Layout) tagWords(storage, ref uint64) (hi, lo uint64) {
	n := l.refTagBits()
	storage, ref = l.storageTagOf(storage), l.RefTagOf(ref)
	switch {
	case n >= 64:
		return storage << (n - 64), ref
	case n == 0:
		return 0, storage
	}
	return storage >> (64 - n), storage<<n | ref
}

// setTags stores the storage and reference tags: CDW14 holds the low 32 bits
// of the tag space, CDW3 the next 32, CDW2 the last 16 of the 80-bit space.
func (c *Command) setTags(l *Layout, storage, ref uint64) {
	hi, lo := l.tagWords(storage, ref)
	c.CDW14, c.CDW3, c.CDW2 = uint32(lo), uint32(lo>>32), uint32(hi)
}

// RefTag is the initial logical block reference tag of a command built for
// the layout.
func (c *Command) RefTag(l Layout) uint64 {
	return l.RefTagOf(uint64(c.CDW3)<<32 | uint64(c.CDW14))
}

// SetRefTag replaces the reference tag and keeps the storage tag; bits beyond
// the layout's reference tag are dropped.
func (c *Command) SetRefTag(l Layout, ref uint64) {
	lo := uint64(c.CDW3)<<32 | uint64(c.CDW14)
	lo ^= l.RefTagOf(lo) ^ l.RefTagOf(ref)
	c.CDW14, c.CDW3 = uint32(lo), uint32(lo>>32)
}

// splitTags is the reverse of tagWords.
func (l *Layout) splitTags(hi, lo uint64) (storage, ref uint64) {
	n := l.refTagBits()
	switch {
	case n >= 64:
		storage = hi >> (n - 64)
	case n == 0:
		storage = lo
	default:
		storage = hi<<(64-n) | lo>>n
	}
	return l.storageTagOf(storage), l.RefTagOf(lo)
}

// storageTagOf is the part of a number that the storage tag holds.
func (l *Layout) storageTagOf(v uint64) uint64 {
	if sts := l.StorageTagBits; sts < 64 {
		return v & (1<<sts - 1)
	}
	return v
}
