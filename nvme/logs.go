package nvme

import (
	"encoding/binary"
	"fmt"
)

// ErrorLogEntrySize is the size in bytes of one entry of the error log.
const ErrorLogEntrySize = 64

// ErrorLogEntry is one entry of the Error Information log page (LID 01h).
type ErrorLogEntry struct {
	// Count numbers the error over the life of the controller; 0 marks an
	// entry that is not used.
	Count uint64 `json:"error_count"`
	SQID  uint16 `json:"sqid"`
	// CID is the command identifier.
	CID uint16 `json:"cmdid"`
	// Status is the status without the phase bit, which the entry carries.
	Status Status `json:"status_field"`
	// PELOC is where in the command the error is: byte in bits 0 to 7, bit in
	// 8 to 10.
	PELOC uint16 `json:"parm_error_location"`
	// LBA is the first block that failed.
	LBA    uint64     `json:"lba"`
	NSID   uint32     `json:"nsid"`
	VS     uint8      `json:"vs"`
	TRTYPE uint8      `json:"trtype"`
	CSI    CommandSet `json:"csi"`
	Opcode Opcode     `json:"opcode"`
	// Specific is the command specific information.
	Specific uint64 `json:"cs"`
	TTSI     uint16 `json:"trtype_spec_info"`
	// Version of the entry; Opcode and CSI are given from 1 on.
	Version uint8 `json:"log_page_version"`
}

// Used reports whether the entry holds an error.
func (e ErrorLogEntry) Used() bool { return e.Count != 0 }

// DecodeErrorLog reads the entries of an error log, the newest first. b holds
// at least one entry; an incomplete one at the end is left out.
func DecodeErrorLog(b []byte) ([]ErrorLogEntry, error) {
	if err := need("error log entry", b, ErrorLogEntrySize); err != nil {
		return nil, err
	}
	le := binary.LittleEndian
	out := make([]ErrorLogEntry, len(b)/ErrorLogEntrySize)
	for i := range out {
		d := b[i*ErrorLogEntrySize:]
		out[i] = ErrorLogEntry{
			Count:    le.Uint64(d),
			SQID:     le.Uint16(d[8:]),
			CID:      le.Uint16(d[10:]),
			Status:   StatusFromErrorLog(le.Uint16(d[12:])),
			PELOC:    le.Uint16(d[14:]),
			LBA:      le.Uint64(d[16:]),
			NSID:     le.Uint32(d[24:]),
			VS:       d[28],
			TRTYPE:   d[29],
			CSI:      CommandSet(d[30]),
			Opcode:   Opcode(d[31]),
			Specific: le.Uint64(d[32:]),
			TTSI:     le.Uint16(d[40:]),
			Version:  d[63],
		}
	}
	return out, nil
}

// FirmwareSlotLogSize is the size in bytes of the firmware slot log page.
const FirmwareSlotLogSize = 512

// FirmwareSlots is the Firmware Slot Information log page (LID 03h).
type FirmwareSlots struct {
	// Active is the slot that runs, Next the one that runs after a reset (0 if
	// it does not change).
	Active uint8 `json:"active"`
	Next   uint8 `json:"next"`
	// Revisions are the firmware revisions of slots 1 to 7, empty for slots
	// without an image.
	Revisions [7]string `json:"frs"`
}

// DecodeFirmwareSlots reads a firmware slot log page of [FirmwareSlotLogSize]
// bytes.
func DecodeFirmwareSlots(b []byte) (*FirmwareSlots, error) {
	if err := need("firmware slot log", b, FirmwareSlotLogSize); err != nil {
		return nil, err
	}
	s := &FirmwareSlots{Active: b[0] & 7, Next: b[0] >> 4 & 7}
	for i := range s.Revisions {
		s.Revisions[i] = fixedString(b[8+8*i:][:8])
	}
	return s, nil
}

// EffectsLogSize is the size in bytes of the commands supported and effects
// log page.
const EffectsLogSize = 4096

// Effects says whether a command is supported and what it does.
type Effects uint32

// Supported reports whether the controller has the command.
func (e Effects) Supported() bool { return e&1 != 0 }

// ChangesData reports whether the command may change user data (LBCC, "logical block content
// change").
func (e Effects) ChangesData() bool { return e>>1&1 != 0 }

// ChangesNamespaceCapability reports whether the command may change what a namespace can do
// (NCC).
func (e Effects) ChangesNamespaceCapability() bool { return e>>2&1 != 0 }

// ChangesInventory reports whether the command may change which namespaces there are (NIC).
func (e Effects) ChangesInventory() bool { return e>>3&1 != 0 }

// ChangesController reports whether the command may change what the controller can do (CCC).
func (e Effects) ChangesController() bool { return e>>4&1 != 0 }

// Exclusion says with what else the command may run (CSE): 0 anything, 1 no
// other command on the namespace, 2 no other command at all.
func (e Effects) Exclusion() uint8 { return uint8(e >> 16 & 7) }

const (
	effectsHarmless  = 1<<0 | 1<<1 | 1<<19 // CSUPP, LBCC, UUID selection
	effectsScopeMask = 0xfff << 20
)

// UnprivilegedOK reports whether Linux lets a process without CAP_SYS_ADMIN
// send the I/O command: it is supported and has no effect beyond changing
// user data (drivers/nvme/host/ioctl.c, nvme_cmd_allowed). If it changes
// data or moves data to the controller, the node has to be open for writing.
func (e Effects) UnprivilegedOK() bool {
	return e.Supported() && !e.Intrusive()
}

// Intrusive reports effects beyond changing user data, or other commands that
// have to wait: what Linux freezes queues and scans again for
// (drivers/nvme/host/core.c, nvme_passthru_start).
func (e Effects) Intrusive() bool { return e&^(effectsHarmless|effectsScopeMask) != 0 }

// EffectsLog is the Commands Supported and Effects log page (LID 05h), by
// opcode.
type EffectsLog struct {
	Admin [256]Effects `json:"acs"`
	IO    [256]Effects `json:"iocs"`
}

// DecodeEffectsLog reads a commands supported and effects log page of
// [EffectsLogSize] bytes.
func DecodeEffectsLog(b []byte) (*EffectsLog, error) {
	if err := need("commands supported and effects log", b, EffectsLogSize); err != nil {
		return nil, err
	}
	l := &EffectsLog{}
	for i := range l.Admin {
		l.Admin[i] = Effects(binary.LittleEndian.Uint32(b[4*i:]))
		l.IO[i] = Effects(binary.LittleEndian.Uint32(b[1024+4*i:]))
	}
	return l, nil
}

// ChangedNamespaces is the Changed Attached Namespace List log page (LID 04h).
type ChangedNamespaces struct {
	// Overflow means that more namespaces changed than the list holds; then
	// NSIDs is empty and all are to be looked at.
	Overflow bool     `json:"overflow"`
	NSIDs    []uint32 `json:"nsids"`
}

// DecodeChangedNamespaces reads a changed namespace list of [IdentifySize]
// bytes.
func DecodeChangedNamespaces(b []byte) (*ChangedNamespaces, error) {
	ids, err := DecodeNamespaceList(b)
	if err != nil {
		return nil, fmt.Errorf("changed namespace list: %w", err)
	}
	if len(ids) > 0 && ids[0] == AllNamespaces {
		return &ChangedNamespaces{Overflow: true}, nil
	}
	return &ChangedNamespaces{NSIDs: ids}, nil
}
