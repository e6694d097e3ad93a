package nvme

import (
	"encoding/binary"
	"fmt"
)

// ZoneReportFilter selects zones by state.
type ZoneReportFilter uint8

// Zone report filters.
const (
	ZonesAll            ZoneReportFilter = 0
	ZonesEmpty          ZoneReportFilter = 1
	ZonesImplicitlyOpen ZoneReportFilter = 2
	ZonesExplicitlyOpen ZoneReportFilter = 3
	ZonesClosed         ZoneReportFilter = 4
	ZonesFull           ZoneReportFilter = 5
	ZonesReadOnly       ZoneReportFilter = 6
	ZonesOffline        ZoneReportFilter = 7
)

// NewZoneReport builds a zone management receive that reports the zones from
// slba that pass the filter into a buffer of length bytes, a multiple of 4.
// partial makes the count in the report the number of zones in the buffer
// instead of all that pass. [DecodeZoneReport] reads it.
func NewZoneReport(nsid uint32, slba uint64, filter ZoneReportFilter, partial bool, length uint32, lim Limits) (Command, error) {
	return zoneReport(zoneReportPlain, nsid, slba, filter, partial, length, &lim)
}

// NewExtendedZoneReport is as [NewZoneReport], for zones with descriptor
// extensions ([ZNSFormat.ExtensionSize]) and with those in the report.
// [DecodeExtendedZoneReport] reads it.
func NewExtendedZoneReport(nsid uint32, slba uint64, filter ZoneReportFilter, partial bool, length uint32, lim Limits) (Command, error) {
	return zoneReport(zoneReportExtended, nsid, slba, filter, partial, length, &lim)
}

func zoneReport(action, nsid uint32, slba uint64, filter ZoneReportFilter, partial bool, length uint32, lim *Limits) (Command, error) {
	c := Command{Opcode: OpZoneMgmtRecv, NSID: nsid}
	if err := checkRange(&c, slba, 1, lim); err != nil {
		return Command{}, err
	}
	if length < zoneReportHeader || length%4 != 0 {
		return Command{}, refuse(SetZNS, c.Opcode, nsid, "data_len", "%d bytes; a zone report takes %d and %d more per zone, in multiples of 4",
			length, zoneReportHeader, zoneDescriptorSize)
	}
	c.SetSLBA(slba)
	c.CDW12 = length/4 - 1
	c.CDW13 = uint32(filter)<<cdw13ZRASFShift | action
	if partial {
		c.CDW13 |= cdw13PartialList
	}
	c.DataLen = length
	return c.within(lim)
}

// Zone receive actions and the fields of CDW13.
const (
	zoneReportPlain    = 0
	zoneReportExtended = 1
	cdw13ZRASFShift    = 8
	cdw13PartialList   = 1 << 16
	maxZoneDescExt     = 255 * zoneDescExtUnit
)

// ZoneState is the state of a zone.
type ZoneState uint8

// Zone states.
const (
	ZoneStateEmpty          ZoneState = 0x1
	ZoneStateImplicitlyOpen ZoneState = 0x2
	ZoneStateExplicitlyOpen ZoneState = 0x3
	ZoneStateClosed         ZoneState = 0x4
	ZoneStateReadOnly       ZoneState = 0xd
	ZoneStateFull           ZoneState = 0xe
	ZoneStateOffline        ZoneState = 0xf
)

// String names the state.
func (s ZoneState) String() string {
	switch s {
	case ZoneStateEmpty:
		return "empty"
	case ZoneStateImplicitlyOpen:
		return "implicitly open"
	case ZoneStateExplicitlyOpen:
		return "explicitly open"
	case ZoneStateClosed:
		return "closed"
	case ZoneStateReadOnly:
		return "read only"
	case ZoneStateFull:
		return "full"
	case ZoneStateOffline:
		return "offline"
	}
	return fmt.Sprintf("unknown (0x%x)", uint8(s))
}

// MarshalText is [ZoneState.String].
func (s ZoneState) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Zone is one zone descriptor.
type Zone struct {
	// Type is the zone type; 2 is sequential write required.
	Type       uint8     `json:"zt"`
	State      ZoneState `json:"zs"`
	Attributes uint8     `json:"za"`
	AttrInfo   uint8     `json:"zai"`
	// Capacity is what can be written to the zone, in logical blocks.
	Capacity uint64 `json:"zcap"`
	// SLBA is the first block of the zone.
	SLBA uint64 `json:"zslba"`
	// WritePointer is the next block to write; it has no meaning in full,
	// read only and offline zones.
	WritePointer uint64 `json:"wp"`
}

