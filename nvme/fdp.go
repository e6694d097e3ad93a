package nvme

import (
	"encoding/binary"
	"fmt"
)

// Management operations of I/O management receive and send.
const (
	ioMgmtRUHStatus = 0x01
	ioMgmtRUHUpdate = 0x01
	cdw10MOSShift   = 16
)

// MaxPlacementIDs is the most placement identifiers of one update command.
const MaxPlacementIDs = 1 << 16

// NewIOMgmtRecv builds an I/O management receive of the given operation into
// a buffer of length bytes, a multiple of 4.
func NewIOMgmtRecv(nsid uint32, mo uint8, mos uint16, length uint32, lim Limits) (Command, error) {
	c := Command{Opcode: OpIOMgmtRecv, NSID: nsid}
	if length == 0 || length%4 != 0 {
		return Command{}, refuse(lim.Set, c.Opcode, nsid, "data_len", "%d bytes; the length is a multiple of 4 from 4 up", length)
	}
	c.CDW10 = uint32(mos)<<cdw10MOSShift | uint32(mo)
	c.CDW11 = length/4 - 1
	c.DataLen = length
	return c.within(&lim)
}

// NewRUHStatus builds the question for the reclaim unit handle status of the
// namespace; [DecodeRUHStatus] reads the answer.
func NewRUHStatus(nsid uint32, length uint32, lim Limits) (Command, error) {
	return NewIOMgmtRecv(nsid, ioMgmtRUHStatus, 0, length, lim)
}

// NewIOMgmtSend builds an I/O management send of the given operation with
// length bytes of data.
func NewIOMgmtSend(nsid uint32, mo uint8, mos uint16, length uint32, lim Limits) (Command, error) {
	c := Command{Opcode: OpIOMgmtSend, NSID: nsid, CDW10: uint32(mos)<<cdw10MOSShift | uint32(mo), DataLen: length}
	return c.within(&lim)
}

// NewRUHUpdate builds the update of the reclaim units that n placement
// identifiers point at, so that writes go on in fresh ones. The data buffer
// holds the identifiers as 2-byte little-endian numbers
// ([AppendPlacementIDs]).
func NewRUHUpdate(nsid uint32, n int, lim Limits) (Command, error) {
	if n < 1 || n > MaxPlacementIDs {
		return Command{}, refuse(lim.Set, OpIOMgmtSend, nsid, "npid", "%d placement identifiers; one command takes 1 to %d", n, MaxPlacementIDs)
	}
	return NewIOMgmtSend(nsid, ioMgmtRUHUpdate, uint16(n-1), uint32(n)*2, lim)
}

// AppendPlacementIDs appends the encoded identifiers.
func AppendPlacementIDs(b []byte, ids ...uint16) []byte {
	for _, id := range ids {
		b = binary.LittleEndian.AppendUint16(b, id)
	}
	return b
}

// RUHStatusDescriptor is the state of one reclaim unit handle.
type RUHStatusDescriptor struct {
	// PID is the placement identifier to give as DSPEC of a write.
	PID uint16 `json:"pid"`
	// RUHID is the reclaim unit handle.
	RUHID uint16 `json:"ruhid"`
	// EARUTR estimates the time that the reclaim unit remains active, in
	// seconds; 0 if not reported.
	EARUTR uint32 `json:"earutr"`
	// RUAMW is the room left in the reclaim unit, in logical blocks.
	RUAMW uint64 `json:"ruamw"`
}

// RUHStatus is the answer to [NewRUHStatus].
type RUHStatus struct {
	// Count is the number of descriptors the drive has; Handles holds those
	// that fit the buffer.
	Count   uint16                `json:"nruhsd"`
	Handles []RUHStatusDescriptor `json:"ruhss"`
}

const (
	ruhStatusHeader     = 16
	ruhStatusDescriptor = 32
)

// DecodeRUHStatus reads a reclaim unit handle status.
func DecodeRUHStatus(b []byte) (*RUHStatus, error) {
	if err := need("reclaim unit handle status", b, ruhStatusHeader); err != nil {
		return nil, err
	}
	le := binary.LittleEndian
	s := &RUHStatus{Count: le.Uint16(b[14:])}
	b = b[ruhStatusHeader:]
	s.Handles = make([]RUHStatusDescriptor, min(int(s.Count), len(b)/ruhStatusDescriptor))
	for i := range s.Handles {
		d := b[i*ruhStatusDescriptor:]
		s.Handles[i] = RUHStatusDescriptor{
			PID:    le.Uint16(d),
			RUHID:  le.Uint16(d[2:]),
			EARUTR: le.Uint32(d[4:]),
			RUAMW:  le.Uint64(d[8:]),
		}
	}
	return s, nil
}

// RUHType is the isolation of a reclaim unit handle.
type RUHType uint8

// Reclaim unit handle types.
const (
	RUHInitiallyIsolated    RUHType = 1
	RUHPersistentlyIsolated RUHType = 2
)

// FDPConfig is one flexible data placement configuration.
type FDPConfig struct {
	// Valid says whether the configuration can be used.
	Valid bool `json:"valid"`
	// RGIF is the number of top bits of a placement identifier that hold the
	// reclaim group.
	RGIF uint8 `json:"rgif"`
	// VolatileCache reports a volatile write cache in this configuration.
	VolatileCache bool `json:"fdpvwc"`
	// NRG, NRUH and MaxPIDs are the numbers of reclaim groups, reclaim unit
	// handles and placement identifiers of a namespace.
	NRG     uint32 `json:"nrg"`
	NRUH    uint16 `json:"nruh"`
	MaxPIDs uint32 `json:"maxpids"`
	// NNSS is the number of namespaces supported.
	NNSS uint32 `json:"nnss"`
	// RUNS is the reclaim unit nominal size in bytes.
	RUNS uint64 `json:"runs"`
	// ERUTL estimates how long a reclaim unit may stay open, in seconds.
	ERUTL uint32 `json:"erutl"`
	// Handles are the types of the reclaim unit handles.
	Handles []RUHType `json:"ruhs"`
}

