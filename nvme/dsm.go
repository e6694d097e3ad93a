package nvme

import "encoding/binary"

// DSMRangeSize is the size in bytes of one encoded [DSMRange].
const DSMRangeSize = 16

// MaxDSMRanges is the most ranges of one dataset management command.
const MaxDSMRanges = 256

// DSMAttributes say what a dataset management command does with its ranges.
type DSMAttributes uint32

// Attributes (NVM command set specification, "Dataset Management command").
const (
	// DSMIntegralRead: the ranges will be read as a whole.
	DSMIntegralRead DSMAttributes = 1 << 0
	// DSMIntegralWrite: the ranges will be written as a whole.
	DSMIntegralWrite DSMAttributes = 1 << 1
	// DSMDeallocate: the data of the ranges is no longer needed (trim).
	DSMDeallocate DSMAttributes = 1 << 2
)

// DSMRange is one range of a dataset management command.
type DSMRange struct {
	// Attributes are the context attributes, a hint of the drive's own
	// encoding; usually 0.
	Attributes uint32
	// NLB is the number of logical blocks. Unlike the NLB field of reads and
	// writes this one is not zero-based.
	NLB  uint32
	SLBA uint64
}

// AppendTo appends the 16 encoded bytes, little-endian.
func (r DSMRange) AppendTo(b []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, r.Attributes)
	b = binary.LittleEndian.AppendUint32(b, r.NLB)
	return binary.LittleEndian.AppendUint64(b, r.SLBA)
}

// DecodeDSMRange reads one range.
func DecodeDSMRange(b []byte) (DSMRange, error) {
	if err := need("dataset management range", b, DSMRangeSize); err != nil {
		return DSMRange{}, err
	}
	le := binary.LittleEndian
	return DSMRange{Attributes: le.Uint32(b), NLB: le.Uint32(b[4:]), SLBA: le.Uint64(b[8:])}, nil
}

// NewDSM builds a dataset management command over the given ranges (1 to
// [MaxDSMRanges]); the caller encodes them into the data buffer with
// [DSMRange.AppendTo] and sets Addr.
func NewDSM(nsid uint32, ranges []DSMRange, attr DSMAttributes, lim Limits) (Command, error) {
	c := Command{Opcode: OpDSM, NSID: nsid}
	if len(ranges) == 0 || len(ranges) > MaxDSMRanges {
		return Command{}, refuse(lim.Set, OpDSM, nsid, "nr", "%d ranges; one command takes 1 to %d", len(ranges), MaxDSMRanges)
	}
	if attr&^(DSMIntegralRead|DSMIntegralWrite|DSMDeallocate) != 0 {
		return Command{}, refuse(lim.Set, OpDSM, nsid, "cdw11", "attributes %#x: only bits 0 to 2 are defined", uint32(attr))
	}
	for i, r := range ranges {
		if r.NLB == 0 {
			return Command{}, refuse(lim.Set, OpDSM, nsid, "nlb", "range %d is empty; leave it out", i)
		}
		if err := checkRange(&c, r.SLBA, r.NLB, &lim); err != nil {
			return Command{}, err
		}
	}
	c.CDW10 = uint32(len(ranges) - 1)
	c.CDW11 = uint32(attr)
	c.DataLen = uint32(len(ranges)) * DSMRangeSize
	return c.within(&lim)
}
