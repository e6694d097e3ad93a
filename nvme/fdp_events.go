package nvme

import (
	"encoding/binary"
	"fmt"
	"time"
)

// FDPEventType says what an FDP event reports: below 0x80 what hosts did, from
// there on what the controller did.
type FDPEventType uint8

// FDP events (base specification, "FDP Events").
const (
	// FDPNotFullyWritten: a reclaim unit was left before it was full.
	FDPNotFullyWritten FDPEventType = 0x00
	// FDPTimeLimit: a reclaim unit was open for longer than its time limit.
	FDPTimeLimit FDPEventType = 0x01
	// FDPReset: a controller reset changed reclaim unit handles.
	FDPReset FDPEventType = 0x02
	// FDPInvalidPlacement: a write named a placement identifier that is not
	// valid.
	FDPInvalidPlacement FDPEventType = 0x03
	// FDPReallocated: the controller moved data to another reclaim unit.
	FDPReallocated FDPEventType = 0x80
	// FDPModified: the controller gave a handle another reclaim unit.
	FDPModified FDPEventType = 0x81
)

// String names the event.
func (t FDPEventType) String() string {
	switch t {
	case FDPNotFullyWritten:
		return "reclaim unit not fully written"
	case FDPTimeLimit:
		return "reclaim unit time limit exceeded"
	case FDPReset:
		return "controller reset modified reclaim unit handles"
	case FDPInvalidPlacement:
		return "invalid placement identifier"
	case FDPReallocated:
		return "media reallocated"
	case FDPModified:
		return "implicitly modified reclaim unit handle"
	}
	return fmt.Sprintf("unknown (0x%02x)", uint8(t))
}

// FDPEvent is one event of the FDP events log page.
type FDPEvent struct {
	Type FDPEventType `json:"type"`
	// HasPID, HasNSID and HasLocation say whether PID, NSID and Group with
	// Handle hold something.
	HasPID      bool `json:"pid_valid"`
	HasNSID     bool `json:"nsid_valid"`
	HasLocation bool `json:"location_valid"`
	// PID is the placement identifier.
	PID  uint16 `json:"pid"`
	NSID uint32 `json:"nsid"`
	// Timestamp is in milliseconds, of the controller's clock: see
	// [FDPEvent.Time].
	Timestamp uint64 `json:"timestamp"`
	// Group and Handle are reclaim group and reclaim unit handle.
	Group  uint16 `json:"rgid"`
	Handle uint16 `json:"ruhid"`
	// Moved counts the logical blocks of a [FDPReallocated] event, 0xffff for
	// that many or more. LBA is one of them, if HasLBA.
	Moved  uint16 `json:"nlbam"`
	HasLBA bool   `json:"lba_valid"`
	LBA    uint64 `json:"lba"`
}

// Time is the time stamp as the time since the epoch, which it is if the host
// has set the controller's clock; else it began to count at a reset.
func (e *FDPEvent) Time() time.Time { return time.UnixMilli(int64(e.Timestamp)) }

const (
	fdpEventsHeader  = 64
	fdpEventSize     = 64
	maxFDPEvents     = 63
	fdpTimestampBits = 48
)

// FDPEventsLogSize is the size in bytes of a full FDP events log page.
const FDPEventsLogSize = fdpEventsHeader + maxFDPEvents*fdpEventSize

// FDPHostEvents is the log specific parameter ([LogOptions.LSP]) that asks for
// what hosts did; 0 asks for what the controller did.
const FDPHostEvents = 1

// DecodeFDPEvents reads the FDP events log page (LID 23h; the endurance group
// is its [LogOptions.LSI]): as many events as the page counts and b holds.
func DecodeFDPEvents(b []byte) ([]FDPEvent, error) {
	if err := need("FDP events log", b, fdpEventsHeader); err != nil {
		return nil, err
	}
	le := binary.LittleEndian
	n := uint64(le.Uint32(b))
	b = b[fdpEventsHeader:]
	out := make([]FDPEvent, min(n, uint64(len(b)/fdpEventSize)))
	for i := range out {
		d := b[i*fdpEventSize:]
		e := FDPEvent{
			Type:        FDPEventType(d[0]),
			HasPID:      d[1]&1 != 0,
			HasNSID:     d[1]&2 != 0,
			HasLocation: d[1]&4 != 0,
			PID:         le.Uint16(d[2:]),
			Timestamp:   le.Uint64(d[4:]) & (1<<fdpTimestampBits - 1),
			NSID:        le.Uint32(d[12:]),
			Group:       le.Uint16(d[32:]),
			Handle:      le.Uint16(d[34:]),
		}
		if e.Type == FDPReallocated {
			e.HasLBA, e.Moved, e.LBA = d[16]&1 != 0, le.Uint16(d[18:]), le.Uint64(d[20:])
		}
		out[i] = e
	}
	return out, nil
}
