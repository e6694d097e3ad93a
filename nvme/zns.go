package nvme

import "encoding/binary"

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
	cdw13SelectAll  = 1 << 8
	cdw13ZRWA       = 1 << 9 // open: with a random write area
	zoneDescExtUnit = 64
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

// IdentifyZNSNamespace is the Identify Namespace data structure of the zoned
// namespace command set (CNS 05h with CSI 02h).
type IdentifyZNSNamespace struct {
	ZOC  uint16 `json:"zoc"`
	OZCS uint16 `json:"ozcs"`
	// MAR and MOR are the most active and open zones, zero-based;
	// 0xffffffff means no limit: see [IdentifyZNSNamespace.MaxOpen].
	MAR uint32 `json:"mar"`
	MOR uint32 `json:"mor"`
	// RRL and FRL are limits of zones that recommend a reset or a finish, in
	// seconds, with three more each for the levels in [Zone.AttrInfo].
	RRL  uint32 `json:"rrl"`
	FRL  uint32 `json:"frl"`
	RRL1 uint32 `json:"rrl1"`
	RRL2 uint32 `json:"rrl2"`
	RRL3 uint32 `json:"rrl3"`
	FRL1 uint32 `json:"frl1"`
	FRL2 uint32 `json:"frl2"`
	FRL3 uint32 `json:"frl3"`
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
	// ZDES is the zone descriptor extension size in 64 bytes: see
	// [ZNSFormat.ExtensionSize].
	ZDES uint8 `json:"zdes"`
}

// ExtensionSize is the size of a zone descriptor extension in bytes, 0 if
// zones have none.
func (f ZNSFormat) ExtensionSize() uint32 { return uint32(f.ZDES) * zoneDescExtUnit }

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
		RRL1:    le.Uint32(b[20:]),
		RRL2:    le.Uint32(b[24:]),
		RRL3:    le.Uint32(b[28:]),
		FRL1:    le.Uint32(b[32:]),
		FRL2:    le.Uint32(b[36:]),
		FRL3:    le.Uint32(b[40:]),
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

// MaxAppend is the most bytes that one zone append may transfer, for
// [Limits.MaxAppend]; minPageSize as in [IdentifyController.MaxDataTransfer].
// 0 means that the limit of the other commands applies.
func (c *IdentifyZNSController) MaxAppend(minPageSize uint64) uint64 {
	return pagesLimit(c.ZASL, minPageSize)
}