// ZoneReport is the answer to [NewZoneReport].
type ZoneReport struct {
	// Count is the number of zones that pass the filter, which may be more
	// than fit the buffer; with a partial report it is those in the buffer.
	Count uint64 `json:"nr_zones"`
	Zones []Zone `json:"zones"`
}

const (
	zoneReportHeader   = 64
	zoneDescriptorSize = 64
)

// DecodeZoneReport reads a zone report: as many zones as the report counts
// and b holds.
func DecodeZoneReport(b []byte) (*ZoneReport, error) {
	count, entries, err := zoneEntries(b, zoneDescriptorSize)
	if err != nil {
		return nil, err
	}
	r := &ZoneReport{Count: count, Zones: make([]Zone, len(entries))}
	for i, d := range entries {
		r.Zones[i] = decodeZone(d)
	}
	return r, nil
}

// ExtendedZone is a zone with its descriptor extension.
type ExtendedZone struct {
	Zone
	// Extension is a part of the bytes that were decoded. It means something
	// if bit 7 of Attributes is set.
	Extension []byte `json:"ext_data"`
}

// HasExtension reports whether the host has set the extension.
func (z ExtendedZone) HasExtension() bool { return z.Attributes>>7 != 0 }

// ExtendedZoneReport is the answer to [NewExtendedZoneReport]; Count is as in
// [ZoneReport].
type ExtendedZoneReport struct {
	Count uint64         `json:"nr_zones"`
	Zones []ExtendedZone `json:"zones"`
}

// DecodeExtendedZoneReport reads an extended zone report whose descriptor
// extensions have the given size in bytes ([ZNSFormat.ExtensionSize]): as many
// zones as the report counts and b holds.
func DecodeExtendedZoneReport(b []byte, extension uint32) (*ExtendedZoneReport, error) {
	if extension == 0 || extension%zoneDescExtUnit != 0 || extension > maxZoneDescExt {
		return nil, fmt.Errorf("extended zone report: extensions of %d bytes; take the size from Identify, a multiple of %d up to %d",
			extension, zoneDescExtUnit, maxZoneDescExt)
	}
	count, entries, err := zoneEntries(b, zoneDescriptorSize+int(extension))
	if err != nil {
		return nil, err
	}
	r := &ExtendedZoneReport{Count: count, Zones: make([]ExtendedZone, len(entries))}
	for i, d := range entries {
		r.Zones[i] = ExtendedZone{Zone: decodeZone(d), Extension: d[zoneDescriptorSize:]}
	}
	return r, nil
}

// zoneEntries splits a report into its count and its entries of the given
// size.
func zoneEntries(b []byte, size int) (count uint64, entries [][]byte, err error) {
	if err := need("zone report", b, zoneReportHeader); err != nil {
		return 0, nil, err
	}
	count = binary.LittleEndian.Uint64(b)
	b = b[zoneReportHeader:]
	entries = make([][]byte, min(count, uint64(len(b)/size)))
	for i := range entries {
		entries[i] = b[i*size:][:size:size]
	}
	return count, entries, nil
}

func decodeZone(d []byte) Zone {
	le := binary.LittleEndian
	return Zone{
		Type:         d[0] & 0xf,
		State:        ZoneState(d[1] >> 4),
		Attributes:   d[2],
		AttrInfo:     d[3],
		Capacity:     le.Uint64(d[8:]),
		SLBA:         le.Uint64(d[16:]),
		WritePointer: le.Uint64(d[24:]),
	}
}

// ChangedZones is the Changed Zone List log page (LID BFh).
type ChangedZones struct {
	// Overflow means that more zones changed than the list holds; then SLBAs
	// is empty and all are to be looked at.
	Overflow bool `json:"overflow"`
	// SLBAs are the first blocks of the zones.
	SLBAs []uint64 `json:"zid"`
}

const (
	changedZonesHeader   = 8
	changedZonesOverflow = 0xffff
)

// DecodeChangedZones reads a changed zone list: as many zones as it counts
// and b, of up to [IdentifySize] bytes, holds.
func DecodeChangedZones(b []byte) (*ChangedZones, error) {
	if err := need("changed zone list", b, changedZonesHeader); err != nil {
		return nil, err
	}
	n := int(binary.LittleEndian.Uint16(b))
	if n == changedZonesOverflow {
		return &ChangedZones{Overflow: true}, nil
	}
	b = b[changedZonesHeader:]
	z := &ChangedZones{SLBAs: make([]uint64, min(n, len(b)/8))}
	for i := range z.SLBAs {
		z.SLBAs[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	return z, nil
}
