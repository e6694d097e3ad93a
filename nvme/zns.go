package nvme

import (
	"encoding/binary"
	"fmt"
)

const cdw12PIREMAP = 1 << 25 // zone append: reference tag follows the LBA that was chosen

// NewZoneAppend builds an append of nlb blocks to the zone that starts at
// zslba. The completion's result is the LBA where the data went. With
// protection type 1 the controller adapts the reference tag to that LBA
// (PIREMAP); with type 2 [Command.SetPIREMAP] chooses.
func NewZoneAppend(nsid uint32, l Layout, zslba uint64, nlb uint32, o IOOptions) (Command, error) {
	if o.Limits.Set == SetNVM {
		o.Limits.Set = SetZNS
	}
	c, err := transfer(OpZoneAppend, nsid, &l, zslba, nlb, &o)
	if err != nil {
		return Command{}, err
	}
	c.SetPIREMAP(l.PI == PIType1)
	return c, nil
}

// PIREMAP reports whether a zone append has its reference tag adapted to the
// LBA that the controller chooses.
func (c *Command) PIREMAP() bool { return c.CDW12&cdw12PIREMAP != 0 }

// SetPIREMAP sets or clears the adaption of a zone append's reference tag:
// type 1 needs it set, type 3 needs it clear.
func (c *Command) SetPIREMAP(on bool) { c.setCDW12(cdw12PIREMAP, on) }

// ZoneAction is what zone management send does to a zone.
type ZoneAction uint8

// Zone send actions (zoned namespace command set specification).
const (
	ZoneClose            ZoneAction = 0x01
	ZoneFinish           ZoneAction = 0x02
	ZoneOpen             ZoneAction = 0x03
	ZoneReset            ZoneAction = 0x04
	ZoneOffline          ZoneAction = 0x05
	ZoneSetDescExtension ZoneAction = 0x10
	ZoneFlushZRWA        ZoneAction = 0x11
)

const (
	cdw13SelectAll   = 1 << 8
	cdw13ZRWA        = 1 << 9 // open: with a random write area
	cdw13PartialList = 1 << 16
	cdw13ZRASFShift  = 8
	zoneDescExtUnit  = 64
)

// ZoneSendOptions are the parts of zone management send that are usually left
// alone.
type ZoneSendOptions struct {
	// All applies the action to all zones it fits; the SLBA is then ignored.
	All bool
	// ZRWA opens the zone with a random write area; for [ZoneOpen] only.
	ZRWA bool
	// ExtensionLen is the length of the zone descriptor extension in bytes, a
	// multiple of 64; for [ZoneSetDescExtension] only.
	ExtensionLen uint32
	TimeoutMS    uint32
	Limits       Limits
}

// NewZoneSend builds a zone management send for the zone that starts at slba.
func NewZoneSend(nsid uint32, slba uint64, action ZoneAction, o ZoneSendOptions) (Command, error) {
	c := Command{Opcode: OpZoneMgmtSend, NSID: nsid, CDW13: uint32(action), TimeoutMS: o.TimeoutMS}
	if !o.All {
		if err := checkRange(&c, slba, 1, &o.Limits); err != nil {
			return Command{}, err
		}
		c.SetSLBA(slba)
	}
	if o.All {
		if action == ZoneSetDescExtension || action == ZoneFlushZRWA {
			return Command{}, refuse(SetZNS, c.Opcode, nsid, "sel", "action 0x%02x works on one zone only", uint8(action))
		}
		c.CDW13 |= cdw13SelectAll
	}
	if o.ZRWA {
		if action != ZoneOpen {
			return Command{}, refuse(SetZNS, c.Opcode, nsid, "zsaso", "action 0x%02x takes no random write area; only open (0x03) does", uint8(action))
		}
		c.CDW13 |= cdw13ZRWA
	}
	if (action == ZoneSetDescExtension) != (o.ExtensionLen != 0) || o.ExtensionLen%zoneDescExtUnit != 0 {
		return Command{}, refuse(SetZNS, c.Opcode, nsid, "data_len",
			"%d bytes of descriptor extension with action 0x%02x; action 0x10, and no other, takes a multiple of %d",
			o.ExtensionLen, uint8(action), zoneDescExtUnit)
	}
	c.DataLen = o.ExtensionLen
	return c, nil
}

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
	c := Command{Opcode: OpZoneMgmtRecv, NSID: nsid}
	if err := checkRange(&c, slba, 1, &lim); err != nil {
		return Command{}, err
	}
	if length < zoneReportHeader || length%4 != 0 {
		return Command{}, refuse(SetZNS, c.Opcode, nsid, "data_len", "%d bytes; a zone report takes %d and %d more per zone, in multiples of 4",
			length, zoneReportHeader, zoneDescriptorSize)
	}
	c.SetSLBA(slba)
	c.CDW12 = length/4 - 1
	c.CDW13 = uint32(filter) << cdw13ZRASFShift
	if partial {
		c.CDW13 |= cdw13PartialList
	}
	c.DataLen = length
	return c.within(&lim)
}

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
	if err := need("zone report", b, zoneReportHeader); err != nil {
		return nil, err
	}
	le := binary.LittleEndian
	r := &ZoneReport{Count: le.Uint64(b)}
	b = b[zoneReportHeader:]
	n := min(r.Count, uint64(len(b)/zoneDescriptorSize))
	r.Zones = make([]Zone, n)
	for i := range r.Zones {
		d := b[i*zoneDescriptorSize:]
		r.Zones[i] = Zone{
			Type:         d[0] & 0xf,
			State:        ZoneState(d[1] >> 4),
			Attributes:   d[2],
			AttrInfo:     d[3],
			Capacity:     le.Uint64(d[8:]),
			SLBA:         le.Uint64(d[16:]),
			WritePointer: le.Uint64(d[24:]),
		}
	}
	return r, nil
}

