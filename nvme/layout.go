package nvme

import (
	"fmt"
	"math/bits"
)

// MaxNLB is the most logical blocks that one command covers: the NLB field has
// 16 bits and is zero-based.
const MaxNLB = 1 << 16

// PIType is the end-to-end protection type of a namespace.
type PIType uint8

// Protection types (NVM command set specification, "End-to-end Data
// Protection").
const (
	// PINone: no protection information.
	PINone PIType = iota
	// PIType1: the reference tag is the low part of the LBA.
	PIType1
	// PIType2: the reference tag starts at a value of the host's choice and
	// counts up.
	PIType2
	// PIType3: the reference tag is opaque and not checked.
	PIType3
)

// PIFormat is the size of the guard, which fixes the size of the whole tuple.
type PIFormat uint8

// Guard formats; the values are those of the PIF field.
const (
	// Guard16 is a CRC-16 in an 8-byte tuple.
	Guard16 PIFormat = iota
	// Guard32 is a CRC-32C in a 16-byte tuple.
	Guard32
	// Guard64 is a CRC-64 in a 16-byte tuple.
	Guard64
)

// Layout says how one logical block lies in host memory. It is the only
// source of lengths: one number of blocks yields NLB, data_len and
// metadata_len. The zero value is not valid; [IdentifyNamespace.CurrentLayout]
// makes one from what the drive says.
type Layout struct {
	// LBASize is the data of one logical block in bytes, without metadata: a
	// power of two from 512 up.
	LBASize uint32
	// MetadataSize is the metadata of one logical block in bytes, 0 for none.
	MetadataSize uint16
	// Extended means that the metadata follows the data of each block in the
	// data buffer; otherwise it has a buffer of its own.
	Extended bool
	// PI is the protection type.
	PI PIType
	// PIFormat is the guard format; it matters only with PI.
	PIFormat PIFormat
	// PIFirst means that the protection tuple is at the start of the
	// metadata; otherwise it is at the end.
	PIFirst bool
	// StorageTagBits is the part of the storage and reference tag space that
	// the storage tag takes, in bits: 0 to 32 with a 16-bit guard, 16 to 64
	// with a 32-bit guard, 0 to 48 with a 64-bit guard.
	StorageTagBits uint8
}

// Validate says what is wrong with the layout, if anything.
func (l Layout) Validate() error {
	if l.valid() {
		return nil
	}
	switch {
	case l.LBASize < 512 || bits.OnesCount32(l.LBASize) != 1:
		return fmt.Errorf("layout %s: block size %d is not a power of two from 512 up; take it from Identify Namespace", l, l.LBASize)
	case l.PI > PIType3:
		return fmt.Errorf("layout %s: protection type %d is not 0 to 3", l, l.PI)
	case l.PIFormat > Guard64:
		return fmt.Errorf("layout %s: guard format %d is not 0 (16-bit), 1 (32-bit) or 2 (64-bit)", l, l.PIFormat)
	case l.MetadataSize < uint16(l.PISize()):
		return fmt.Errorf("layout %s: %d bytes of metadata do not hold the %d-byte protection tuple", l, l.MetadataSize, l.PISize())
	}
	lo, hi := l.storageTagRange()
	return fmt.Errorf("layout %s: a storage tag of %d bits does not fit the guard format; it has %d to %d", l, l.StorageTagBits, lo, hi)
}

func (l *Layout) valid() bool {
	if l.LBASize < 512 || l.LBASize&(l.LBASize-1) != 0 {
		return false
	}
	if l.PI == PINone {
		return true
	}
	lo, hi := l.storageTagRange()
	return l.PI <= PIType3 && l.PIFormat <= Guard64 && l.MetadataSize >= uint16(l.PISize()) &&
		l.StorageTagBits >= lo && l.StorageTagBits <= hi
}

// storageTagRange is the fewest and most bits that a storage tag may have.
// The 80-bit space of the 32-bit guard leaves neither tag more than 64 bits.
func (l *Layout) storageTagRange() (lo, hi uint8) {
	if l.PIFormat == Guard32 {
		return 16, 64
	}
	return 0, l.tagSpace()
}

