package nvme

import (
	"encoding/binary"
	"fmt"
)

// MaxListedControllers is the most entries of one controller list.
const MaxListedControllers = IdentifySize/2 - 1

// DecodeControllerList reads a list of controller identifiers of
// [IdentifySize] bytes (CNS 12h, 13h). A list of [MaxListedControllers]
// entries may go on: ask again from its last one plus 1.
func DecodeControllerList(b []byte) ([]uint16, error) { return countedIDs("controller list", b) }

// countedIDs reads a page of 16-bit identifiers after their count.
func countedIDs(name string, b []byte) ([]uint16, error) {
	if err := need(name, b, IdentifySize); err != nil {
		return nil, err
	}
	le := binary.LittleEndian
	n := int(le.Uint16(b))
	if n > MaxListedControllers {
		return nil, fmt.Errorf("%s: %d entries; a page of %d bytes holds at most %d", name, n, IdentifySize, MaxListedControllers)
	}
	ids := make([]uint16, n)
	for i := range ids {
		ids[i] = le.Uint16(b[2+2*i:])
	}
	return ids, nil
}

// PrimaryController are the resources of a primary controller that its
// secondary controllers share (CNS 14h): virtual queue (VQ) and virtual
// interrupt (VI) resources.
type PrimaryController struct {
	CNTLID uint16 `json:"cntlid"`
	PORTID uint16 `json:"portid"`
	CRT    uint8  `json:"crt"`
	// VQFRT and VIFRT are all flexible resources, VQRFA and VIRFA those
	// assigned to secondary controllers, VQRFAP and VIRFAP those of the
	// primary, VQPRT and VIPRT its private ones.
	VQFRT  uint32 `json:"vqfrt"`
	VQRFA  uint32 `json:"vqrfa"`
	VQRFAP uint16 `json:"vqrfap"`
	VQPRT  uint16 `json:"vqprt"`
	// VQFRSM and VIFRSM are the most flexible resources of one secondary
	// controller, VQGRAN and VIGRAN the preferred granularity.
	VQFRSM uint16 `json:"vqfrsm"`
	VQGRAN uint16 `json:"vqgran"`
	VIFRT  uint32 `json:"vifrt"`
	VIRFA  uint32 `json:"virfa"`
	VIRFAP uint16 `json:"virfap"`
	VIPRT  uint16 `json:"viprt"`
	VIFRSM uint16 `json:"vifrsm"`
	VIGRAN uint16 `json:"vigran"`
}

// HasQueues reports whether queue resources can be moved to secondary
// controllers.
func (c *PrimaryController) HasQueues() bool { return c.CRT&1 != 0 }

// HasInterrupts reports whether interrupt resources can be moved to secondary
// controllers.
func (c *PrimaryController) HasInterrupts() bool { return c.CRT&2 != 0 }

// DecodePrimaryController reads a primary controller capabilities structure of
// [IdentifySize] bytes.
func DecodePrimaryController(b []byte) (*PrimaryController, error) {
	if err := need("primary controller capabilities", b, IdentifySize); err != nil {
		return nil, err
	}
	le := binary.LittleEndian
	return &PrimaryController{
		CNTLID: le.Uint16(b),
		PORTID: le.Uint16(b[2:]),
		CRT:    b[4],
		VQFRT:  le.Uint32(b[32:]),
		VQRFA:  le.Uint32(b[36:]),
		VQRFAP: le.Uint16(b[40:]),
		VQPRT:  le.Uint16(b[42:]),
		VQFRSM: le.Uint16(b[44:]),
		VQGRAN: le.Uint16(b[46:]),
		VIFRT:  le.Uint32(b[64:]),
		VIRFA:  le.Uint32(b[68:]),
		VIRFAP: le.Uint16(b[72:]),
		VIPRT:  le.Uint16(b[74:]),
		VIFRSM: le.Uint16(b[76:]),
		VIGRAN: le.Uint16(b[78:]),
	}, nil
}

// SecondaryController is one entry of a secondary controller list (CNS 15h).
type SecondaryController struct {
	// SCID and PCID are the identifiers of the controller and of its primary.
	SCID uint16 `json:"scid"`
	PCID uint16 `json:"pcid"`
	SCS  uint8  `json:"scs"`
	// VFN is the number of the virtual function, 0 if it is none.
	VFN uint16 `json:"vfn"`
	// NVQ and NVI are the queue and interrupt resources assigned.
	NVQ uint16 `json:"nvq"`
	NVI uint16 `json:"nvi"`
}

// Online reports whether the controller is online.
func (c SecondaryController) Online() bool { return c.SCS&1 != 0 }

const (
	secondaryAt   = 32
	secondarySize = 32
)

// DecodeSecondaryControllers reads a secondary controller list of
// [IdentifySize] bytes.
func DecodeSecondaryControllers(b []byte) ([]SecondaryController, error) {
	entries, err := countedEntries("secondary controller list", b, secondaryAt, secondarySize)
	if err != nil {
		return nil, err
	}
	le := binary.LittleEndian
	out := make([]SecondaryController, len(entries))
	for i, e := range entries {
		out[i] = SecondaryController{
			SCID: le.Uint16(e), PCID: le.Uint16(e[2:]), SCS: e[4], VFN: le.Uint16(e[8:]), NVQ: le.Uint16(e[10:]), NVI: le.Uint16(e[12:]),
		}
	}
	return out, nil
}

// countedEntries splits an Identify page whose first byte counts the entries
// of the given size that start at an offset.
func countedEntries(name string, b []byte, at, size int) ([][]byte, error) {
	if err := need(name, b, IdentifySize); err != nil {
		return nil, err
	}
	n := int(b[0])
	if most := (IdentifySize - at) / size; n > most {
		return nil, fmt.Errorf("%s: %d entries; a page of %d bytes holds at most %d", name, n, IdentifySize, most)
	}
	out := make([][]byte, n)
	for i := range out {
		out[i] = b[at+i*size:][:size]
	}
	return out, nil
}