// IdentifyZNSNamespace is the Identify Namespace data structure of the zoned
// namespace command set (CNS 05h with CSI 02h).
type IdentifyZNSNamespace struct {
	ZOC  uint16 `json:"zoc"`
	OZCS uint16 `json:"ozcs"`
	// MAR and MOR are the most active and open zones, zero-based;
	// 0xffffffff means no limit: see [IdentifyZNSNamespace.MaxOpen].
	MAR uint32 `json:"mar"`
	MOR uint32 `json:"mor"`
	RRL uint32 `json:"rrl"`
	FRL uint32 `json:"frl"`
	// NUMZRWA is the number of random write areas, zero-based; ZRWASZ and
	// ZRWAFG are their size and flush granularity in logical blocks.
	NUMZRWA uint32 `json:"numzrwa"`
	ZRWAFG  uint16 `json:"zrwafg"`
	ZRWASZ  uint16 `json:"zrwasz"`
	ZRWACAP uint8  `json:"zrwacap"`
	// Formats extend the LBA formats of the same index.
	Formats [maxLBAFormats]ZNSFormat `json:"lbafe"`
}

// ZNSFormat is one LBA format extension.
type ZNSFormat struct {
	// ZSZE is the zone size in logical blocks.
	ZSZE uint64 `json:"zsze"`
	// ZDES is the zone descriptor extension size in 64 bytes.
	ZDES uint8 `json:"zdes"`
}

const (
	znsFormatsAt  = 2816
	znsFormatSize = 16
)

// DecodeIdentifyZNSNamespace reads the zoned Identify Namespace data structure
// of [IdentifySize] bytes.
func DecodeIdentifyZNSNamespace(b []byte) (*IdentifyZNSNamespace, error) {
	if err := need("Identify Namespace for the zoned namespace command set", b, IdentifySize); err != nil {
		return nil, err
	}
	le := binary.LittleEndian
	n := &IdentifyZNSNamespace{
		ZOC:     le.Uint16(b),
		OZCS:    le.Uint16(b[2:]),
		MAR:     le.Uint32(b[4:]),
		MOR:     le.Uint32(b[8:]),
		RRL:     le.Uint32(b[12:]),
		FRL:     le.Uint32(b[16:]),
		NUMZRWA: le.Uint32(b[44:]),
		ZRWAFG:  le.Uint16(b[48:]),
		ZRWASZ:  le.Uint16(b[50:]),
		ZRWACAP: b[52],
	}
	for i := range n.Formats {
		f := b[znsFormatsAt+i*znsFormatSize:]
		n.Formats[i] = ZNSFormat{ZSZE: le.Uint64(f), ZDES: f[8]}
	}
	return n, nil
}

// noZoneLimit in MAR and MOR means no limit.
const noZoneLimit = 1<<32 - 1

// MaxActive is the most active zones, 0 for no limit.
func (n *IdentifyZNSNamespace) MaxActive() uint32 { return zoneLimit(n.MAR) }

// MaxOpen is the most open zones, 0 for no limit.
func (n *IdentifyZNSNamespace) MaxOpen() uint32 { return zoneLimit(n.MOR) }

func zoneLimit(v uint32) uint32 {
	if v == noZoneLimit {
		return 0
	}
	return v + 1
}

// IdentifyZNSController is the Identify Controller data structure of the zoned
// namespace command set (CNS 06h with CSI 02h).
type IdentifyZNSController struct {
	// ZASL limits zone append as MDTS limits the other commands; 0 means
	// that MDTS applies.
	ZASL uint8 `json:"zasl"`
}

// DecodeIdentifyZNSController reads the zoned Identify Controller data
// structure of [IdentifySize] bytes.
func DecodeIdentifyZNSController(b []byte) (*IdentifyZNSController, error) {
	if err := need("Identify Controller for the zoned namespace command set", b, IdentifySize); err != nil {
		return nil, err
	}
	return &IdentifyZNSController{ZASL: b[0]}, nil
}

// MaxAppend is the most bytes that one zone append may transfer; minPageSize
// as in [IdentifyController.MaxDataTransfer]. 0 means that the limit of the
// other commands applies.
func (c *IdentifyZNSController) MaxAppend(minPageSize uint64) uint64 {
	return pagesLimit(c.ZASL, minPageSize)
}