// PISize is the size of the protection tuple in bytes: 0, 8 or 16.
func (l Layout) PISize() uint32 {
	switch {
	case l.PI == PINone:
		return 0
	case l.PIFormat == Guard16:
		return 8
	}
	return 16
}

// tagSpace is the number of bits that storage and reference tag share.
func (l *Layout) tagSpace() uint8 {
	switch l.PIFormat {
	case Guard16:
		return 32
	case Guard32:
		return 80
	}
	return 48
}

// UnderPRACT is the layout as host memory sees it when a command sets PRACT:
// if the metadata is nothing but the protection tuple, the controller inserts
// and strips it and none is transferred; more metadata is transferred whole
// (NVM command set specification, "PRACT Bit").
func (l Layout) UnderPRACT() Layout {
	if l.PI != PINone && uint32(l.MetadataSize) == l.PISize() {
		l.MetadataSize, l.Extended, l.PI = 0, false, PINone
	}
	return l
}

// Unit is the number of bytes that one logical block takes in the data
// buffer: data and, if extended, metadata. It need not be a power of two.
func (l Layout) Unit() uint32 {
	if l.Extended {
		return l.LBASize + uint32(l.MetadataSize)
	}
	return l.LBASize
}

// DataLen is the length in bytes of the data buffer for nlb blocks.
func (l Layout) DataLen(nlb uint32) uint64 { return uint64(nlb) * uint64(l.Unit()) }

// MetadataLen is the length in bytes of the separate metadata buffer for nlb
// blocks; 0 if there is none or if it is part of the data buffer.
func (l Layout) MetadataLen(nlb uint32) uint64 {
	if l.Extended {
		return 0
	}
	return uint64(nlb) * uint64(l.MetadataSize)
}

// Blocks is the number of logical blocks that a data buffer of the given
// length in bytes holds. A length that is not a whole number of blocks, or 0,
// is an error that names the unit.
func (l Layout) Blocks(bytes uint64) (uint64, error) {
	unit := uint64(l.Unit())
	if unit == 0 {
		return 0, l.Validate()
	}
	if bytes == 0 || bytes%unit != 0 {
		return 0, fmt.Errorf("block size %d is not a multiple of %s", bytes, l.unitText())
	}
	return bytes / unit, nil
}

// unitText is the unit with its parts, "4160 (4096 data + 64 metadata)".
func (l Layout) unitText() string {
	if l.Extended && l.MetadataSize != 0 {
		return fmt.Sprintf("%d (%d data + %d metadata)", l.Unit(), l.LBASize, l.MetadataSize)
	}
	return fmt.Sprint(l.Unit())
}

// BlocksPerCommand is the most blocks that one command may cover when a
// transfer is limited to maxTransfer bytes of the data buffer (0 for no
// limit): at most [MaxNLB], and what keeps both lengths within 32 bits. It is
// 0 if not even one block fits.
func (l Layout) BlocksPerCommand(maxTransfer uint64) uint32 {
	unit := uint64(l.Unit())
	if unit == 0 {
		return 0
	}
	if maxTransfer == 0 || maxTransfer > 1<<32-1 {
		maxTransfer = 1<<32 - 1
	}
	return uint32(min(maxTransfer/unit, MaxNLB))
}

// String is the layout in short: "512", "4096+64 extended",
// "4096+16 separate PI type 1 guard 64 first".
func (l Layout) String() string {
	if l.MetadataSize == 0 && l.PI == PINone {
		return fmt.Sprint(l.LBASize)
	}
	s := fmt.Sprintf("%d+%d separate", l.LBASize, l.MetadataSize)
	if l.Extended {
		s = fmt.Sprintf("%d+%d extended", l.LBASize, l.MetadataSize)
	}
	if l.PI != PINone {
		guard := 16 << min(l.PIFormat, Guard64)
		s += fmt.Sprintf(" PI type %d guard %d", l.PI, guard)
		if l.PIFirst {
			s += " first"
		}
	}
	return s
}