const (
	fdpConfigsHeader = 16
	fdpConfigFixed   = 64
	ruhDescriptor    = 4
)

// DecodeFDPConfigs reads the FDP configurations log page (LID 20h). Its size
// is in bytes 4 to 7: read 16 bytes first, then the whole.
func DecodeFDPConfigs(b []byte) ([]FDPConfig, error) {
	if err := need("FDP configurations log", b, fdpConfigsHeader); err != nil {
		return nil, err
	}
	le := binary.LittleEndian
	n := int(le.Uint16(b)) + 1
	rest := b[fdpConfigsHeader:]
	var out []FDPConfig
	for i := range n {
		name := fmt.Sprintf("FDP configuration %d of %d", i, n)
		if err := need(name, rest, fdpConfigFixed); err != nil {
			return nil, err
		}
		c := FDPConfig{
			Valid:         rest[2]>>7 != 0,
			RGIF:          rest[2] & 0xf,
			VolatileCache: rest[2]>>4&1 != 0,
			NRG:           le.Uint32(rest[4:]),
			NRUH:          le.Uint16(rest[8:]),
			MaxPIDs:       uint32(le.Uint16(rest[10:])) + 1,
			NNSS:          le.Uint32(rest[12:]),
			RUNS:          le.Uint64(rest[16:]),
			ERUTL:         le.Uint32(rest[24:]),
		}
		size, handles := int(le.Uint16(rest)), fdpConfigFixed+int(c.NRUH)*ruhDescriptor
		if size < handles {
			return nil, fmt.Errorf("%s: descriptor size %d does not hold its %d reclaim unit handles, which take %d bytes", name, size, c.NRUH, handles)
		}
		if err := need(name, rest, size); err != nil {
			return nil, err
		}
		c.Handles = make([]RUHType, c.NRUH)
		for h := range c.Handles {
			c.Handles[h] = RUHType(rest[fdpConfigFixed+h*ruhDescriptor])
		}
		out = append(out, c)
		rest = rest[size:]
	}
	return out, nil
}

// FDPConfigsSize is the whole size in bytes of an FDP configurations log, from
// its first 16 bytes.
func FDPConfigsSize(b []byte) (uint32, error) {
	if err := need("FDP configurations log", b, fdpConfigsHeader); err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint32(b[4:]), nil
}

// PlacementID combines a reclaim group and a placement handle into a
// placement identifier for a configuration with rgif group bits.
func PlacementID(rgif uint8, group, handle uint16) (uint16, error) {
	bits := 16 - min(rgif, 16)
	if uint32(group)>>min(rgif, 16) != 0 || uint32(handle)>>bits != 0 {
		return 0, fmt.Errorf("placement identifier: reclaim group %d and handle %d do not fit %d and %d bits", group, handle, min(rgif, 16), bits)
	}
	return uint16(uint32(group)<<bits | uint32(handle)), nil
}

// RUHUsage is who uses a reclaim unit handle.
type RUHUsage uint8

// Host reports whether a namespace names the handle.
func (u RUHUsage) Host() bool { return u&1 != 0 }

// Controller reports whether the controller uses the handle for itself.
func (u RUHUsage) Controller() bool { return u&2 != 0 }

const (
	ruhUsageHeader     = 8
	ruhUsageDescriptor = 8
)

// DecodeRUHUsage reads the reclaim unit handle usage log page (LID 21h): the
// use of each handle that b holds.
func DecodeRUHUsage(b []byte) ([]RUHUsage, error) {
	if err := need("reclaim unit handle usage log", b, ruhUsageHeader); err != nil {
		return nil, err
	}
	n := int(binary.LittleEndian.Uint16(b))
	b = b[ruhUsageHeader:]
	out := make([]RUHUsage, min(n, len(b)/ruhUsageDescriptor))
	for i := range out {
		out[i] = RUHUsage(b[i*ruhUsageDescriptor] & 3)
	}
	return out, nil
}

// FDPStats is the FDP statistics log page (LID 22h), all in bytes.
type FDPStats struct {
	// HostWritten is what hosts wrote with metadata, MediaWritten what went to
	// the media with the drive's own copying, MediaErased what was erased.
	HostWritten  Uint128 `json:"hbmw"`
	MediaWritten Uint128 `json:"mbmw"`
	MediaErased  Uint128 `json:"mbe"`
}

const fdpStatsSize = 64

// DecodeFDPStats reads an FDP statistics log page of 64 bytes.
func DecodeFDPStats(b []byte) (*FDPStats, error) {
	if err := need("FDP statistics log", b, fdpStatsSize); err != nil {
		return nil, err
	}
	return &FDPStats{HostWritten: uint128At(b), MediaWritten: uint128At(b[16:]), MediaErased: uint128At(b[32:])}, nil
}

// WriteAmplification is MediaWritten over HostWritten, 0 if nothing was
// written.
func (s *FDPStats) WriteAmplification() float64 {
	if s.HostWritten.IsZero() {
		return 0
	}
	return s.MediaWritten.Float64() / s.HostWritten.Float64()
}
